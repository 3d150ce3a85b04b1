"""docs/format/key.md once more, in plain Python: what the compiled encoder is held against.

Values are as Arrow keeps them: dates, times, timestamps and durations are counts of their unit,
decimals are Decimal, float16 is a float. A column is (pyarrow.Field, descending), and nulls are
"first" or "last".
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

SIGNED_BYTES = {
    "int8": 1, "int16": 2, "int32": 4, "int64": 8, "date32[day]": 4, "date64[ms]": 8,
}  # fmt: skip


def width_of(type_: pa.DataType) -> int | None:
    """Bytes of a value; None where that depends on the value."""
    if pat.is_boolean(type_):
        return 1
    if pat.is_struct(type_):
        widths = [stride_of(type_.field(i)) for i in range(type_.num_fields)]
        return None if None in widths else sum(w for w in widths if w is not None)
    if pat.is_fixed_size_list(type_):
        stride = stride_of(type_.value_field)
        return None if stride is None else stride * type_.list_size
    if pat.is_list(type_) or pat.is_large_list(type_) or is_text(type_):
        return None
    return type_.bit_width // 8


def stride_of(field: pa.Field) -> int | None:
    width = width_of(field.type)
    return None if width is None else width + field.nullable


def is_text(type_: pa.DataType) -> bool:
    return any(
        check(type_)
        for check in (
            pat.is_string, pat.is_large_string, pat.is_string_view,
            pat.is_binary, pat.is_large_binary, pat.is_binary_view,
        )
    )  # fmt: skip


def inverted(data: bytes, descending: bool) -> bytes:
    return bytes(255 - byte for byte in data) if descending else data


def signed(value: int, size: int) -> bytes:
    return (value + (1 << (8 * size - 1))).to_bytes(size, "big")


def floating(value: float, size: int) -> bytes:
    pattern = {2: ">e", 4: ">f", 8: ">d"}[size]
    value = 0.0 if value == 0 else math.nan if math.isnan(value) else value
    bits = int.from_bytes(struct.pack(pattern, value), "big")
    if math.isnan(value):
        bits = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8000000000000}[size]
    sign = 1 << (8 * size - 1)
    ordered = bits ^ (2 * sign - 1) if bits & sign else bits ^ sign
    return ordered.to_bytes(size, "big")


def escaped(value: bytes) -> bytes:
    low = {0: b"\x01\x01", 1: b"\x01\x02"}
    return b"".join(low.get(byte, bytes([byte])) for byte in value) + b"\x00"


def unscaled(type_: pa.DataType, value: decimal.Decimal) -> int:
    with decimal.localcontext() as context:
        context.prec = 100
        return int(value.scaleb(type_.scale))


def encode_scalar(type_: pa.DataType, value: Any) -> bytes:
    if pat.is_boolean(type_):
        return b"\x01" if value else b"\x00"
    if pat.is_unsigned_integer(type_):
        return int(value).to_bytes(type_.bit_width // 8, "big")
    if pat.is_floating(type_):
        return floating(float(value), type_.bit_width // 8)
    if pat.is_decimal(type_):
        return signed(unscaled(type_, value), type_.bit_width // 8)
    if pat.is_fixed_size_binary(type_):
        return bytes(value)
    return signed(value, SIGNED_BYTES.get(str(type_), type_.bit_width // 8))


def encode_value(
    type_: pa.DataType, value: Any, descending: bool, nulls: str, open_: bool
) -> bytes:
    if is_text(type_):
        data = value.encode() if isinstance(value, str) else value
        return data if open_ else inverted(escaped(data), descending)
    if pat.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        return b"".join(encode_part(f, value[f.name], descending, nulls) for f in fields)
    if pat.is_fixed_size_list(type_):
        return b"".join(encode_part(type_.value_field, v, descending, nulls) for v in value)
    if pat.is_list(type_) or pat.is_large_list(type_):
        element = type_.value_field.with_nullable(True)
        parts = (encode_part(element, v, descending, nulls) for v in value)
        return b"".join(parts) + inverted(b"\x00", descending)
    return inverted(encode_scalar(type_, value), descending)


def encode_part(
    field: pa.Field, value: Any, descending: bool, nulls: str, open_: bool = False
) -> bytes:
    if value is None:
        assert field.nullable
        return (b"\x01" if nulls == "first" else b"\x03") + bytes(width_of(field.type) or 0)
    marker = b"\x02" if field.nullable else b""
    return marker + encode_value(field.type, value, descending, nulls, open_)


def encode_row(columns: Sequence[tuple[pa.Field, bool]], row: Sequence[Any], nulls: str) -> bytes:
    """The key of one row."""
    key = b""
    for k, ((field, descending), value) in enumerate(zip(columns, row, strict=True)):
        open_ = k == len(columns) - 1 and not descending and is_text(field.type)
        key += encode_part(field, value, descending, nulls, open_)
    return key


def compare_values(type_: pa.DataType, a: Any, b: Any, nulls: str, descending: bool) -> int:
    """Negative, zero or positive, from what values mean: knows nothing of bytes."""
    if a is None or b is None:
        if a is None and b is None:
            return 0
        return (-1 if a is None else 1) * (1 if nulls == "first" else -1)
    if pat.is_struct(type_):
        for i in range(type_.num_fields):
            field = type_.field(i)
            order = compare_values(field.type, a[field.name], b[field.name], nulls, descending)
            if order:
                return order
        return 0
    if pat.is_list(type_) or pat.is_large_list(type_) or pat.is_fixed_size_list(type_):
        for x, y in zip(a, b, strict=False):
            order = compare_values(type_.value_type, x, y, nulls, descending)
            if order:
                return order
        return (len(a) - len(b)) * (-1 if descending else 1)
    return compare_scalars(type_, a, b) * (-1 if descending else 1)


def compare_scalars(type_: pa.DataType, a: Any, b: Any) -> int:
    if pat.is_floating(type_):
        a, b = ((math.isnan(v), 0 if math.isnan(v) else v) for v in (a, b))
    return (a > b) - (a < b)


def compare_rows(
    columns: Sequence[tuple[pa.Field, bool]], a: Sequence[Any], b: Sequence[Any], nulls: str
) -> int:
    for (field, descending), x, y in zip(columns, a, b, strict=True):
        order = compare_values(field.type, x, y, nulls, descending)
        if order:
            return order
    return 0
