"""Objects that a value of a type is refused as, and objects that stand for one."""

import datetime as dt
import decimal
from collections import namedtuple
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

ZONED = pa.timestamp("us", tz="UTC")
POINT = pa.struct([pa.field("x", pa.int32(), nullable=False), ("y", pa.int32())])
NOON = dt.datetime(2026, 1, 1, 12)


def name_of(part: Any) -> str:
    """A part of a test's name: the same in each process, as a memoryview's address is not."""
    return "memoryview" if isinstance(part, memoryview) else str(part)[:40]


# type, object, part of the message
REFUSED: list[tuple[pa.DataType, Any, str]] = [
    (pa.int32(), "x", "column 'v': expected int32, got str 'x'"),
    (pa.int32(), True, "expected int32, got bool True"),
    (pa.int32(), 1.0, "expected int32, got float 1.0"),
    (pa.int32(), 2**31, "got int 2147483648, which is out of its range"),
    (pa.int8(), -129, "which is out of its range"),
    (pa.uint8(), -1, "which is out of its range"),
    (pa.uint64(), 2**64, "which is out of its range"),
    (pa.int64(), 2**63, "which is out of its range"),
    (pa.bool_(), 1, "expected bool, got int 1"),
    (pa.null(), 0, "expected null, got int 0"),
    (pa.float64(), 2**53 + 1, "which is out of its range"),
    (pa.float64(), 10**400, "which is out of its range"),
    (pa.float64(), "1.0", "expected double, got str"),
    (pa.float64(), decimal.Decimal(1), "expected double, got decimal.Decimal"),
    (pa.float32(), 1e300, "which is out of its range"),
    (pa.float16(), 1e6, "which is out of its range"),
    (pa.string(), b"x", "expected string, got bytes b'x'"),
    (pa.string(), "\ud800", "expected string that can be written as UTF-8"),
    (pa.binary(), "x", "expected binary, got str 'x'"),
    (pa.binary(3), b"xy", "expected fixed_size_binary[3], got bytes b'xy'"),
    (pa.decimal128(5, 2), decimal.Decimal("1.005"), "whole at its scale"),
    (pa.decimal128(5, 2), decimal.Decimal("1000"), "within its precision"),
    (pa.decimal128(5, 2), decimal.Decimal("NaN"), "whole at its scale"),
    (pa.decimal128(5, 2), 1.5, "expected decimal128(5, 2), got float"),
    (pa.date32(), NOON, "expected date32[day], got datetime.datetime"),
    (pa.timestamp("s"), NOON.replace(microsecond=1), "whole in its unit"),
    (pa.timestamp("us"), NOON.date(), "expected timestamp[us], got datetime.date"),
    (pa.timestamp("us"), NOON.replace(tzinfo=dt.UTC), "without a zone"),
    (ZONED, NOON, "timestamp[us, tz=UTC], with a zone"),
    (pa.timestamp("us"), pd.Timestamp("2026-01-01 00:00:00.000000001"), "whole in its unit"),
    (pa.timestamp("us"), pd.NaT, "expected timestamp[us], got NaTType NaT"),
    (pa.timestamp("ns"), dt.datetime(3000, 1, 1), "within its range"),
    (pa.timestamp("ns"), np.datetime64("NaT", "ns"), "expected timestamp[ns]"),
    (pa.timestamp("ns"), 3, "expected timestamp[ns], got int 3"),
    (pa.date32(), -1, "expected date32[day], got int -1"),
    (pa.time64("us"), 90, "expected time64[us], got int 90"),
    (pa.duration("s"), 90, "expected duration[s], got int 90"),
    (pa.time32("s"), dt.time(1, 2, 3, 4), "whole in its unit"),
    (pa.time64("us"), dt.time(1, tzinfo=dt.UTC), "without a zone"),
    (pa.duration("ns"), dt.timedelta.max, "within its range"),
    (pa.duration("us"), 1.5, "expected duration[us], got float"),
    (pa.list_(pa.int32()), "ab", "expected list<item: int32>, got str"),
    (pa.list_(pa.int32()), {1}, "expected list<item: int32>, got set"),
    (pa.list_(pa.int32()), [1, "x"], "column 'v[]': expected int32, got str 'x'"),
    (pa.list_(pa.int32(), 2), [1], "not 1 elements"),
    (pa.list_(pa.field("item", pa.int32(), nullable=False)), [None], "int32, never null"),
    (pa.map_(pa.string(), pa.int32()), {None: 1}, "column 'v[].key': expected string, never null"),
    (pa.map_(pa.string(), pa.int32()), [("a", 1, 2)], "which has 2 fields"),
    (POINT, (1, 2, 3), "which has 2 fields, got tuple (1, 2, 3)"),
    (POINT, {"x": 1, "z": 2}, "column 'v': there is no field 'z'"),
    (POINT, {"y": 1}, "column 'v.x': expected int32, never null, got None"),
    (POINT, namedtuple("P", "y x")(1, 2), "with its fields in this order"),
    (POINT, 5, "expected struct<x: int32 not null, y: int32>, got int 5"),
    (pa.struct([("a", pa.list_(POINT))]), ([(1, "q")],), "column 'v.a[].y': expected int32"),
]

# type, object, what comes back
TAKEN: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int8(), np.int64(-5), -5),
    (pa.uint64(), 2**64 - 1, 2**64 - 1),
    (pa.float64(), 3, 3.0),
    (pa.float64(), np.float32(0.5), 0.5),
    (pa.float32(), 0.1, float(np.float32(0.1))),
    (pa.float16(), np.float16(1.5), 1.5),
    (pa.bool_(), np.bool_(True), True),
    (pa.binary(), bytearray(b"ab"), b"ab"),
    (pa.binary(), memoryview(b"ab"), b"ab"),
    (pa.decimal128(5, 2), 7, decimal.Decimal("7.00")),
    (pa.decimal128(5, -2), 700, decimal.Decimal("7E2")),
    (pa.timestamp("ns"), pd.Timestamp(2**60 + 1), np.datetime64(2**60 + 1, "ns")),
    (pa.timestamp("s"), np.datetime64("12026-01-01", "s"), np.datetime64("12026-01-01", "s")),
    (pa.timestamp("us"), np.datetime64("2026-01-01T12", "s"), NOON),
    (pa.date32(), np.datetime64("12026-01-01", "D"), np.datetime64("12026-01-01", "D")),
    (pa.duration("ns"), np.timedelta64(1001, "ns"), np.timedelta64(1001, "ns")),
    (pa.time64("ns"), np.timedelta64(1001, "ns"), np.timedelta64(1001, "ns")),
    (pa.list_(pa.int64()), (1, None), [1, None]),
    (pa.list_(pa.int64()), np.array([1, 2]), [1, 2]),
    (pa.list_(pa.int64()), range(3), [0, 1, 2]),
    (pa.map_(pa.string(), pa.int32()), {"a": 1}, [("a", 1)]),
    (POINT, {"x": 1}, (1, None)),
    (POINT, [1, 2], (1, 2)),
    (POINT, namedtuple("P", "x y")(1, 2), (1, 2)),
    (pa.dictionary(pa.int8(), pa.string()), "a", "a"),
]
