"""Ranges of a table on their way out."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from flintstate import _core

__all__ = ["Scan"]


class Scan:
    """The rows of a range, in key order, as Arrow batches: `Table.scan` makes it.

    It sees the table as it was when it was made, whatever is written meanwhile, and is read once:
    by iterating, by `to_table()`, or by anything that takes Arrow's C stream (`pyarrow`, `polars`,
    `duckdb`). After `Store.close()` it raises `ClosedError`.

    >>> for batch in clicks.scan(prefix=(1,)):
    ...     print(batch.num_rows)
    """

    __slots__ = ("_native",)

    def __init__(self, native: _core.Scan) -> None:
        self._native = native

    @property
    def schema(self) -> pa.Schema:
        """The columns that come out."""
        return self._native.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._native.next()) is not None:
            yield pa.record_batch(batch)

    def to_table(self) -> pa.Table:
        """All that is left of the range, in memory."""
        return pa.Table.from_batches(list(self), self.schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.stream().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Scan({', '.join(self.schema.names)})"
