"""The examples beside docs/format/key.md, which any implementation must agree with."""

import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as pat
import pytest

import flintstate as fs
import key_reference
from flintstate import _core
from key_columns import Keys

PATH = Path(__file__).parents[2] / "vectors" / "key.json"
VECTORS = json.loads(PATH.read_text()) if PATH.exists() else []

TYPES = {
    str(type_): type_
    for type_ in (
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
        pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
        pa.decimal128(20, 3), pa.decimal256(60, 10), pa.string(), pa.binary(), pa.binary(3),
        pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.timestamp("ms"),
        pa.timestamp("us", tz="UTC"), pa.duration("ns"),
        pa.struct([("x", pa.int8()), ("y", pa.string())]),
        pa.struct([pa.field("x", pa.int8(), nullable=False), ("z", pa.int16())]),
        pa.list_(pa.int16()), pa.list_(pa.string()), pa.list_(pa.int16(), 2),
    )
}  # fmt: skip


def value_of(type_: pa.DataType, given: Any) -> Any:
    """JSON's idea of a value as Python's: counts for times, hex for binaries."""
    if given is None:
        return None
    if pat.is_binary(type_) or pat.is_fixed_size_binary(type_):
        return bytes.fromhex(given)
    if pat.is_decimal(type_):
        return decimal.Decimal(given)
    return float(given) if pat.is_floating(type_) else given


def keys_of(vector: dict[str, Any]) -> Keys:
    columns = [
        (
            pa.field(c["name"], TYPES[c["type"]], nullable=not c.get("not_null", False)),
            c.get("descending", False),
        )
        for c in vector["columns"]
    ]
    rows = [
        tuple(value_of(f.type, v) for (f, _), v in zip(columns, entry["row"], strict=True))
        for entry in vector["rows"]
    ]
    return Keys(columns, rows, vector.get("nulls", "first"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["what"])
def test_rows_have_the_keys_of_the_vectors(vector: dict[str, Any]) -> None:
    some = keys_of(vector)
    expected = [bytes.fromhex(entry["key"]) for entry in vector["rows"]]
    assert expected == sorted(expected)
    encoded = fs.encode_keys(some.table(), **some.options)
    assert encoded.to_pylist() == expected
    for row, key in zip(some.rows, expected, strict=True):
        assert key_reference.encode_row(some.columns, row, some.nulls) == key
        assert _core._encode_key(some.schema, row, some.descending, some.nulls == "last") == key
    decoded = fs.decode_keys(encoded, some.schema, **some.options)
    assert fs.encode_keys(decoded, **some.options).equals(encoded)
