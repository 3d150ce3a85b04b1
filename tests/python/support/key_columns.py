"""Random key columns for hypothesis: types at any depth, rows that collide, Arrow in any layout."""

from __future__ import annotations

import dataclasses
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from hypothesis import strategies as st

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
            pa.uint64()]  # fmt: skip
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
TIMES = [pa.date32(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
         pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Berlin"),
         pa.timestamp("ns"), pa.duration("s"), pa.duration("ns")]  # fmt: skip
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
         pa.binary_view()]  # fmt: skip
OTHERS = [pa.bool_(), pa.decimal128(20, 3), pa.decimal256(60, 10), pa.binary(3), pa.binary(0)]
SCALARS = INTEGERS + FLOATS + TIMES + TEXTS + OTHERS

PLAIN = [t for t in SCALARS if t not in (pa.string_view(), pa.binary_view())]

# Few different bytes, and those that need escapes among them: so that values share prefixes.
BYTES = st.lists(st.sampled_from([0, 1, 2, 97, 254, 255]), max_size=20).map(bytes)
TEXT = st.text(alphabet="\0\1\2a\x7f\xe9\U0001f600", max_size=12)


def types(scalars: list[pa.DataType] = SCALARS) -> st.SearchStrategy[pa.DataType]:
    def nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
        field = st.builds(lambda t, n: pa.field("item", t, nullable=n), inner, st.booleans())
        fields = st.lists(field, max_size=3).map(
            lambda fs: pa.struct([f.with_name(f"f{i}") for i, f in enumerate(fs)])
        )
        lists = field.map(pa.list_) | field.map(pa.large_list)
        fixed = st.builds(pa.list_, field, st.integers(0, 3))
        return fields | lists | fixed

    return st.recursive(st.sampled_from(scalars), nested, max_leaves=4)


def integers(type_: pa.DataType) -> st.SearchStrategy[int]:
    if pat.is_time(type_):
        per_second = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[type_.unit]
        return st.integers(0, 86_400 * per_second - 1)
    bits = type_.bit_width
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if pat.is_unsigned_integer(type_):
        low, high = 0, 2**bits - 1
    if pat.is_timestamp(type_) or pat.is_duration(type_):
        low += 1  # the least count is numpy's NaT
    return st.sampled_from([low, high, 0, 1]) | st.integers(low, high)


def values(type_: pa.DataType) -> st.SearchStrategy[Any]:
    """Values that are not null, as tests/python/support/key_reference.py wants them."""
    if pat.is_boolean(type_):
        return st.booleans()
    if pat.is_floating(type_):
        special = st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.0])
        return special | st.floats(width=type_.bit_width)
    if pat.is_decimal(type_):
        most = 10**type_.precision - 1
        scale = decimal.Context(prec=100)
        return st.integers(-most, most).map(
            lambda n: decimal.Decimal(n).scaleb(-type_.scale, context=scale)
        )
    if pat.is_string(type_) or pat.is_large_string(type_) or pat.is_string_view(type_):
        return TEXT
    if pat.is_fixed_size_binary(type_):
        size = type_.byte_width
        return st.lists(st.sampled_from([0, 1, 255]), min_size=size, max_size=size).map(bytes)
    if type_ in TEXTS:
        return BYTES
    if pat.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        return st.fixed_dictionaries({f.name: cells(f) for f in fields})
    if pat.is_fixed_size_list(type_):
        size = type_.list_size
        return st.lists(cells(type_.value_field), min_size=size, max_size=size)
    if pat.is_list(type_) or pat.is_large_list(type_):
        return st.lists(cells(type_.value_field), max_size=3)
    return integers(type_)


def cells(field: pa.Field) -> st.SearchStrategy[Any]:
    return st.none() | values(field.type) if field.nullable else values(field.type)


