"""Schemas as Spark's users write them, such as "user long, at timestamp", read without Spark."""

from __future__ import annotations

import re

import pyarrow as pa

from flintstate.errors import InvalidError

__all__ = ["to_schema"]

_TYPES = {
    "boolean": pa.bool_(),
    **dict.fromkeys(("byte", "tinyint"), pa.int8()),
    **dict.fromkeys(("short", "smallint"), pa.int16()),
    **dict.fromkeys(("int", "integer"), pa.int32()),
    **dict.fromkeys(("long", "bigint"), pa.int64()),
    **dict.fromkeys(("float", "real"), pa.float32()),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.timestamp("us"),
}
_COMMA = re.compile(r",(?![^(]*\))")
_COLUMN = re.compile(r"(\w+)(?:\s*:\s*|\s+)(\w+)(?:\s*\(\s*(\d+)\s*,\s*(\d+)\s*\))?")


def to_schema(given: pa.Schema | str, option: str) -> pa.Schema:
    """The Arrow schema in which Spark hands over rows of these columns; a pyarrow.Schema as it is.

    Of Spark's DDL the names of plain types are known. Raises InvalidError for the rest of it.

    >>> to_schema("user long, at timestamp", "schema").names
    ['user', 'at']
    """
    schema = given if isinstance(given, pa.Schema) else _parse(given, option)
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise InvalidError(f"{option}: there are two columns '{name}': rename one")
    return schema


def _parse(given: str, option: str) -> pa.Schema:
    if not isinstance(given, str):
        raise InvalidError(f"{option}={given!r}: give a pyarrow.Schema, or text like 'user long'")
    return pa.schema(
        [_field(column.strip(), f"{option}={given!r}") for column in _COMMA.split(given)]
    )


def _field(column: str, where: str) -> pa.Field:
    found = _COLUMN.fullmatch(column)
    arrow = None if found is None else _type(found)
    if found is None or arrow is None:
        raise InvalidError(
            f"{where}: of Spark's DDL the names of plain types are known here, which {column!r} "
            f"goes beyond ({', '.join(_TYPES)}, decimal(p, s)): give a pyarrow.Schema"
        )
    return pa.field(found[1], arrow)


def _type(column: re.Match[str]) -> pa.DataType | None:
    name, precision, scale = column[2].lower(), column[3], column[4]
    if precision is None:
        return _TYPES.get(name)
    if name not in ("decimal", "dec", "numeric") or not 0 <= int(scale) <= int(precision) <= 38:
        return None
    return pa.decimal128(int(precision), int(scale))
