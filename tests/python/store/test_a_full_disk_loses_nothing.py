"""Files may grow no further: what was acknowledged is there, and reading goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs

BEGIN = """
import errno, pathlib, resource, signal, sys
import pyarrow as pa, flintstate as fs

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = pathlib.Path(sys.argv[1])


def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def rows(first, count):
    ids = range(first, first + count)
    return pa.table({"k": ids, "v": [(b"%d " % i) * 1000 for i in ids]})


def refused(work):
    try:
        work()
    except fs.StorageError as error:
        assert str(path) in str(error), error
        assert error.errno == errno.EFBIG, error
    else:
        raise AssertionError("a full disk went unnoticed")


store = fs.Store.open(path, durability=sys.argv[2], memory="64MB", compression="none")
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.binary())]))
table.put(rows(0, 500))
store.flush()
"""

FLUSH = """
table.put(rows(500, 500))
limit(1 << 20)
refused(store.flush)
assert len(table) == 1000
assert table[7] == {"v": b"7 " * 1000}
print(500, flush=True)
"""

INGEST = """
limit(1 << 20)
refused(lambda: table.ingest(rows(500, 2000)))
assert not list(path.glob("ingest-*"))
assert len(table) == 500
limit(resource.RLIM_INFINITY)
assert table.ingest(rows(500, 2000)) == 2000
assert len(table) == 2500
store.close()
print(2500, flush=True)
"""

CHECKPOINT = """
table.put(rows(500, 500))
limit(1 << 20)
refused(lambda: store.checkpoint(path / ".." / "copy"))
assert not (path / ".." / "copy").exists()
assert not (path / ".." / "copy.partial").exists()
assert len(table) == 1000
print(500, flush=True)
"""


@pytest.mark.parametrize("work", [FLUSH, INGEST, CHECKPOINT], ids=["flush", "ingest", "checkpoint"])
@pytest.mark.parametrize("durability", ["none", "process"])
def test_while(path: Path, work: str, durability: str) -> None:
    program = [sys.executable, "-c", BEGIN + work, path, durability]
    out = subprocess.run(program, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    kept = 1000 if durability == "process" and work != INGEST else int(out.stdout)
    with fs.Store.open(path) as store:
        table = store.table("t")
        assert list(table.keys()) == list(range(kept))
        table.put(pa.table({"k": [-1], "v": [b"usable again"]}))
        assert table[-1] == {"v": b"usable again"}


NEW_TABLE = """
limit(8 << 10)  # enough for the manifest, too little for a file of all options
key, value = pa.schema([("k", pa.int64())]), pa.schema([("v", pa.binary())])
refused(lambda: store.table("new", key=key, value=value))
limit(resource.RLIM_INFINITY)
store.table("new", key=key, value=value).put(rows(0, 3))
store.close()
with fs.Store.open(path) as again:
    assert len(again.table("new")) == 3
    assert len(again.table("t")) == 500
"""


def test_a_table_that_found_no_room_is_made_later(path: Path) -> None:
    program = [sys.executable, "-c", BEGIN + NEW_TABLE, path, "process"]
    out = subprocess.run(program, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
