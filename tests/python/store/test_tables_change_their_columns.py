from __future__ import annotations

import pyarrow as pa
import pytest

import flintstate as fs
from store_tables import KEY, VALUE


def test_columns_are_added_dropped_and_widened(path, rows) -> None:
    with fs.Store.open(path) as store:
        narrow = pa.schema([("text", pa.string()), ("n", pa.int32())])
        table = store.table("rows", key=KEY, value=narrow)
        table[1] = {"text": "a", "n": 1}
        store.flush()
    wanted = pa.schema([("n", pa.int64()), ("city", pa.string()), ("lucky", pa.int8())])
    with fs.Store.open(path) as store:
        table = store.table("rows", key=KEY, value=wanted, defaults={"lucky": 7})
        assert table[1] == {"n": 1, "city": None, "lucky": 7}
        table[2] = {"n": 2**40, "city": "Bern", "lucky": None}
    with fs.Store.open(path) as store:
        table = store.table("rows")
        assert table.value_schema.names == ["n", "city", "lucky"]
        assert table.scan().to_table().to_pylist() == [
            {"id": 1, "n": 1, "city": None, "lucky": 7},
            {"id": 2, "n": 2**40, "city": "Bern", "lucky": None},
        ]


def test_a_reader_sees_columns_as_it_asks_for_them_and_changes_nothing(path) -> None:
    with fs.Store.open(path) as store:
        store.table("rows", key=KEY, value=VALUE)[1] = {"text": "a", "n": 1}
    wanted = pa.schema([("n", pa.int64()), ("more", pa.string())])
    with fs.Store.open(path, read_only=True) as store:
        assert store.table("rows", key=KEY, value=wanted)[1] == {"n": 1, "more": None}
    with fs.Store.open(path, read_only=True) as store:
        assert store.table("rows").value_schema == VALUE


def test_what_would_lose_something_is_refused_by_name(store: fs.Store, table: fs.Table) -> None:
    with pytest.raises(fs.InvalidError, match=r"'rows'.*key"):
        store.table("rows", key=pa.schema([("id", pa.int32())]), value=VALUE)
    with pytest.raises(fs.InvalidError, match="'n'"):
        store.table("rows", key=KEY, value=pa.schema([("n", pa.int32())]))
    with pytest.raises(fs.InvalidError, match="key"):
        store.table("rows", key=KEY, value=VALUE, descending=["id"])


def test_a_table_taken_before_a_change_says_so(store: fs.Store, table: fs.Table, rows) -> None:
    table.put(rows([1]))
    changed = store.table("rows", key=KEY, value=pa.schema([("n", pa.int64())]))
    with pytest.raises(fs.ClosedError, match="columns have changed"):
        table[1]
    assert changed[1] == {"n": 1}
    again = store.table("rows", key=KEY, value=pa.schema([("n", pa.int64())]))
    assert changed[1] == again[1]  # nothing changed: both are good


def test_a_dropped_table_is_gone_for_good(path, store: fs.Store, table: fs.Table, rows) -> None:
    table.put(rows([1]))
    scan = table.scan()
    store.drop_table("rows")
    assert store.tables() == []
    assert scan.to_table().num_rows == 1  # it keeps what it saw
    with pytest.raises(fs.ClosedError, match="dropped"):
        table.put(rows([1]))
    assert len(store.table("rows", key=KEY, value=VALUE)) == 0
    store.close()
    with fs.Store.open(path) as again:
        assert again.tables() == ["rows"]
        assert len(again.table("rows")) == 0
