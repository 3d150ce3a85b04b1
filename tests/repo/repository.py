"""What the tests of the house read: the files that are tracked, or would be."""

import functools
import subprocess
from pathlib import Path

BINARY = ".log"  # segments that are kept as fixtures
ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def files(*suffixes: str) -> list[Path]:
    """The repository's files with one of the suffixes (all with text, if none is named), as paths
    in it."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    paths = [Path(name) for name in sorted(set(listed)) if (ROOT / name).is_file()]
    if not suffixes:
        return [path for path in paths if path.suffix != BINARY]
    return [path for path in paths if path.suffix in suffixes]


@functools.cache
def text(path: Path) -> str:
    """The content of one of `files()`."""
    return (ROOT / path).read_text(encoding="utf-8")
