from __future__ import annotations

import pyarrow as pa
import pytest

import flintstate as fs

KEY = pa.schema([("a", pa.int32()), ("b", pa.string())])


@pytest.fixture
def pairs(store: fs.Store) -> fs.Table:
    table = store.table("pairs", key=KEY, value=pa.schema([("n", pa.int64())]))
    keys = [(a, b) for a in (1, 2, 3) for b in ("x", "y", "z")]
    table.put(
        pa.table(
            {
                "a": pa.array([a for a, _ in keys], pa.int32()),
                "b": [b for _, b in keys],
                "n": range(len(keys)),
            }
        )
    )
    return table


def found(table: fs.Table, **range_: object) -> list[int]:
    return table.scan(columns=["n"], **range_).to_table()["n"].to_pylist()


def test_all_rows_in_key_order(pairs: fs.Table) -> None:
    assert found(pairs) == list(range(9))
    assert found(pairs, reverse=True) == list(range(8, -1, -1))


def test_a_prefix_is_all_keys_that_begin_so(pairs: fs.Table) -> None:
    assert found(pairs, prefix=(2,)) == [3, 4, 5]
    assert found(pairs, prefix=(2, "y")) == [4]
    assert found(pairs, prefix=(4,)) == []
    assert found(pairs, prefix=(2,), reverse=True, limit=2) == [5, 4]


def test_bounds_may_be_whole_keys_or_begin_them(pairs: fs.Table) -> None:
    assert found(pairs, lower=(2,)) == [3, 4, 5, 6, 7, 8]
    assert found(pairs, lower=(2,), inclusive_lower=False) == [6, 7, 8]
    assert found(pairs, upper=(2,)) == [0, 1, 2]
    assert found(pairs, upper=(2,), inclusive_upper=True) == [0, 1, 2, 3, 4, 5]
    assert found(pairs, lower=(1, "z"), upper=(2, "x"), inclusive_upper=True) == [2, 3]
    assert found(pairs, prefix=(2,), lower=("y",), upper=("z",)) == [4]
    assert found(pairs, lower=(3,), upper=(2,)) == []


def test_columns_come_in_the_order_asked_for(pairs: fs.Table) -> None:
    scan = pairs.scan(columns=["n", "b"], limit=1)
    assert scan.schema.names == ["n", "b"]
    assert scan.to_table().to_pylist() == [{"n": 0, "b": "x"}]
    assert [batch.num_rows for batch in pairs.scan(columns=[])] == [9]


def test_batches_have_so_many_rows_at_most(pairs: fs.Table) -> None:
    assert [batch.num_rows for batch in pairs.scan(batch_rows=4)] == [4, 4, 1]


def test_anything_that_takes_arrow_streams_takes_a_scan(pairs: fs.Table) -> None:
    import duckdb
    import polars

    assert pa.table(pairs.scan()).num_rows == 9
    assert polars.DataFrame(pairs.scan())["n"].sum() == 36
    reader = pa.RecordBatchReader.from_stream(pairs.scan())
    with duckdb.connect() as connection:
        connection.register("reader", reader)
        assert connection.sql("select sum(n) from reader").fetchall() == [(36,)]
    pairs.put(
        polars.DataFrame({"a": [9], "b": ["p"], "n": [9]}, schema_overrides={"a": polars.Int32})
    )
    assert pairs[9, "p"] == {"n": 9}


def test_a_scan_keeps_its_snapshot_while_others_write(pairs: fs.Table) -> None:
    scan = iter(pairs.scan(columns=["n"], batch_rows=2))
    seen = next(scan)["n"].to_pylist()
    pairs.delete_range()
    pairs[1, "x"] = {"n": 100}
    for batch in scan:
        seen += batch["n"].to_pylist()
    assert seen == list(range(9))
    assert found(pairs) == [100]


def test_a_snapshot_is_for_gets_too(store: fs.Store, pairs: fs.Table) -> None:
    with store.snapshot() as snapshot:
        pairs[1, "x"] = {"n": 100}
        assert pairs.get((1, "x"), snapshot=snapshot) == {"n": 0}
        key = pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]})
        assert pairs.get_many(key, snapshot=snapshot)["n"].to_pylist() == [0]
        assert found(pairs, prefix=(1,), snapshot=snapshot) == [0, 1, 2]
    with pytest.raises(fs.ClosedError, match="snapshot"):
        pairs.scan(snapshot=snapshot)


def test_descending_and_nulls_last(store: fs.Store) -> None:
    table = store.table(
        "t",
        key=pa.schema([("k", pa.int32())]),
        value=pa.schema([]),
        descending=["k"],
        nulls="last",
    )
    table.put(pa.table({"k": pa.array([1, None, 3, 2], pa.int32())}))
    assert list(table) == [3, 2, 1, None]
    assert table.scan(lower=(2,)).to_table()["k"].to_pylist() == [2, 1, None]
