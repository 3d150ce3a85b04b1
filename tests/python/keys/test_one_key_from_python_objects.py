"""A key from a tuple of Python objects is the key of the row in a batch, and comes back as it."""

import datetime as dt
import decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import flintstate as fs
from flintstate import _core
from key_columns import Keys, keys

UTC = dt.UTC


def encode(type_: pa.DataType, value: Any) -> bytes:
    return _core._encode_key(pa.schema([("k", type_)]), value, [], False)


def decode(type_: pa.DataType, key: bytes) -> object:
    return _core._decode_key(pa.schema([("k", type_)]), key, [], False)


@given(keys())
def test_a_tuple_makes_the_key_of_its_row(some: Keys) -> None:
    options = (some.descending, some.nulls == "last")
    encoded = fs.encode_keys(some.table(), **some.options).to_pylist()
    for row, key in zip(some.rows, encoded, strict=True):
        assert _core._encode_key(some.schema, row, *options) == key
        back = _core._decode_key(some.schema, key, *options)
        again = back if len(some.columns) > 1 else (back,)
        assert _core._encode_key(some.schema, again, *options) == key


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (pa.bool_(), True),
        (pa.int8(), -128),
        (pa.uint64(), 2**64 - 1),
        (pa.float16(), 0.5),
        (pa.float64(), -1e300),
        (pa.decimal128(10, 2), decimal.Decimal("-12345678.90")),
        (pa.decimal256(70, -2), decimal.Decimal("7E+60")),
        (pa.string(), "é\0"),
        (pa.binary(), b"\0\1\2"),
        (pa.binary(2), b"\0\xff"),
        (pa.date32(), dt.date(1, 1, 1)),
        (pa.date64(), dt.date(9999, 12, 31)),
        (pa.time32("s"), dt.time(23, 59, 59)),
        (pa.time64("us"), dt.time(0, 0, 0, 1)),
        (pa.timestamp("s"), dt.datetime(1969, 12, 31, 23, 59, 59)),
        (pa.timestamp("ns"), dt.datetime(2026, 1, 1, 0, 0, 0, 123456)),
        (pa.timestamp("ns"), np.datetime64("2026-01-01T00:00:00.123456789", "ns")),
        (pa.timestamp("us", "UTC"), dt.datetime(2026, 7, 1, 12, tzinfo=UTC)),
        (pa.timestamp("us", "+05:30"), dt.datetime(2026, 7, 1, 12, tzinfo=UTC)),
        (pa.timestamp("us", "Europe/Berlin"),
         dt.datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("America/New_York"))),
        (pa.duration("ms"), dt.timedelta(days=-1, milliseconds=5)),
        (pa.struct([("x", pa.int8()), ("y", pa.string())]), {"x": None, "y": "a"}),
        (pa.list_(pa.string()), ["a", None, ""]),
        (pa.list_(pa.int32(), 2), [1, 2]),
        (pa.large_list(pa.list_(pa.int8())), [[], [1], None]),
        (pa.int32(), None),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_comes_back(type_: pa.DataType, value: Any) -> None:
    back = decode(type_, encode(type_, value))
    assert back == value
    assert type(back) is type(value)


def test_times_may_be_counts_of_their_unit() -> None:
    moment = dt.datetime(2026, 1, 1)
    micros = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert encode(pa.timestamp("us"), micros) == encode(pa.timestamp("us"), moment)
    assert encode(pa.date32(), -1) == encode(pa.date32(), dt.date(1969, 12, 31))
    with pytest.raises(fs.InvalidError, match=r"'k'.*date32.*within its range"):
        encode(pa.date32(), 2**31)


@pytest.mark.parametrize(
    ("type_", "value", "message"),
    [
        (pa.int64(), "3", "key column 'k': expected int64, got str '3'"),
        (pa.int64(), 2.0, "expected int64, got float 2.0"),
        (pa.int64(), True, "expected int64, got bool True"),
        (pa.int8(), 128, "expected int8, got int 128, which is out of its range"),
        (pa.uint8(), -1, "expected uint8, got int -1"),
        (pa.bool_(), 1, "expected bool, got int 1"),
        (pa.float64(), 2**53 + 1, "expected double"),
        (pa.string(), b"a", "expected string, got bytes"),
        (pa.string(), "\ud800", "that can be written as UTF-8"),
        (pa.binary(), "a", "expected binary, got str"),
        (pa.binary(2), b"a", "fixed_size_binary"),
        (pa.decimal128(4, 2), decimal.Decimal("1.234"), "decimal128"),
        (pa.decimal128(4, 2), decimal.Decimal("100"), "within its precision"),
        (pa.decimal128(4, 2), decimal.Decimal("NaN"), "decimal128"),
        (pa.date32(), dt.datetime(2026, 1, 1), "expected date32"),
        (pa.timestamp("us"), dt.datetime(2026, 1, 1, tzinfo=UTC), "without a zone"),
        (pa.timestamp("us", "UTC"), dt.datetime(2026, 1, 1), "with a zone"),
        (pa.timestamp("s"), dt.datetime(2026, 1, 1, 0, 0, 0, 5), "whole in its unit"),
        (pa.list_(pa.int8()), "ab", "expected list"),
        (pa.list_(pa.int8()), [1, "b"], r"key column 'k\[\]': expected int8, got str 'b'"),
        (pa.list_(pa.int8(), 2), [1], "expected fixed_size_list"),
        (pa.struct([("x", pa.int8())]), {"y": 1}, "with all its fields and no others"),
        (pa.struct([("x", pa.int8())]), {"x": "?"}, "key column 'k.x': expected int8"),
        (pa.int8(), (1, 2), r"got 2 values for 1 key columns \(k\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_column(
    type_: pa.DataType, value: Any, message: str
) -> None:
    with pytest.raises(fs.InvalidError, match=message):
        encode(type_, value)


def test_none_is_refused_where_the_column_is_not_null() -> None:
    schema = pa.schema([pa.field("k", pa.int8(), nullable=False)])
    with pytest.raises(fs.InvalidError, match=r"'k'.*declared not null, but a value is null"):
        _core._encode_key(schema, None, [], False)


def test_a_key_with_a_column_too_few_is_refused() -> None:
    schema = pa.schema([("a", pa.int8()), ("b", pa.int8())])
    for key in (1, (1,), (), (1, 2, 3)):
        with pytest.raises(fs.InvalidError, match=r"values for 2 key columns \(a, b\)"):
            _core._encode_key(schema, key, [], False)