@dataclasses.dataclass
class Keys:
    """Key columns, and rows of them."""

    columns: list[tuple[pa.Field, bool]]  # each with whether it is descending
    rows: list[tuple[Any, ...]]
    nulls: str

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([field for field, _ in self.columns])

    @property
    def descending(self) -> list[str]:
        return [field.name for field, descending in self.columns if descending]

    @property
    def options(self) -> dict[str, Any]:
        return {"descending": self.descending, "nulls": self.nulls}

    def table(self) -> pa.Table:
        arrays = [
            to_arrow([row[k] for row in self.rows], field.type)
            for k, (field, _) in enumerate(self.columns)
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def to_arrow(column: list[Any], type_: pa.DataType) -> pa.Array:
    if pat.is_float16(type_):
        column = [None if v is None else np.float16(v) for v in column]
    if pat.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        children = [
            to_arrow([blank(f) if row is None else row[f.name] for row in column], f.type)
            for f in fields
        ]
        mask = pa.array([row is None for row in column], pa.bool_())
        if fields:
            return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pat.is_fixed_size_list(type_):
        size = type_.list_size
        nothing = [blank(type_.value_field)] * size
        flat = [v for row in column for v in (nothing if row is None else row)]
        mask = pa.array([row is None for row in column], pa.bool_())
        if size:
            items = to_arrow(flat, type_.value_type)
            return pa.FixedSizeListArray.from_arrays(items, type=type_, mask=mask)
    if pat.is_list(type_) or pat.is_large_list(type_):
        return to_list(column, type_)
    return pa.array(column, type_)


def to_list(column: list[Any], type_: pa.DataType) -> pa.Array:
    offsets: list[int | None] = []
    end = 0
    for row in column:
        offsets.append(None if row is None else end)
        end += len(row or [])
    offset_type = pa.int64() if pat.is_large_list(type_) else pa.int32()
    flat = to_arrow([v for row in column for v in row or []], type_.value_type)
    kind = pa.LargeListArray if pat.is_large_list(type_) else pa.ListArray
    return kind.from_arrays(pa.array([*offsets, end], offset_type), flat, type=type_)


def blank(field: pa.Field) -> Any:
    """Some value of a field, for rows that are null further up."""
    if field.nullable:
        return None
    type_ = field.type
    if pat.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        return {f.name: blank(f) for f in fields}
    if pat.is_fixed_size_list(type_):
        return [blank(type_.value_field)] * type_.list_size
    if pat.is_list(type_) or pat.is_large_list(type_):
        return []
    if pat.is_fixed_size_binary(type_) and not pat.is_decimal(type_):
        return bytes(type_.byte_width)
    if type_ in TEXTS:
        return "" if "string" in str(type_) else b""
    if pat.is_boolean(type_):
        return False
    return decimal.Decimal(0) if pat.is_decimal(type_) else 0


def comes_back(value: Any) -> bool:
    """Whether a key gives the value back as it is: not -0.0; and NaN equals nothing."""
    if isinstance(value, dict):
        return all(comes_back(v) for v in value.values())
    if isinstance(value, list):
        return all(comes_back(v) for v in value)
    return not isinstance(value, float) or (value == value and str(value) != "-0.0")


@st.composite
def keys(draw: st.DrawFn, max_columns: int = 3, max_rows: int = 6, exact: bool = False) -> Keys:
    """`exact`: only what comes back as it was, not just as an equal key."""
    columns = []
    for k in range(draw(st.integers(1, max_columns))):
        type_ = draw(types(PLAIN if exact else SCALARS))
        field = pa.field(f"c{k}", type_, nullable=draw(st.booleans()))
        columns.append((field, draw(st.booleans())))
    few = [draw(st.lists(cells(field), min_size=1, max_size=3)) for field, _ in columns]
    row = st.tuples(*(st.sampled_from(column) for column in few))
    if exact:
        row = row.filter(lambda cells: all(comes_back(cell) for cell in cells))
    rows = draw(st.lists(row, max_size=max_rows))
    return Keys(columns, rows, draw(st.sampled_from(["first", "last"])))
