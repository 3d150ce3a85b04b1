"""The rows that functions are given, and the batches that they put out."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from flintstate.errors import InvalidError

__all__ = ["fitted", "row_type"]


def row_type(names: list[str]) -> type[tuple[Any, ...]]:
    """The class of named tuples that rows with these columns are.

    Columns whose names are no identifiers are reached by position.
    """
    kept = [
        n if n.isidentifier() and not n.startswith("_") else f"_{i}" for i, n in enumerate(names)
    ]
    row: type[tuple[Any, ...]] = namedtuple("Row", kept, rename=True)  # type: ignore[misc]
    return row


def fitted(batch: object, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns of the schema, in its order.

    What goes for single values goes here: other widths and layouts of the same kind of values are
    taken where each value fits. Raises InvalidError with the column for all else.
    """
    if not isinstance(batch, pa.RecordBatch):
        raise InvalidError(f"process_batches: {type(batch).__name__} put out, not a RecordBatch")
    if sorted(batch.schema.names) != sorted(schema.names):
        raise InvalidError(
            f"output batch: its columns are {batch.schema.names}, the schema's {schema.names}"
        )
    arrays = [_fitted_column(batch.column(field.name), field) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fitted_column(column: pa.Array, field: pa.Field) -> pa.Array:
    where = f"output batch: column '{field.name}' is {column.type}, the schema has {field.type}"
    column = _plain(column)
    if _has_forbidden_null(column, field):
        raise InvalidError(f"{where}, never null: there is a null")
    if column.type == field.type:
        return column
    if not _alike(column.type, field.type):
        raise InvalidError(f"{where}: these are no values of that type; cast the column")
    try:
        cast = column.cast(field.type)
    except pa.ArrowException as error:
        raise InvalidError(f"{where}: {error}") from error
    if _infinities(cast) != _infinities(column):
        raise InvalidError(f"{where}: there are values out of its range")
    return cast


def _plain(array: pa.Array) -> pa.Array:
    """The array, where it is a dictionary's, as what it stands for."""
    return array.dictionary_decode() if pt.is_dictionary(array.type) else array


def _has_forbidden_null(array: pa.Array, field: pa.Field) -> bool:
    """Whether there is a null, at any depth, where the field is declared to have none."""
    array = _plain(array)
    if array.null_count and not field.nullable:
        return True
    if pt.is_struct(field.type) and pt.is_struct(array.type):
        parts = zip(array.drop_null().flatten(), field.type, strict=False)
    elif pt.is_map(field.type) and pt.is_map(array.type):
        parts = zip(_keys_and_items(array), field.type.field(0).type, strict=False)
    elif _shape(field.type) == "list" and _shape(array.type) == "list":
        parts = zip((array.flatten(),), (field.type.field(0),), strict=False)
    else:
        return False
    return any(_has_forbidden_null(part, of) for part, of in parts)


def _keys_and_items(maps: pa.MapArray) -> list[pa.Array]:
    """Of these maps alone, whatever else the arrays hold that they are cut out of."""
    entry = pa.struct([maps.type.key_field, maps.type.item_field])
    parts: list[pa.Array] = maps.cast(pa.list_(entry)).flatten().flatten()
    return parts


def _alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of the one type mean the same as values of the other."""
    if pt.is_dictionary(given):
        return _alike(given.value_type, wanted)
    if pt.is_nested(wanted):
        return _alike_nested(given, wanted)
    if pt.is_timestamp(wanted):
        return pt.is_timestamp(given) and (given.tz is None) == (wanted.tz is None)
    if pt.is_floating(wanted) or pt.is_decimal(wanted):
        return pt.is_integer(given) or _family(given) == _family(wanted) or pt.is_null(given)
    return given == wanted or pt.is_null(given) or _family(given) == _family(wanted)


def _family(data_type: pa.DataType) -> object:
    families = (
        pt.is_integer, pt.is_floating, pt.is_decimal, pt.is_date, pt.is_time, pt.is_duration,
        lambda t: pt.is_string(t) or pt.is_large_string(t) or pt.is_string_view(t),
        lambda t: pt.is_binary(t) or pt.is_large_binary(t) or pt.is_binary_view(t)
        or pt.is_fixed_size_binary(t),
    )  # fmt: skip
    return next((i for i, holds in enumerate(families) if holds(data_type)), data_type)


def _alike_nested(given: pa.DataType, wanted: pa.DataType) -> bool:
    if pt.is_null(given):
        return True
    if _shape(given) != _shape(wanted):
        return False
    children = range(wanted.num_fields)
    return all(_alike(given.field(i).type, wanted.field(i).type) for i in children)


def _shape(data_type: pa.DataType) -> object:
    """What two nested types have in common whose values may be the same."""
    if pt.is_struct(data_type):
        return [field.name for field in data_type]
    if pt.is_map(data_type):
        return "map"
    is_list = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list)  # Arrow's cast of views fails
    return "list" if any(holds(data_type) for holds in is_list) else None


def _infinities(array: pa.Array) -> int:
    """How many there are at any depth: a float that is too large for its new type becomes one."""
    array = _plain(array)
    if pt.is_floating(array.type):
        return int(pc.sum(pc.is_inf(array)).as_py() or 0)
    if pt.is_struct(array.type):
        return sum(map(_infinities, array.flatten()))
    if pt.is_map(array.type):
        return sum(map(_infinities, _keys_and_items(array)))
    if _shape(array.type) == "list":
        return _infinities(array.flatten())
    return 0
