"""The programs in docs/changelog.md run, one after the other, and do what they say."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs/changelog.md"


def test_the_users_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 2
    names: dict[str, object] = {}
    for program in programs:
        exec(program, names)
