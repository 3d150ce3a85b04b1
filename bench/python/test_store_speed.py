"""A table from Python: batches, single rows, scans, bulk loads.

    PYTHONPATH=python python -m pytest --benchmark-enable bench/python

100,000 rows of an 8-byte key and a row of 100 bytes; the time shown is that of one call, or of so
many calls as the name says. docs/benchmarking.md has the traps, and where ratios are to be had.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import flintstate as fs

ROWS = 100_000
BATCH = 10_000
LOOKUP = 1_000
KEY = pa.schema([pa.field("id", pa.int64(), nullable=False)])
VALUE = pa.schema(
    [
        pa.field("count", pa.int64(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random = np.random.default_rng(42)
    letters = random.integers(97, 123, ROWS * 83, dtype=np.uint8).tobytes()
    text = [letters[i * 83 : i * 83 + 83].decode() for i in range(ROWS)]
    columns = {
        "id": random.integers(-(2**63), 2**63 - 1, ROWS, dtype=np.int64),
        "count": random.integers(0, 1000, ROWS),
        "score": random.random(ROWS),
        "text": text,
    }
    return pa.table(columns, pa.schema([*KEY, *VALUE]))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[fs.Store]:
    with fs.Store.open(tmp_path / "store", durability="none") as opened:
        yield opened


@pytest.fixture
def empty(store: fs.Store) -> fs.Table:
    return store.table("rows", key=KEY, value=VALUE)


@pytest.fixture
def full(empty: fs.Table, rows: pa.Table) -> fs.Table:
    empty.ingest(rows)
    return empty


def test_put_of_10_000_random_rows(benchmark, empty: fs.Table, rows: pa.Table) -> None:
    batches = rows.to_batches(max_chunksize=BATCH)
    turn = count()
    benchmark(lambda: empty.put(batches[next(turn) % len(batches)]))
    assert empty[rows["id"][0].as_py()]["text"] == rows["text"][0].as_py()


def test_ingest_of_100_000_random_rows(benchmark, empty: fs.Table, rows: pa.Table) -> None:
    assert benchmark.pedantic(empty.ingest, (rows,), rounds=5) == ROWS


def test_get_many_of_1_000_random_keys(benchmark, full: fs.Table, rows: pa.Table) -> None:
    wanted = rows.select(["id"]).take(np.random.default_rng(1).integers(0, ROWS, LOOKUP))
    assert benchmark(full.get_many, wanted).num_rows == LOOKUP


def test_mapping_get_of_1_000_rows(benchmark, full: fs.Table, rows: pa.Table) -> None:
    ids = rows["id"][:LOOKUP].to_pylist()
    found = benchmark(lambda: [full[i] for i in ids])
    assert found[-1]["count"] == rows["count"][LOOKUP - 1].as_py()


def test_mapping_put_of_1_000_rows(benchmark, empty: fs.Table, rows: pa.Table) -> None:
    ids = rows["id"][:LOOKUP].to_pylist()
    values = rows.select(VALUE.names)[:LOOKUP].to_pylist()

    def put() -> None:
        for key, row in zip(ids, values, strict=True):
            empty[key] = row

    benchmark(put)
    assert empty[ids[-1]] == values[-1]


def test_scan_of_100_000_rows(benchmark, full: fs.Table) -> None:
    assert benchmark(lambda: sum(batch.num_rows for batch in full.scan())) == ROWS


def test_scan_of_one_column_of_100_000_rows(benchmark, full: fs.Table) -> None:
    assert benchmark(lambda: sum(b.num_rows for b in full.scan(columns=["count"]))) == ROWS


def test_checkpoint(benchmark, store: fs.Store, full: fs.Table, tmp_path: Path) -> None:
    names = count()
    benchmark.pedantic(
        lambda: store.checkpoint(tmp_path / f"copy{next(names)}", sync_linked_files=False),
        rounds=10,
    )
    assert (tmp_path / "copy0" / "CURRENT").exists()
