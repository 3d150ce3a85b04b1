"""The rows that functions are given, and those that they put out."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pyarrow as pa

from flintstate.errors import InvalidError

__all__ = ["row_type", "to_batch"]


def row_type(names: list[str]) -> type[tuple[Any, ...]]:
    """The class of named tuples that rows with these columns are.

    Columns whose names are no identifiers are reached by position.
    """
    kept = [
        n if n.isidentifier() and not n.startswith("_") else f"_{i}" for i, n in enumerate(names)
    ]
    row: type[tuple[Any, ...]] = namedtuple("Row", kept, rename=True)  # type: ignore[misc]
    return row


def to_batch(rows: list[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as columns of the schema.

    Raises InvalidError that shows the first row that does not fit.
    """
    try:
        columns = list(zip(*rows, strict=True))
        if len(columns) == len(schema):
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            return pa.RecordBatch.from_arrays(arrays, schema=schema)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    raise _first_misfit(rows, schema)


def _first_misfit(rows: list[tuple[object, ...]], schema: pa.Schema) -> InvalidError:
    wanted = ", ".join(f"{field.name} {field.type}" for field in schema)
    for row in rows:
        if not isinstance(row, tuple | list):
            return InvalidError(f"output row {row!r}: a tuple is expected, of ({wanted})")
        if len(row) != len(schema):
            return InvalidError(
                f"output row {row!r}: {len(row)} values, the schema has {len(schema)} ({wanted})"
            )
        for value, field in zip(row, schema, strict=True):
            try:
                pa.array([value], field.type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                return InvalidError(
                    f"output row {row!r}: column '{field.name}' is {field.type}, "
                    f"{value!r} does not fit: {error}"
                )
    return InvalidError(f"output rows do not fit the schema ({wanted}): {rows[:1]}")
