"""Whoever takes Arrow takes a table, and a scan."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import flintstate as fs


@pytest.fixture
def full(table: fs.Table, rows) -> fs.Table:
    table.put(rows(range(3)))
    return table


def test_pyarrow(full: fs.Table) -> None:
    assert pa.table(full) == full.scan().to_table()
    assert pa.schema(full) == full.schema == full.scan().schema
    assert pa.RecordBatchReader.from_stream(full).read_all().num_rows == 3


def test_polars(full: fs.Table) -> None:
    assert pl.DataFrame(full)["n"].to_list() == [0, 1, 2]
    assert pl.DataFrame(full.scan(columns=["n"])).columns == ["n"]


def test_pandas(full: fs.Table) -> None:
    assert pd.DataFrame.from_arrow(full)["n"].tolist() == [0, 1, 2]


def test_duckdb_finds_it_by_its_variable(full: fs.Table) -> None:
    clicks = full  # its own name is a word of SQL
    scan = clicks.scan(lower=(1,))  # noqa: F841 (duckdb looks for it)
    assert duckdb.sql("select sum(n) from clicks").fetchall() == [(3,)]
    assert duckdb.sql("from scan").fetchall() == [(1, "t1", 1), (2, "t2", 2)]
    joined = duckdb.sql("select count(*) from clicks a join scan b using (id)")
    assert joined.fetchall() == joined.fetchall() == [(2,)]


def test_another_table(store: fs.Store, full: fs.Table) -> None:
    copy = store.table("copy", key=full.key_schema, value=full.value_schema)
    copy.put(full)
    assert pa.table(copy) == pa.table(full)
    assert copy.ingest(full.scan(limit=2)) == 2


@pytest.mark.parametrize("write", ["put", "ingest"])
def test_a_filtered_pandas_frame_may_keep_its_index(full: fs.Table, write: str) -> None:
    frame = pd.DataFrame({"id": [7, 8, 9], "text": ["a", "b", "c"], "n": [1, 2, 3]})
    getattr(full, write)(frame[frame.n > 1])
    assert 7 not in full
    assert full[9] == {"text": "c", "n": 3}


def test_an_index_of_pandas_that_has_a_name_is_a_column(full: fs.Table) -> None:
    frame = pd.DataFrame({"id": [7], "text": ["a"], "n": [1]}).set_index("id")
    full.put(frame)
    assert full[7] == {"text": "a", "n": 1}
    with pytest.raises(fs.InvalidError, match="no column 'day'"):
        full.put(frame.reset_index().set_index(pd.Index([1], name="day")))


def test_a_duckdb_relation(full: fs.Table) -> None:
    full.put(duckdb.sql("select 9 as id, 'd' as text, 4::bigint as n"))
    assert full[9] == {"text": "d", "n": 4}
