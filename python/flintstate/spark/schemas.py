"""Spark's types and Arrow's: which pass, and what refuses the others by name."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_type

from flintstate.errors import InvalidError

__all__ = [
    "arrow_schema", "event_time_column", "key_schema", "output_schema", "watermark_metadata",
]  # fmt: skip

_WATERMARK = "spark.watermarkDelayMs"
_ATOMIC = (
    T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType,
    T.DecimalType, T.StringType, T.BinaryType, T.DateType,
    T.TimestampType, T.TimestampNTZType, T.DayTimeIntervalType,
)  # fmt: skip


def arrow_schema(schema: T.StructType, what: str) -> pa.Schema:
    """The Arrow schema in which rows of a Spark schema are handed over; timestamps are in UTC.

    All is nullable: what Spark knows of that may change from one plan to the next. Raises
    InvalidError for a type that can't pass, naming the column.
    """
    return pa.schema([(f.name, _nullable(f.type)) for f in output_schema(schema, what)])


def output_schema(schema: T.StructType, what: str = "output") -> pa.Schema:
    """The Arrow schema of what functions put out: not null where the Spark schema says so.

    Raises InvalidError as `arrow_schema` does.
    """
    names = [field.name for field in schema.fields]
    for name in names:
        if names.count(name) > 1:
            raise InvalidError(f"{what}: there are two columns '{name}': rename one")
    return pa.schema([_arrow_field(f, f"{what}: column '{f.name}'") for f in schema])


def key_schema(schema: pa.Schema, columns: tuple[str, ...]) -> pa.Schema:
    """The key's columns; raises InvalidError where one is missing, twice, or can't be a key."""
    if not columns:
        raise InvalidError("keyed() without a key column: name at least one")
    for name in columns:
        if not isinstance(name, str):
            raise InvalidError(
                f"key column {name!r}: give names, one after another: "
                "keyed(df, 'user', 'day', state=...)"
            )
        if name not in schema.names:
            raise InvalidError(f"key column '{name}': there is none; there are {schema.names}")
        if columns.count(name) > 1:
            raise InvalidError(f"key column '{name}' is named twice")
        if _has_map(schema.field(name).type):
            raise InvalidError(f"key column '{name}': a map can't be a key, as it has no order")
    return pa.schema([schema.field(name) for name in columns])


def event_time_column(df: DataFrame) -> tuple[str, int] | None:
    """The column that `withWatermark` marked, and its delay in milliseconds; None without one."""
    marked = [f for f in df.schema.fields if f.metadata and _WATERMARK in f.metadata]
    if len(marked) > 1:
        names = [f.name for f in marked]
        raise InvalidError(
            f"columns {names} all carry a watermark: select one, or drop the mark of the others "
            "(F.col(name).alias(name, metadata={}))"
        )
    for field in marked:
        if not isinstance(field.dataType, T.TimestampType):
            raise InvalidError(
                f"column '{field.name}' carries the watermark, and is a "
                f"{field.dataType.simpleString()}: event time is a timestamp; of a window select "
                f"one end in its place (F.col('{field.name}.end'))"
            )
    return (marked[0].name, int(marked[0].metadata[_WATERMARK])) if marked else None


def watermark_metadata(delay_ms: int) -> dict[str, int]:
    """What marks a column as `withWatermark` does."""
    return {_WATERMARK: delay_ms}


def _arrow_field(field: T.StructField, where: str) -> pa.Field:
    return pa.field(field.name, _arrow_type(field.dataType, where), field.nullable)


def _arrow_type(data_type: T.DataType, where: str) -> pa.DataType:
    if isinstance(data_type, T.ArrayType):
        element = _arrow_type(data_type.elementType, where)
        return pa.list_(pa.field("item", element, data_type.containsNull))
    if isinstance(data_type, T.MapType):
        key = _arrow_type(data_type.keyType, where)
        value = _arrow_type(data_type.valueType, where)
        return pa.map_(key, pa.field("value", value, data_type.valueContainsNull))
    if isinstance(data_type, T.StructType):
        return pa.struct([_arrow_field(f, f"{where}.{f.name}") for f in data_type])
    if not isinstance(data_type, _ATOMIC) or isinstance(data_type, T.UserDefinedType):
        raise InvalidError(
            f"{where}: type {data_type.simpleString()} can't cross to Python: cast it, or drop it"
        )
    return to_arrow_type(data_type, timezone="UTC")


def _nullable(data_type: pa.DataType) -> pa.DataType:
    """The type, with nulls allowed at any depth."""
    if pa.types.is_list(data_type):
        return pa.list_(_nullable(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(data_type.key_type, _nullable(data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([(f.name, _nullable(f.type)) for f in data_type])
    return data_type


def _has_map(data_type: pa.DataType) -> bool:
    if pa.types.is_map(data_type):
        return True
    children = [data_type.field(i).type for i in range(data_type.num_fields)]
    return any(map(_has_map, children))
