"""Processes are killed in the middle of their work, and what they were told is kept is there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flintstate as fs

WRITER = """
import sys
import pyarrow as pa, flintstate as fs
store = fs.Store.open(sys.argv[1], durability=sys.argv[2], memory="8MB")
table = store.table("t", key=pa.schema([("k", pa.int64())]),
                    value=pa.schema([("v", pa.int64()), ("pad", pa.binary())]))
other = store.table("u", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.int64())]))
for i in range(1_000_000):
    ids = range(i * 50, i * 50 + 50)
    rows = pa.table({"k": ids, "v": [i] * 50, "pad": [b"x" * 300] * 50})
    with store.batch() as batch:
        batch.put(table, rows)
        batch.put(other, rows.select(["k", "v"]))
    if sys.argv[2] == "none" and i % 40 == 39:
        store.flush()
    if sys.argv[2] != "none" or i % 40 == 39:
        print(i, flush=True)
"""

CHECKPOINTER = """
import sys
import pyarrow as pa, flintstate as fs
store = fs.Store.open(sys.argv[1], memory="8MB")
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.int64())]))
for i in range(1_000_000):
    table.put(pa.table({"k": range(i * 500, i * 500 + 500), "v": [i] * 500}))
    store.checkpoint(f"{sys.argv[1]}.{i}")
    print(i, flush=True)
"""


def killed_after(program: str, *arguments: object, lines: int) -> list[int]:
    """Runs the program until it has printed so many lines, and a little longer; what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        printed = [int(process.stdout.readline()) for _ in range(lines)]
        time.sleep(random.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        printed += [int(line) for line in process.stdout.read().split("\n") if line]
    assert process.returncode == -signal.SIGKILL
    return printed


@pytest.mark.parametrize("durability", ["none", "process", "machine"])
@pytest.mark.parametrize("lines", [1, 7, 60])
def test_while_writing(path: Path, durability: str, lines: int) -> None:
    acknowledged = killed_after(WRITER, path, durability, lines=lines)[-1]
    with fs.Store.open(path) as store:
        found = store.table("t").scan(columns=["k", "v"]).to_table()
        batches = found.num_rows // 50
        assert batches > acknowledged
        assert found["k"].to_pylist() == list(range(batches * 50))  # whole writes, in their order
        assert found["v"].to_pylist() == [i for i in range(batches) for _ in range(50)]
        assert store.table("u").scan().to_table().equals(found)  # of both tables, or of none


@pytest.mark.parametrize("lines", [1, 4, 9])
def test_while_checkpointing(path: Path, lines: int) -> None:
    done = killed_after(CHECKPOINTER, path, lines=lines)
    for i in done:
        with fs.Store.open(f"{path}.{i}", read_only=True) as copy:
            assert len(copy.table("t")) == (i + 1) * 500
    with fs.Store.open(path) as store:
        assert len(store.table("t")) >= (done[-1] + 1) * 500
        for i in range(done[-1] + 1, done[-1] + 3):  # the one that was cut short, or its neighbour
            copy = Path(f"{path}.{i}")
            if not copy.exists():
                store.checkpoint(copy)
            with fs.Store.open(copy, read_only=True) as opened:
                assert len(opened.table("t")) >= (done[-1] + 1) * 500
