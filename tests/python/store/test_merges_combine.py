from __future__ import annotations

import pyarrow as pa
import pytest

import flintstate as fs

KEY = pa.schema([("k", pa.int32())])

CASES = [
    ("sum", pa.int64(), [1, None, 5], 6),
    ("sum", pa.int8(), [100, 100], -56),
    ("sum", pa.uint8(), [200, 100], 44),
    ("sum", pa.float64(), [0.5, 0.25], 0.75),
    ("min", pa.int32(), [3, -7, 5], -7),
    ("max", pa.int32(), [3, None, 5], 5),
    ("max", pa.uint64(), [1, 2**64 - 1], 2**64 - 1),
    ("min", pa.string(), ["b", "a", "c"], "a"),
    ("max", pa.float64(), [1.0, -2.0], 1.0),
    ("first", pa.string(), [None, "a", "b"], "a"),
    ("last", pa.string(), ["a", "b", None], "b"),
    ("count", pa.int64(), [70, None, 70], 3),
    ("append", pa.string(), ["a", "b", None, "c"], "abc"),
    ("append", pa.binary(), [b"\0", b"", b"\1"], b"\0\1"),
    ("append", pa.list_(pa.int32()), [[1], [], [2, None]], [1, 2, None]),
    ("append", pa.list_(pa.string()), [["a", None], ["", "b"]], ["a", None, "", "b"]),
    ("bit_and", pa.uint16(), [0b1110, 0b0111], 0b0110),
    ("bit_or", pa.int32(), [1, 6], 7),
    ("bit_xor", pa.int64(), [5, 6], 3),
]


@pytest.mark.parametrize("reached", ["memtable", "files", "compacted", "reopened"])
@pytest.mark.parametrize(("function", "type_", "values", "expected"), CASES)
def test_each_function(path, function, type_, values, expected, reached) -> None:
    store = fs.Store.open(path)
    table = store.table("t", key=KEY, value=pa.schema([("v", type_)]), merge={"v": function})
    for value in values:
        table.merge(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([value], type_)}))
        if reached == "files":
            store.flush()
    if reached == "compacted":
        table.compact()
    if reached == "reopened":
        store.close()
        store = fs.Store.open(path)
        table = store.table("t")
    assert table[1] == {"v": expected}
    assert table.scan(columns=["v"]).to_table()["v"].to_pylist() == [expected]
    store.close()


def test_all_rows_of_a_batch_are_merged_and_others_replaced(store: fs.Store) -> None:
    value = pa.schema([("hits", pa.int64()), ("name", pa.string())])
    table = store.table("t", key=KEY, value=value, merge={"hits": "sum"})
    table[1] = {"hits": 10, "name": "old"}
    table.merge(
        pa.table({"k": pa.array([2, 1, 1], pa.int32()), "hits": [1, 2, 3], "name": ["x", "y", "z"]})
    )
    assert table[1] == {"hits": 15, "name": "z"}
    assert table[2] == {"hits": 1, "name": "x"}


def test_columns_with_a_function_may_be_left_out(store: fs.Store) -> None:
    value = pa.schema([("n", pa.int64()), ("s", pa.int64()), ("name", pa.string())])
    table = store.table("t", key=KEY, value=value, merge={"n": "count", "s": "sum"})
    rows = pa.table({"k": pa.array([1, 1], pa.int32()), "name": ["x", "y"]})
    table.merge(rows)
    assert table[1] == {"n": 2, "s": None, "name": "y"}
    with pytest.raises(fs.InvalidError, match="'name' is missing"):
        table.merge(rows.select(["k"]))


def test_merges_survive_a_change_of_columns(store: fs.Store) -> None:
    table = store.table("t", key=KEY, value=pa.schema([("v", pa.int32())]), merge={"v": "sum"})
    one = pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([2**31 - 1], pa.int32())})
    table.merge(one)
    wide = pa.schema([("new", pa.string()), ("v", pa.int64())])
    table = store.table("t", key=KEY, value=wide, merge={"v": "sum", "new": "last"})
    table.merge(pa.table({"k": pa.array([1], pa.int32()), "v": [1], "new": ["x"]}))
    assert table[1] == {"new": "x", "v": 2**31}
    store.flush()
    table.compact()
    assert table[1] == {"new": "x", "v": 2**31}
