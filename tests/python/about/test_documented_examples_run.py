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
import flintstate.testing
from documented_scene import scene

ROOT = Path(__file__).parents[3]
SPARK = "flintstate.spark"  # whose examples need a stream


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in pkgutil.walk_packages(flintstate.__path__, "flintstate."):
        if not module.name.startswith(SPARK) and not module.name.endswith("._core"):
            found = finder.find(importlib.import_module(module.name))
            yield from (test for test in found if test.examples)


def documents() -> Iterator[tuple[str, list[str]]]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.S)
        blocks = [code for code in blocks if "spark" not in code and path.stem != "spark"]
        if blocks:
            yield path.name, blocks


def test_the_function_of_the_readme_runs_with_the_schemas_that_stand_there() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    function, stream = block.split("orders = ")
    read, put_out = re.findall(r'schema(?:=|\()"(.*?)"', stream)
    names: dict[str, Any] = {}
    exec(compile(function, "README.md", "exec"), names)
    rows = [(1, "ada", 30), (2, "bob", 5), (3, "ada", 12)]
    out = flintstate.testing.run(
        names["RunningTotal"](), rows, key="customer", schema=read, output=put_out
    )
    assert out == [("ada", 1, 30), ("bob", 2, 5), ("ada", 3, 42)]


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
    if any("Store.open(" in part.source for part in example.examples):
        names["store"].close()  # one promise of memory at a time
    example.globs = {**example.globs, **names}
    said: list[str] = []
    doctest.DocTestRunner(WhereItStands()).run(example, out=said.append, clear_globs=False)
    for opened in example.globs.values():
        if isinstance(opened, flintstate.Store):
            opened.close()
    assert not said, "".join(said)


@pytest.mark.parametrize(("name", "blocks"), [*documents()])
def test_the_examples_of_a_document_run_in_their_order(
    name: str, blocks: list[str], names: dict[str, Any]
) -> None:
    for code in blocks:
        exec(compile(code, name, "exec"), names)
