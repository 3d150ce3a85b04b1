"""What flintstate takes: any object that speaks Arrow's PyCapsule protocol."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["ArrowArrayLike", "ArrowSchemaLike", "ArrowStreamLike", "TableLike"]


class ArrowSchemaLike(Protocol):
    """A schema: a `pyarrow.Schema` or any other object with `__arrow_c_schema__`."""

    def __arrow_c_schema__(self) -> object: ...


@runtime_checkable
class ArrowArrayLike(Protocol):
    """An array or one batch: pyarrow's, nanoarrow's and the like."""

    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...


@runtime_checkable
class ArrowStreamLike(Protocol):
    """Many batches or chunks: tables and readers of pyarrow, polars, pandas, duckdb."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


# Rows: a table, a batch, a data frame, a reader.
TableLike = ArrowStreamLike | ArrowArrayLike
