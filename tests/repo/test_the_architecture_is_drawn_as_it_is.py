"""What docs/architecture.md draws is there, and what is there is drawn."""

import re
from pathlib import Path

from repository import ROOT, text
from test_layers import CPP_KNOWS, PYTHON_ORDER

NAMES_END = 46  # the column where the words beside the names begin
CAPTIONS = {"packages"}
PACKAGE = ROOT / "python" / "flintstate"


def drawn() -> tuple[set[str], set[str]]:
    """The names above the line, of Python packages, and those below it, of parts of C++."""
    drawing = text(Path("docs/architecture.md")).split("```")[1]
    above, below = re.split(r"\n -{10,}.*\n", drawing)
    return names(above), names(below)


def names(half: str) -> set[str]:
    left = "\n".join(line[:NAMES_END] for line in half.splitlines())
    return set(re.findall(r"\b[a-z_]+\b", left)) - CAPTIONS


def missing(packages: set[str]) -> set[str]:
    """Those that are neither a package nor a module."""
    return {
        n for n in packages if not (PACKAGE / n).is_dir() and not (PACKAGE / f"{n}.py").exists()
    }


def test_every_package_that_is_drawn_exists() -> None:
    python, cpp = drawn()
    assert missing(python) == set()
    assert {part for part in cpp if not (ROOT / "cpp" / part).is_dir()} == set()


def test_every_layer_is_drawn_and_exists() -> None:
    python, cpp = drawn()
    layers = set(PYTHON_ORDER) - {""}
    assert layers <= python
    assert missing(layers) == set()
    assert set(CPP_KNOWS) == cpp
