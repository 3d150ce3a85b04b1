"""Scans, reads and ingestions that are large enough for several threads to work at them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import flintstate as fs

KEY = pa.schema([("group", pa.string()), pa.field("id", pa.int64(), nullable=False)])
VALUE = pa.schema([("text", pa.string())])
ROWS = 90_000


def some(rows: int = ROWS) -> pa.Table:
    """Unsorted rows of three groups, of which one has nearly all."""
    ids = np.random.default_rng(3).permutation(rows)
    groups = np.where(ids % 100 == 1, "a", np.where(ids % 100 == 2, "z", "many"))
    return pa.table({"group": groups, "id": ids, "text": [f"row {i}" for i in ids]})


@pytest.fixture(params=[1, 2, 4])
def table(request: pytest.FixtureRequest, path: Path):
    with fs.Store.open(path, threads=request.param, memory="16MB") as store:
        table = store.table("rows", key=KEY, value=VALUE)
        assert table.ingest(some()) == ROWS
        yield table


def test_every_row_comes_once_and_in_order(table: fs.Table) -> None:
    wanted = some().sort_by([("group", "ascending"), ("id", "ascending")])
    for batch_rows in (20_000, 65_536):
        assert table.scan(batch_rows=batch_rows).to_table().equals(wanted.cast(table_schema()))
    backwards = table.scan(reverse=True, batch_rows=16_384).to_table()
    assert backwards["id"].to_pylist() == wanted["id"].to_pylist()[::-1]


def table_schema() -> pa.Schema:
    return pa.schema([*KEY, *VALUE])


def test_a_prefix_ends_where_its_rows_do(table: fs.Table) -> None:
    many = table.scan(prefix=("many",), columns=["id"], batch_rows=16_384).to_table()
    wanted = [i for i in range(ROWS) if i % 100 not in (1, 2)]
    assert many["id"].to_pylist() == wanted
    some_of_it = table.scan(prefix=("many",), limit=70_000, columns=["id"], batch_rows=16_384)
    assert some_of_it.to_table()["id"].to_pylist() == wanted[:70_000]


def test_many_keys_are_found_as_few_are(table: fs.Table) -> None:
    rows = some().slice(0, 5000)
    keys = rows.select(["group", "id"])
    absent = pa.table({"group": ["none"] * 5000, "id": range(5000)})
    found = table.get_many(pa.concat_tables([keys, absent]), found="there")
    assert found["text"].to_pylist() == [*rows["text"].to_pylist(), *[None] * 5000]
    assert found["there"].to_pylist() == [True] * 5000 + [False] * 5000


def test_a_store_can_be_closed_while_a_scan_is_half_read(path: Path) -> None:
    for batches in range(4):
        with fs.Store.open(path, threads=4) as store:
            table = store.table("rows", key=KEY, value=VALUE)
            table.ingest(some())
            scan = table.scan(batch_rows=16_384)
            for _, batch in zip(range(batches), scan, strict=False):
                assert batch.num_rows > 0
        with pytest.raises(fs.ClosedError, match="was closed"):
            scan.to_table()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_leaves_the_parents_helpers_alone(path: Path) -> None:
    with fs.Store.open(path, threads=4) as store:
        table = store.table("rows", key=KEY, value=VALUE)
        table.ingest(some())
        scan = iter(table.scan(batch_rows=16_384))
        read = next(scan).num_rows + next(scan).num_rows
        child = os.fork()
        if child == 0:
            refused = False
            try:
                next(scan)
            except fs.ClosedError as error:
                refused = "forked" in str(error)
            del scan, table, store
            os._exit(0 if refused else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert read + sum(batch.num_rows for batch in scan) == ROWS


def test_a_process_may_end_while_a_scan_is_half_read(path: Path) -> None:
    program = """
import sys, pyarrow as pa, flintstate as fs
store = fs.Store.open(sys.argv[1], threads=4, durability="none")
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([]))
table.ingest(pa.table({"k": range(200_000)}))
scan = iter(table.scan(batch_rows=16_384))
next(scan), next(scan)
if sys.argv[2] == "exit":
    sys.exit(7)
sys.modules["kept"] = (store, table, scan)  # so that nothing is closed before the end
raise RuntimeError("halfway")
"""
    for way, code in (("exit", 7), ("raise", 1)):
        ended = subprocess.run(
            [sys.executable, "-c", program, path, way], capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stderr


def test_a_damaged_file_is_told_where_the_scan_comes_to_it(path: Path) -> None:
    with fs.Store.open(path, threads=1, compression="none") as store:
        store.table("rows", key=KEY, value=VALUE).ingest(some())
    file = max(path.glob("*.sst"), key=lambda file: file.stat().st_size)
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    file.write_bytes(damaged)
    for threads in (1, 4):
        with fs.Store.open(path, threads=threads, compression="none") as store:
            scan = store.table("rows").scan(batch_rows=16_384)
            for _ in range(2):  # and again: what lies behind is not given out as if it came next
                with pytest.raises(fs.CorruptionError, match=file.name):
                    scan.to_table()


def test_fewer_threads_than_one_are_refused(path: Path) -> None:
    with pytest.raises(fs.InvalidError, match="threads=0"):
        fs.Store.open(path, threads=0)
