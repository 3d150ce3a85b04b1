from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import flintstate as fs

INSTANT = dt.datetime(2026, 1, 2, 3, 4, 5)
VALUES: dict[pa.DataType, list[object]] = {
    pa.bool_(): [False, True],
    pa.int8(): [-128, 127],
    pa.int16(): [-(2**15), 2**15 - 1],
    pa.int32(): [-(2**31), 2**31 - 1],
    pa.int64(): [-(2**63), 2**63 - 1],
    pa.uint8(): [0, 255],
    pa.uint16(): [0, 2**16 - 1],
    pa.uint32(): [0, 2**32 - 1],
    pa.uint64(): [0, 2**64 - 1],
    pa.float32(): [-1.5, 3.25],
    pa.float64(): [-1e300, 1e-300],
    pa.decimal128(20, 3): [Decimal("-12345.678"), Decimal("0.001")],
    pa.decimal256(50, 5): [Decimal("-1.00001"), Decimal("12345678901234567890.12345")],
    pa.string(): ["", "grüße\0"],
    pa.large_string(): ["a", "b"],
    pa.binary(): [b"", b"\0\xff"],
    pa.large_binary(): [b"a", b"b"],
    pa.binary(3): [b"\0\0\0", b"abc"],
    pa.date32(): [dt.date(1969, 1, 1), dt.date(2026, 1, 1)],
    pa.date64(): [dt.date(1969, 1, 1), dt.date(2026, 1, 1)],
    pa.time32("s"): [dt.time(0), dt.time(23, 59, 59)],
    pa.time32("ms"): [dt.time(0), dt.time(23, 59, 59, 999000)],
    pa.time64("us"): [dt.time(0), dt.time(23, 59, 59, 999999)],
    pa.timestamp("s"): [dt.datetime(1900, 1, 1), INSTANT],
    pa.timestamp("ms"): [dt.datetime(1900, 1, 1), INSTANT],
    pa.timestamp("us"): [dt.datetime(1900, 1, 1), INSTANT],
    pa.timestamp("us", tz="Europe/Berlin"): [INSTANT.replace(tzinfo=dt.UTC)] * 2,
    pa.duration("us"): [dt.timedelta(-1), dt.timedelta(1)],
    pa.struct([("x", pa.int32()), ("y", pa.string())]): [{"x": 1, "y": None}, {"x": 2, "y": "b"}],
    pa.list_(pa.int32()): [[], [1, None, 3]],
    pa.list_(pa.string()): [["a"], ["a", "", None]],
    pa.large_list(pa.int16()): [[], [5]],
    pa.list_(pa.int8(), 2): [[1, 2], [3, 4]],
}
MORE_VALUES: dict[pa.DataType, list[object]] = {
    pa.null(): [None, None],
    pa.map_(pa.string(), pa.int64()): [[], [("k", 1), ("l", None)]],
    pa.list_(pa.list_(pa.string())): [[["a"], None, []], []],
}


def rows_of(type_: pa.DataType, values: list[object], name: str) -> pa.Table:
    return pa.table({"i": pa.array([0, 1, 2], pa.int32()), name: pa.array([*values, None], type_)})


@pytest.mark.parametrize("type_", [*VALUES, *MORE_VALUES], ids=str)
def test_as_a_value(store: fs.Store, type_: pa.DataType) -> None:
    rows = rows_of(type_, (VALUES | MORE_VALUES)[type_], "v")
    table = store.table("t", key=pa.schema([("i", pa.int32())]), value=pa.schema([("v", type_)]))
    table.put(rows)
    assert table.scan().to_table().equals(rows)
    assert table.get_many(rows.select(["i"])).equals(rows)
    again = store.table("u", key=pa.schema([("i", pa.int32())]), value=pa.schema([("v", type_)]))
    for key, row in table.items():
        again[key] = table[key]
        assert again[key] == row
    again.ingest(table.scan())
    assert again.scan().to_table().equals(rows)


@pytest.mark.parametrize("type_", VALUES, ids=str)
@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
def test_as_a_key(store: fs.Store, type_: pa.DataType, descending: bool) -> None:
    rows = rows_of(type_, VALUES[type_], "k").slice(0, 2)
    table = store.table(
        "t",
        key=pa.schema([("k", type_)]),
        value=pa.schema([("i", pa.int32())]),
        descending=["k"] if descending else [],
    )
    table.put(rows)
    distinct = {str(value): i for i, value in enumerate(VALUES[type_])}
    found = table.scan(columns=["i"]).to_table()["i"].to_pylist()
    assert sorted(found, reverse=descending) == found
    assert sorted(found) == sorted(distinct.values())
    values = rows["k"].to_pylist()
    for key in table:
        assert key in values
        assert table[key]["i"] in found


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.chunked_array([["a"], ["b", None]]),
        pa.array(["x", "a", "b", None]).slice(1),
        pa.array(["a", "b", None]).cast(pa.large_string()),
        pa.array(["a", "b", None]).cast(pa.string_view()),
    ],
    ids=["dictionary", "chunked", "sliced", "large", "view"],
)
def test_whatever_the_layout(store: fs.Store, values: pa.Array) -> None:
    table = store.table(
        "t", key=pa.schema([("i", pa.int32())]), value=pa.schema([("v", pa.string())])
    )
    table.put(pa.table({"i": pa.array([0, 1, 2], pa.int32()), "v": values}))
    assert [row["v"] for row in table.values()] == ["a", "b", None]
