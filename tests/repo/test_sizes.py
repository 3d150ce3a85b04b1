"""Files and functions stay small enough to find one's way in."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from repository import files, text

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100


def sources() -> list[Path]:
    return files(".py", ".cc", ".h")


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def cpp_functions(path: Path) -> Iterator[tuple[str, int]]:
    """Blocks that open at the margin or within a class, but for namespaces and types themselves."""
    lines = text(path).splitlines()
    for number, line in enumerate(lines):
        opened = re.match(r"( {0,2})(?! |namespace|class|struct|enum|union|extern)\S?.*\{$", line)
        if not opened or re.search(r"=\s*\{$|^\s*(class|struct|enum|template <.*> class) ", line):
            continue
        closing = re.compile(rf"^{opened[1]}\}}")
        for end in range(number + 1, len(lines)):
            if closing.match(lines[end]):
                yield line.strip(), end - number + 1
                break


def test_cpp_functions_are_told_apart_from_types_and_tables() -> None:
    found = [length for path in files(".cc") for _, length in cpp_functions(path)]
    assert len(found) > 20
    assert max(found) > 5


def test_no_function_is_long() -> None:
    long = [
        f"{path}: {name} has {length} lines"
        for path in sources()
        for name, length in (python_functions if path.suffix == ".py" else cpp_functions)(path)
        if length > FUNCTION_LINES_MAX
    ]
    assert not long, long


def test_no_file_is_long() -> None:
    lengths = {path: text(path).count("\n") for path in sources()}
    long = [
        f"{path} has {lines} lines" for path, lines in lengths.items() if lines > FILE_LINES_MAX
    ]
    assert not long, long


def test_no_line_is_long() -> None:
    long = [
        f"{path}:{number}"
        for path in sources()
        for number, line in enumerate(text(path).splitlines(), 1)
        if len(line) > COLUMNS_MAX
    ]
    assert not long, long
