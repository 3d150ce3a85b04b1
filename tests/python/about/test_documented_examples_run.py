"""Every example in a docstring or a user's document runs, and prints what stands below it."""

import contextlib
import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flintstate
from documented_scene import scene

ROOT = Path(__file__).parents[3]
SPARK = "flintstate.spark"  # whose examples need a stream


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in pkgutil.walk_packages(flintstate.__path__, "flintstate."):
        if not module.name.startswith(SPARK) and not module.name.endswith("._core"):
            found = finder.find(importlib.import_module(module.name))
            yield from (test for test in found if test.examples)


def blocks() -> Iterator[tuple[str, str]]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.S)):
            if "spark" not in code and path.stem != "spark":
                yield f"{path.name}-{number}", code


class WhereItStands(doctest.OutputChecker):
    """Compares what an example shows; one that shows nothing may print anything."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return not want or super().check_output(want, got, optionflags)


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as stack:
        yield scene(stack)


@pytest.mark.parametrize("example", [*examples()], ids=lambda example: example.name)
def test_an_example_in_a_docstring_runs(example: doctest.DocTest, names: dict[str, Any]) -> None:
    if any("Store.open" in part.source for part in example.examples):
        names["store"].close()  # one promise of memory at a time
    example.globs = {**example.globs, **names}
    said: list[str] = []
    doctest.DocTestRunner(WhereItStands()).run(example, out=said.append, clear_globs=False)
    for opened in example.globs.values():
        if isinstance(opened, flintstate.Store):
            opened.close()
    assert not said, "".join(said)


@pytest.mark.parametrize(("name", "code"), [*blocks()], ids=lambda part: part.split("\n")[0][:30])
def test_an_example_in_a_document_runs(name: str, code: str, names: dict[str, Any]) -> None:
    exec(compile(code, name, "exec"), names)
