"""docs/format/changelog.md shows a file byte by byte: it is the one that comes out."""

import re
from pathlib import Path

from flintstate import changelog

DOCUMENT = Path(__file__).parents[3] / "docs/format/changelog.md"


def documented_bytes() -> bytes:
    dump = re.search(r"```hex\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert dump is not None
    return b"".join(bytes.fromhex(line[4:]) for line in dump[1].splitlines())


def test_the_documented_example_is_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    version = bytes(range(1, 17))
    with changelog.Writer(path, version=version, first_sequence=7, written_by="example") as log:
        log.append(changelog.PUT, table=1, key=b"k1", value=b"v1")
        log.append(changelog.PUT, table=1, key=b"k2", value=b"v2")
        log.append(changelog.DELETE, table=1, key=b"k1", group=5)
    assert path.read_bytes() == documented_bytes()


def test_the_documented_example_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(documented_bytes())
    table = changelog.Reader(path).read_all()
    assert table["sequence"].to_pylist() == [7, 8, 9]
    assert table["key"].to_pylist() == [b"k1", b"k2", b"k1"]
    assert table["value"].to_pylist() == [b"v1", b"v2", None]
