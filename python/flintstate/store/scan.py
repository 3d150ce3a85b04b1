"""Ranges of a table on their way out."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from flintstate import _core

__all__ = ["Scan"]


class Scan:
    """The rows of a range, in key order, as Arrow batches: `Table.scan` makes it.

    It sees the table as it was when it was made, whatever is written meanwhile, and can be read
    any number of times, each from the start: by iterating, by `to_table()`, or by anything that
    takes Arrow's C stream (`pyarrow`, `polars`, `duckdb`). As long as it lives, what was
    overwritten since stays on the disk. After `Store.close()` it raises `ClosedError`.

    >>> for batch in clicks.scan(prefix=(1,)):
    ...     print(batch.num_rows)
    """

    __slots__ = ("_native", "_table")

    def __init__(self, native: _core.Scan, table: object) -> None:
        self._native = native
        self._table = table  # whose store is open as long as this is held

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out."""
        return self._native.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        reader = self._native.open()
        while (batch := reader.next()) is not None:
            yield pa.record_batch(batch)

    def to_table(self) -> pa.Table:
        """All of the range, in memory."""
        batches = list(self)
        return pa.Table.from_batches(batches, None if batches else self.schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Scan({', '.join(self.schema.names)})"
