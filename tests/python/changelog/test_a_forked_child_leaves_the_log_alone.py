"""A child of fork has its parent's writer in memory: it neither writes with it nor waits for it."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from flintstate import ClosedError, changelog

PUT = changelog.PUT


def in_a_child(log: changelog.Writer, next_path: Path) -> None:
    for call in (
        lambda: log.append(PUT, table=1, key=b"child", value=b""),
        lambda: log.append_many(changelog.DELETE, table=1, keys=pa.array([b"child"])),
        log.sync,
        lambda: log.roll(next_path),
        log.close,
    ):
        with pytest.raises(ClosedError, match=r"log.*forked"):
            call()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_leaves_the_log_alone(tmp_path: Path) -> None:
    log = changelog.Writer(tmp_path / "log", batch_bytes=1 << 10)
    for n in range(100):  # enough that its thread runs
        log.append(PUT, table=1, key=b"%d" % n, value=b"v" * 100)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            in_a_child(log, tmp_path / "next")
            del log
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    log.append(PUT, table=1, key=b"100", value=b"")
    log.close()
    keys = changelog.Reader(tmp_path / "log").read_all()["key"].to_pylist()
    assert keys == [b"%d" % n for n in range(101)]
