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
    if column.type != field.type and not _alike(column.type, field.type):
        raise InvalidError(f"{where}: these are no values of that type; cast the column")
    try:
        return _converted(column, field)
    except (pa.ArrowException, _DoesNotFitError) as error:
        raise InvalidError(f"{where}{'' if field.nullable else ', never null'}: {error}") from error


class _DoesNotFitError(Exception):
    """What a value at some depth of a column is, and may not be."""


def _converted(array: pa.Array, field: pa.Field, nulls_above: int = 0) -> pa.Array:
    """The same values in the field's type. What no value shows is not looked at: what lies below
    null structs, of which there are `nulls_above`, outside of a slice, in a dictionary."""
    wanted = field.type
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.null_count > nulls_above and not field.nullable:
        raise _DoesNotFitError(f"there is a null in '{field.name}', which is never null")
    if array.type == wanted and not _has_never_null(wanted):
        return array
    if not pt.is_nested(wanted) or pt.is_null(array.type):
        return _converted_flat(array, wanted)
    return (_converted_struct if pt.is_struct(wanted) else _converted_list)(array, wanted)


def _converted_struct(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    children = zip(array.flatten(), wanted, strict=True)  # null where their struct is
    parts = [_converted(child, of, array.null_count) for child, of in children]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=mask)


def _converted_list(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Also of a map, which is a list of entries."""
    if pt.is_map(wanted):
        array = _list_of_entries(array)
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    values = _converted(array.flatten(), wanted.field(0))
    mask = array.is_null() if array.null_count else None
    if pt.is_map(wanted):
        keys, items = values.field(0), values.field(1)
        return pa.MapArray.from_arrays(offsets, keys, items, type=wanted, mask=mask)
    return pa.ListArray.from_arrays(offsets, values, type=wanted, mask=mask)


def _list_of_entries(array: pa.MapArray) -> pa.ListArray:
    fields = [array.type.key_field, array.type.item_field]
    entries = pa.StructArray.from_arrays([array.keys, array.items], fields=fields)
    buffers = array.buffers()[:2]
    kind = pa.list_(entries.type)
    return pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset, children=[entries])


def _converted_flat(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pt.is_decimal(wanted) and pt.is_integer(array.type):
        array = array.cast(pa.decimal128(20, 0))  # holds any; Arrow casts none that could not fit
    cast = array.cast(wanted)
    if pt.is_floating(wanted) and _infinities(cast) != _infinities(array):
        raise _DoesNotFitError("there are values out of its range")
    return cast


def _infinities(array: pa.Array) -> int:
    """How many there are: a float that is too large for its new type becomes one."""
    return int(pc.sum(pc.is_inf(array)).as_py() or 0) if pt.is_floating(array.type) else 0


def _has_never_null(data_type: pa.DataType) -> bool:
    """Whether it has a field that is never null, at any depth, but for the keys of maps."""
    if pt.is_map(data_type):
        return _is_never_null(data_type.item_field) or _has_never_null(data_type.key_type)
    fields = [data_type.field(i) for i in range(data_type.num_fields)]
    return any(map(_is_never_null, fields))


def _is_never_null(field: pa.Field) -> bool:
    return not field.nullable or _has_never_null(field.type)


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
    is_list = (
        pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view,
    )  # fmt: skip
    return "list" if any(holds(data_type) for holds in is_list) else None
