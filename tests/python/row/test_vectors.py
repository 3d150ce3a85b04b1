"""The examples beside docs/format/row.md, which any implementation must agree with."""

import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import _core

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "row.json").read_text())

PAIR = pa.struct([("a", pa.int16()), ("b", pa.string())])
TYPES = {
    str(type_): type_
    for type_ in (
        pa.null(), pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(),
        pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal256(40, 3), pa.string(),
        pa.large_string(), pa.binary(), pa.binary(3), pa.date32(), pa.time64("us"),
        pa.timestamp("us"), pa.timestamp("ms", tz="UTC"), pa.duration("s"), PAIR,
        pa.struct([("a", pa.int64()), ("b", pa.bool_())]), pa.list_(pa.int16()),
        pa.list_(pa.string()), pa.list_(pa.null()), pa.list_(pa.int16(), 2), pa.list_(PAIR),
        pa.map_(pa.string(), pa.int32()), pa.list_(pa.field("item", pa.int16(), nullable=False)),
    )
}  # fmt: skip


def value_of(type_: pa.DataType, given: Any) -> object:
    """JSON's idea of a value as Python's."""
    if given is None:
        return None
    if pa.types.is_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return bytes.fromhex(given)
    if pa.types.is_decimal(type_):
        return decimal.Decimal(given)
    if pa.types.is_date(type_):
        return dt.date.fromisoformat(given)
    if pa.types.is_time(type_):
        return dt.time.fromisoformat(given)
    if pa.types.is_timestamp(type_):
        return dt.datetime.fromisoformat(given)
    if pa.types.is_duration(type_):
        return dt.timedelta(seconds=given)
    if pa.types.is_map(type_):
        return [tuple(pair) for pair in given]
    return given


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["what"])
def test_a_vector_is_written_and_read_as_the_document_says(vector: dict[str, Any]) -> None:
    fields = [
        pa.field(c["name"], TYPES[c["type"]], nullable=c.get("nullable", True))
        for c in vector["columns"]
    ]
    rows = _core.Rows(pa.schema(fields))
    row = {f.name: value_of(f.type, vector["row"][f.name]) for f in fields}
    assert rows.pack(row).hex() == vector["bytes"].replace(" ", "")
    assert rows.unpack(rows.pack(row)) == row
