"""A scan is a source: each reading begins at its start, and sees the same."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import flintstate as fs


def ids(rows: object) -> list[int]:
    return pa.table(rows)["id"].to_pylist()


@pytest.fixture
def scan(table: fs.Table, rows) -> fs.Scan:
    table.put(rows(range(5)))
    return table.scan(lower=(1,), limit=3, batch_rows=2)


def test_twice_to_a_table(scan: fs.Scan) -> None:
    assert ids(scan.to_table()) == ids(scan.to_table()) == [1, 2, 3]


def test_by_iterating_after_a_reading_that_was_cut_short(scan: fs.Scan) -> None:
    for batch in scan:
        assert ids(batch) == [1, 2]
        break
    assert [ids(batch) for batch in scan] == [[1, 2], [3]]
    assert ids(scan.to_table()) == [1, 2, 3]


def test_two_readings_at_once(scan: fs.Scan) -> None:
    assert [(ids(a), ids(b)) for a, b in zip(scan, scan, strict=True)] == [
        ([1, 2], [1, 2]),
        ([3], [3]),
    ]


def test_by_who_takes_arrow_streams(scan: fs.Scan) -> None:
    for _ in range(2):
        assert pl.DataFrame(scan)["id"].to_list() == [1, 2, 3]
        assert ids(scan) == [1, 2, 3]


def test_it_sees_the_table_as_it_was_when_it_was_made(scan: fs.Scan, table: fs.Table) -> None:
    table.clear()
    assert ids(scan.to_table()) == ids(scan.to_table()) == [1, 2, 3]


def test_it_sees_what_its_snapshot_saw_though_that_was_closed(
    store: fs.Store, table: fs.Table, rows
) -> None:
    table.put(rows([1]))
    with store.snapshot() as before:
        table.put(rows([2]))
        scan = table.scan(snapshot=before)
    table.clear()
    table.compact()
    assert ids(scan.to_table()) == ids(scan.to_table()) == [1]


def test_a_large_one_that_is_read_ahead(path: Path, rows) -> None:
    with fs.Store.open(path, threads=4) as store:
        table = store.table(
            "rows", key=pa.schema([("id", pa.int64())]), value=pa.schema([("n", pa.int64())])
        )
        table.put(rows(range(400_000)).drop_columns("text"))
        scan = table.scan()
        assert len(next(iter(scan))) < 400_000
        assert ids(scan.to_table()) == ids(scan.to_table()) == list(range(400_000))


def test_its_table_may_be_gone_from_the_catalogue(
    store: fs.Store, scan: fs.Scan, table: fs.Table
) -> None:
    assert ids(scan.to_table()) == [1, 2, 3]
    store.drop_table("rows")
    assert ids(scan.to_table()) == [1, 2, 3]


def test_a_closed_store_is_said(store: fs.Store, scan: fs.Scan) -> None:
    scan.to_table()
    store.close()
    with pytest.raises(fs.ClosedError, match="was closed"):
        scan.to_table()
    with pytest.raises(fs.ClosedError, match="was closed"):
        scan.__arrow_c_stream__()


def test_it_says_its_schema_to_arrow(scan: fs.Scan) -> None:
    assert pa.schema(scan) == scan.schema
