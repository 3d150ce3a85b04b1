"""A write that fails, wherever it happened, is the answer to every later call."""

import subprocess
import sys
from pathlib import Path

from flintstate import changelog

PROGRAM = """
import os, resource, sys
import pyarrow as pa
from flintstate import StorageError, changelog

log = changelog.Writer(sys.argv[1], batch_bytes=1 << 16)
log.append(changelog.PUT, table=1, key=b"synced", value=b"")
log.sync()
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))  # the disk is full from here on
noise = pa.array([os.urandom(1000) for _ in range(5000)])
messages = set()
for call in (
    lambda: log.append_many(changelog.PUT, table=1, keys=noise, values=noise),
    lambda: log.append(changelog.PUT, table=1, key=b"late", value=b""),
    log.sync,
    lambda: log.roll(sys.argv[1] + ".next"),
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
assert sys.argv[1] in message, message
"""


def test_a_failed_write_stops_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "log"
    subprocess.run([sys.executable, "-c", PROGRAM, path], check=True, cwd=Path.cwd() / "python")
    assert not (tmp_path / "log.next").exists()
    reader = changelog.Reader(path)
    assert reader.torn
    assert reader.read_all()["key"][0].as_py() == b"synced"
