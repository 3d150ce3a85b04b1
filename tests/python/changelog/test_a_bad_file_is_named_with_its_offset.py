"""Each kind of bad file is refused with its name, the offset, and what to think of it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flintstate import CorruptionError, InvalidError, changelog

BLOCK = 72  # where the first block begins


def write(path: Path, name: bytes) -> changelog.Segment:
    """A segment of two blocks of the same length."""
    log = changelog.Writer(path, version=name * 16)
    for n in range(2):
        log.append(changelog.PUT, table=1, key=b"%s%d" % (name, n), value=b"v" * 20)
        log.sync()
    return log.close()


@pytest.fixture
def segment(tmp_path: Path) -> changelog.Segment:
    return write(tmp_path / "bad.log", b"a")


def block_size(path: Path) -> int:
    """Of the first block; the second is as long."""
    return path.read_bytes().index(b"FLBK", BLOCK + 1) - BLOCK


def swap_blocks(whole: bytes) -> bytes:
    size = whole.index(b"FLBK", BLOCK + 1) - BLOCK
    first, second = whole[BLOCK : BLOCK + size], whole[BLOCK + size : BLOCK + 2 * size]
    return whole[:BLOCK] + second + first + whole[BLOCK + 2 * size :]


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "text": (lambda whole: b"no changelog at all\n", "not a changelog segment.*offset 0"),
    "rubbish": (lambda whole: bytes(range(1, 256)) * 9, "not a changelog segment.*offset 0"),
    "a damaged file header": (
        lambda whole: whole[:20] + b"?" + whole[21:],
        "file header at offset 0",
    ),
    "blocks swapped": (swap_blocks, f"damaged at offset {BLOCK}"),
    "rubbish behind the end": (lambda whole: whole + b"rubbish", r"damaged at offset \d+"),
    "another segment behind the end": (lambda whole: whole + whole, r"offset \d+"),
    "a hole": (
        lambda whole: whole[: BLOCK + 8] + bytes(64) + whole[BLOCK + 72 :],
        f"offset {BLOCK}",
    ),
    "a newline that grew": (lambda whole: whole.replace(b"\r\n", b"\r\r\n", 1), "offset 0"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_with_its_offset(segment: changelog.Segment, kind: str) -> None:
    path = Path(segment.path)
    change, saying = DAMAGE[kind]
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(CorruptionError, match=saying) as caught:
        changelog.Reader(path).read_all()
    assert str(path) in str(caught.value)


def test_a_newer_format_asks_for_a_newer_program(segment: changelog.Segment) -> None:
    path = Path(segment.path)
    newer = bytearray(path.read_bytes())
    newer[12:14] = (7).to_bytes(2, "little")
    newer[8:12] = crc32c(bytes(newer[12:72])).to_bytes(4, "little")
    path.write_bytes(newer)
    with pytest.raises(InvalidError, match=r"bad\.log.*format 7 \(offset 12\).*newer flintstate"):
        changelog.Reader(path)


def test_a_truncated_file_is_torn_and_for_a_handle_damaged(segment: changelog.Segment) -> None:
    path = Path(segment.path)
    whole = path.read_bytes()
    first_end = BLOCK + block_size(path)
    path.write_bytes(whole[: first_end + 30])
    reader = changelog.Reader(path)
    assert reader.torn
    assert reader.read_all()["key"].to_pylist() == [b"a0"]
    with pytest.raises(CorruptionError, match=rf"bad\.log: cut short at offset {first_end}"):
        changelog.Reader(path, expected=segment)


def test_a_file_swapped_for_another_is_found_by_its_handle(
    segment: changelog.Segment, tmp_path: Path
) -> None:
    write(tmp_path / "other.log", b"b")
    (tmp_path / "other.log").replace(segment.path)
    assert changelog.Reader(segment.path).read_all().num_rows == 2
    with pytest.raises(CorruptionError, match=r"bad\.log: another segment.*offset \d+"):
        changelog.Reader(segment.path, expected=segment)


AS_NOBODY = """
import os, sys
from flintstate import StorageError, changelog

if os.geteuid() == 0:
    os.setuid(65534)  # root may write anywhere
try:
    changelog.Writer(sys.argv[1])
except StorageError as error:
    print(error)
"""


def test_a_directory_without_permission_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", AS_NOBODY, closed / "log"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert re.search(r"closed/log: Permission denied.*choose a directory", said.stdout), said


def crc32c(data: bytes) -> int:
    """Bit by bit, as the specification has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
