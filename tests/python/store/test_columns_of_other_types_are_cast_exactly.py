"""A column of another type goes in where all its values are exactly of the table's type."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import flintstate as fs

UTC = dt.UTC
NOON = dt.datetime(2026, 1, 1, 12)
DAY = dt.date(2026, 1, 1)
INT = pa.int32()

FITS = {
    "wider integers": (pa.array([1, -(2**31), None], pa.int64()), INT),
    "unsigned integers": (pa.array([1, 2**63, None], pa.uint64()), pa.uint64()),
    "integers of the other sign": (pa.array([0, 255], pa.int64()), pa.uint8()),
    "narrower integers": (pa.array([1, -128], pa.int8()), pa.int64()),
    "whole floats": (pa.array([1.0, -3.0, None], pa.float64()), INT),
    "doubles that are floats": (pa.array([0.5, math.inf, None], pa.float64()), pa.float32()),
    "floats": (pa.array([0.1, None], pa.float32()), pa.float64()),
    "integers as floats": (pa.array([2**53, None], pa.int64()), pa.float64()),
    "integers as decimals": (pa.array([12, -12], pa.int64()), pa.decimal128(4, 2)),
    "wider decimals": (
        pa.array([decimal.Decimal("1.20")], pa.decimal128(38, 4)),
        pa.decimal128(3, 2),
    ),
    "nanoseconds": (pa.array([NOON], pa.timestamp("ns")), pa.timestamp("us")),
    "seconds": (pa.array([NOON], pa.timestamp("s")), pa.timestamp("ns")),
    "another zone": (
        pa.array([NOON.replace(tzinfo=UTC)], pa.timestamp("us", "Asia/Tokyo")),
        pa.timestamp("ms", "UTC"),
    ),
    "durations": (pa.array([dt.timedelta(days=1)], pa.duration("ns")), pa.duration("s")),
    "times": (pa.array([dt.time(12)], pa.time64("us")), pa.time32("s")),
    "dates": (pa.array([DAY, None], pa.date64()), pa.date32()),
    "dates in milliseconds": (pa.array([DAY, None], pa.date32()), pa.date64()),
    "nulls": (pa.nulls(2), INT),
    "a dictionary": (pa.array([7, None, 7], pa.int64()).dictionary_encode(), INT),
    "lists": (pa.array([[1, None], [], None]), pa.list_(INT)),
    "large lists": (pa.array([[1, 2]], pa.large_list(pa.int64())), pa.list_(INT)),
    "lists of one size": (pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)), pa.list_(INT)),
    "structs in another order": (
        pa.array([{"b": "x", "a": 1}, None]),
        pa.struct([("a", INT), ("b", pa.string())]),
    ),
    "maps": (
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.map_(pa.string(), INT),
    ),
}


def in_column(store: fs.Store, type_: pa.DataType, values: pa.Array, write: str) -> list[object]:
    table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", type_)]))
    getattr(table, write)(pa.table({"k": range(len(values)), "v": values}))
    column = table.scan().to_table()["v"]
    assert column.type == type_
    return column.to_pylist()


@pytest.mark.parametrize("write", ["put", "ingest", "merge"])
@pytest.mark.parametrize("name", FITS)
def test_values_that_fit_go_in(store: fs.Store, name: str, write: str) -> None:
    values, type_ = FITS[name]
    assert in_column(store, type_, values, write) == values.to_pylist()


@pytest.mark.parametrize("from_", [0, 1, 2])
def test_slices_of_columns_that_fit(store: fs.Store, from_: int) -> None:
    values = pa.array([[1], [2, 3], None, [4]]).slice(from_)
    assert in_column(store, pa.list_(INT), values, "put") == values.to_pylist()


REFUSED = {
    "beyond": (pa.array([0, 2**31], pa.int64()), INT, "row 1: 2147483648"),
    "below": (pa.array([None, -1], pa.int64()), pa.uint64(), "row 1: -1"),
    "above a signed one": (pa.array([2**63], pa.uint64()), pa.int64(), f"row 0: {2**63}"),
    "a fraction": (pa.array([1.0, 2.5], pa.float64()), INT, r"row 1: 2\.5"),
    "no number": (pa.array([math.nan], pa.float64()), INT, "row 0: nan"),
    "a large float": (pa.array([1e300], pa.float64()), pa.int64(), r"row 0: 1e\+300"),
    "a tenth": (pa.array([0.1], pa.float64()), pa.float32(), r"row 0: 0\.1, .*double"),
    "too large a float": (pa.array([1e300], pa.float64()), pa.float32(), r"row 0: 1e\+300"),
    "a long integer": (pa.array([2**53 + 1], pa.int64()), pa.float64(), f"row 0: {2**53 + 1}"),
    "a nanosecond": (pa.array([1], pa.timestamp("ns")), pa.timestamp("us"), "row 0: 1, .*ns"),
    "a far second": (pa.array([2**40], pa.timestamp("s")), pa.timestamp("ns"), "row 0"),
    "too many digits": (
        pa.array([decimal.Decimal("12.345")], pa.decimal128(5, 3)),
        pa.decimal128(5, 2),
        "row 0",
    ),
    "too large a decimal": (pa.array([100], pa.int64()), pa.decimal128(4, 2), "row 0: 100"),
    "inside a list": (pa.array([[1], [2**40]]), pa.list_(INT), "row 1"),
    "a dictionary's": (
        pa.array([2**40, 1], pa.int64()).dictionary_encode(),
        INT,
        f"row 0: {2**40}",
    ),
}


@pytest.mark.parametrize("write", ["put", "ingest"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_does_not_fit_is_named(store: fs.Store, name: str, write: str) -> None:
    values, type_, message = REFUSED[name]
    with pytest.raises(fs.InvalidError, match=f"table 't': column 'v': {message}"):
        in_column(store, type_, values, write)
    assert len(store.table("t")) == 0


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (pa.array(["1"]), INT),
        (pa.array([1]), pa.string()),
        (pa.array([True]), INT),
        (pa.array([NOON]), pa.timestamp("us", "UTC")),
        (pa.array([DAY]), pa.timestamp("us")),
        (pa.array([b"a"]), pa.string()),
        (pa.array([{"a": 1, "b": 2}]), pa.struct([("a", INT)])),
    ],
    ids=str,
)
def test_what_means_something_else_is_refused_by_type(
    store: fs.Store, values: pa.Array, type_: pa.DataType
) -> None:
    with pytest.raises(fs.InvalidError, match="column 'v': expected"):
        in_column(store, type_, values, "put")


@pytest.fixture
def days(store: fs.Store) -> fs.Table:
    key = pa.schema(
        [
            pa.field("user", pa.int32(), nullable=False),
            pa.field("at", pa.timestamp("us"), nullable=False),
        ]
    )
    return store.table("days", key=key, value=pa.schema([("n", pa.int16())]))


FRAMES: dict[str, Callable[..., object]] = {
    "pyarrow": pa.table,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


@pytest.mark.parametrize("make", FRAMES)
def test_keys_of_frames_as_libraries_make_them(days: fs.Table, make: str) -> None:
    frame = FRAMES[make]
    days.put(frame({"user": [1, 2], "at": [NOON, NOON], "n": [3, None]}))
    assert days[1, NOON] == {"n": 3}
    assert days[2, NOON] == {"n": None}
    keys = frame({"user": [2, 9], "at": [NOON, NOON]})
    assert days.get_many(keys, found="there")["there"].to_pylist() == [True, False]
    days.delete(keys)
    assert list(days) == [(1, NOON)]


def test_a_key_that_does_not_fit_is_named(days: fs.Table) -> None:
    keys = pa.table({"user": [1, 2**40], "at": [NOON, NOON]})
    for call in (days.delete, days.get_many):
        with pytest.raises(fs.InvalidError, match=rf"key column 'user'.*row 1: {2**40}"):
            call(keys)


def test_a_polars_categorical_and_its_views(store: fs.Store) -> None:
    table = store.table(
        "c", key=pa.schema([("k", pa.string())]), value=pa.schema([("v", pa.string())])
    )
    words = pl.Series(["a", "b", "a rather long word, to be out of line"])
    table.put(pl.DataFrame({"k": words, "v": words.cast(pl.Categorical)}))
    assert [row["v"] for row in table.values()] == sorted(words)


def test_a_pandas_column_of_integers_with_gaps(days: fs.Table) -> None:
    days.put(pd.DataFrame({"user": [1, 2], "at": [NOON, NOON], "n": [np.nan, 4.0]}))
    assert [row["n"] for row in days.values()] == [None, 4]


def test_nothing_of_a_batch_is_written_where_its_last_row_does_not_fit(days: fs.Table) -> None:
    users = pa.array([*range(50_000), 2**40])
    with pytest.raises(fs.InvalidError, match="row 50000"):
        days.put(pa.table({"user": users, "at": [NOON] * len(users), "n": pa.nulls(len(users))}))
    assert len(days) == 0
