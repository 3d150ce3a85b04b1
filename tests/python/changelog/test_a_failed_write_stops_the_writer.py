"""A write that fails, wherever it happened, is the answer to every later call."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flintstate import changelog

FAILS_FOR_GOOD = """
import os, resource, sys
import pyarrow as pa
from flintstate import StorageError, changelog

path, limit, size, batch_bytes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log = changelog.Writer(path, batch_bytes=batch_bytes)
log.append(changelog.PUT, table=1, key=b"synced", value=b"")
log.sync()
if limit != "none":
    resource.setrlimit(getattr(resource, limit), (size, size))
noise = pa.array([os.urandom(1000) for _ in range(5000)])
messages = set()
for call in (
    lambda: [
        log.append_many(changelog.PUT, table=1, keys=noise, values=noise) for _ in range(50)
    ],
    lambda: log.append(changelog.PUT, table=1, key=b"late", value=b""),
    log.sync,
    lambda: log.roll(path + ".next"),
    log.sync,
    log.close,
):
    try:
        call()
    except StorageError as error:
        messages.add(str(error))
    else:
        raise AssertionError("the failed write was forgotten")
message, = messages
assert path in message, message
print(message)
"""


def fail_for_good(path: Path, limit: str, size: int, batch_bytes: int = 1 << 20) -> str:
    """What a writer at `path` answers once it has failed; what it had synced is there."""
    said = subprocess.run(
        [sys.executable, "-c", FAILS_FOR_GOOD, path, limit, str(size), str(batch_bytes)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ).stdout
    assert not path.with_name("log.next").exists()
    reader = changelog.Reader(path)
    assert reader.torn
    rows = reader.read_all()
    assert rows["key"][0].as_py() == b"synced"
    assert rows["sequence"].to_pylist() == list(range(1, rows.num_rows + 1))
    assert size - path.stat().st_size < 4096  # written up to the limit, to where blocks end or not
    assert path.stat().st_size - reader.segment.length < 2 * batch_bytes
    return said


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A directory in which 4 MiB can be written, and the limit that sees to it where it is not the
    disk: only root can mount a small one."""
    options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path)]
    mounted = sys.platform == "linux" and os.geteuid() == 0
    mounted = mounted and subprocess.run(["mount", *options], check=False).returncode == 0
    yield tmp_path, "none" if mounted else "RLIMIT_FSIZE"
    if mounted:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disk_stops_the_writer(full_disk: tuple[Path, str]) -> None:
    directory, limit = full_disk
    said = fail_for_good(directory / "log", limit, 4 << 20)
    assert ("free some space" in said) or limit != "none"


ROLL_FAILS = """
import resource, sys
from flintstate import StorageError, changelog

path = sys.argv[1]
log = changelog.Writer(path)
log.append(changelog.PUT, table=1, key=b"k", value=b"v")
log.sync()
resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))  # the index does not fit
try:
    log.roll(path + ".next")
except StorageError as error:
    assert "File too large" in str(error), error
else:
    raise AssertionError("the roll was said to have succeeded")
"""


def test_a_roll_that_fails_leaves_no_file_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "log"
    subprocess.run(
        [sys.executable, "-c", ROLL_FAILS, path],
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("batch_bytes", [1 << 10, 1 << 14, 1 << 20])
def test_a_file_size_limit_stops_the_writer(tmp_path: Path, batch_bytes: int) -> None:
    said = fail_for_good(tmp_path / "log", "RLIMIT_FSIZE", 3_000_001, batch_bytes)
    assert "File too large" in said
