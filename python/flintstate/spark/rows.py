"""Arrow columns to Python rows and back, many at once."""

from __future__ import annotations

import datetime as dt
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from flintstate.errors import InvalidError

__all__ = ["RowMaker", "to_batch", "to_list"]


class RowMaker:
    """Makes named tuples of the rows of batches of one schema.

    Columns whose names are no identifiers are reached by position.
    """

    def __init__(self, names: list[str]) -> None:
        kept = [
            n if n.isidentifier() and not n.startswith("_") else f"_{i}"
            for i, n in enumerate(names)
        ]
        row: Any = namedtuple("Row", kept, rename=True)  # type: ignore[misc]
        self._make = row._make

    def __call__(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        return map(self._make, zip(*map(to_list, batch.columns), strict=True))


def to_list(column: pa.Array) -> list[Any]:
    """The column's values as Python objects; an order faster than `to_pylist` for times."""
    kind = column.type
    if pa.types.is_date32(kind):
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms", "us"):
        moments = column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False).tolist()
        if kind.tz is None:
            return moments  # type: ignore[no-any-return]
        if kind.tz == "UTC":
            zone = dt.UTC
            return [m and m.replace(tzinfo=zone) for m in moments]
    return column.to_pylist()  # type: ignore[no-any-return]


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
