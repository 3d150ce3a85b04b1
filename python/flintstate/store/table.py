"""Tables: typed, ordered maps from key columns to value columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar, overload

import pyarrow as pa

from flintstate import _core
from flintstate.store.scan import Scan
from flintstate.types import TableLike

if TYPE_CHECKING:
    from flintstate.store.store import Snapshot

__all__ = ["IngestProgress", "MergeFunction", "Row", "Table"]

Row: TypeAlias = dict[str, object]
"""The value columns of one row, by name."""

MergeFunction: TypeAlias = Literal[
    "append", "sum", "min", "max", "count", "first", "last", "bit_and", "bit_or", "bit_xor"
]

Default = TypeVar("Default")


class IngestProgress(NamedTuple):
    """How far an ingestion has come."""

    rows_sorted: int
    rows_written: int


class Table(_core.Table):
    """A typed, ordered map: `Store.table` makes it.

    As a mapping it takes single rows. A key is a tuple of the key columns' values, or the value
    itself where there is one column; a row is a dict of the value columns.

    >>> clicks[1, when] = {"url": "/", "ms": 3}
    >>> clicks[1, when]["ms"]
    3
    >>> (1, when) in clicks
    True
    >>> del clicks[1, when]

    Batches take the same to a million rows and more a second: `put`, `get_many`, `delete`, `merge`,
    `scan`, `ingest`. Anything that speaks Arrow's C interface goes in; columns are found by name.

    Threads may share a table. All operations raise `ClosedError` once the store is closed, and
    `InvalidError` where columns or values are not the table's, saying which.
    """

    __slots__ = ()

    def put(self, rows: TableLike) -> None:
        """Writes rows: key columns and value columns. Of rows with equal keys the last one wins.

        Large inputs are written some thousand rows at a time, each such part as one; `Store.batch`
        makes one write of any number of them.

        >>> clicks.put(pa.table({"user": [1], "at": [when], "url": ["/"], "ms": [3]}))
        """
        self._put(rows)

    def merge(self, rows: TableLike) -> None:
        """Combines rows with what is there, by each column's merge function, without reading it.

        A column without a function is replaced, one with a function may be left out; a null takes
        no part. Where there is no row yet, the given one becomes it.

        >>> store.table("hits", key=key, value=value, merge={"n": "sum"}).merge(rows)
        """
        self._merge(rows)

    def delete(self, keys: TableLike) -> None:
        """Deletes rows by their key columns; other columns are left aside."""
        self._delete(keys)

    def delete_range(
        self,
        *,
        prefix: tuple[object, ...] | None = None,
        lower: tuple[object, ...] | None = None,
        upper: tuple[object, ...] | None = None,
        inclusive_lower: bool = True,
        inclusive_upper: bool = False,
    ) -> None:
        """Deletes all rows of a range (as `scan` has it) at the cost of one write.

        >>> clicks.delete_range(prefix=(1,), upper=(when,))
        """
        self._delete_range(prefix, lower, upper, inclusive_lower, inclusive_upper)

    @overload
    def get(self, key: object, *, snapshot: Snapshot | None = None) -> Row | None: ...
    @overload
    def get(
        self, key: object, default: Default, *, snapshot: Snapshot | None = None
    ) -> Row | Default: ...
    def get(
        self, key: object, default: object = None, *, snapshot: Snapshot | None = None
    ) -> object:
        """The row of a key, or `default`."""
        return self._get(key, default, None if snapshot is None else snapshot._native)

    def get_many(
        self,
        keys: TableLike,
        *,
        found: str | None = None,
        columns: Sequence[str] | None = None,
        snapshot: Snapshot | None = None,
    ) -> pa.Table:
        """The rows of many keys: as many as keys, in their order, null where absent.

        `found` names a column that says which are there; `columns` are the value columns to read.

        >>> clicks.get_many(pa.table({"user": [1, 9], "at": [when, when]}), found="there")
        """
        chosen = None if columns is None else list(columns)
        native = None if snapshot is None else snapshot._native
        batches = self._get_many(keys, found, chosen, native)
        schema = self._get_many_schema(found, chosen)
        return pa.Table.from_batches([pa.record_batch(batch) for batch in batches], schema)

    def scan(
        self,
        *,
        prefix: tuple[object, ...] | None = None,
        lower: tuple[object, ...] | None = None,
        upper: tuple[object, ...] | None = None,
        inclusive_lower: bool = True,
        inclusive_upper: bool = False,
        reverse: bool = False,
        limit: int | None = None,
        columns: Sequence[str] | None = None,
        snapshot: Snapshot | None = None,
        batch_rows: int = 65536,
    ) -> Scan:
        """The rows of a range in key order, or against it.

        `prefix` holds values of the first key columns. `lower` and `upper` go on where it ends, and
        bound the keys in the table's order; they may be prefixes of keys themselves: an inclusive
        upper bound takes all keys that begin with it. A batch has `batch_rows` rows at most.

        >>> clicks.scan(prefix=(1,), lower=(morning,), upper=(noon,), columns=["ms"]).to_table()
        """
        return Scan(
            self._scan(
                prefix,
                lower,
                upper,
                inclusive_lower,
                inclusive_upper,
                reverse,
                limit,
                None if columns is None else list(columns),
                None if snapshot is None else snapshot._native,
                batch_rows,
            )
        )

    def ingest(
        self, rows: TableLike, *, progress: Callable[[IngestProgress], None] | None = None
    ) -> int:
        """Brings many rows, in any order, straight into sorted files; says how many.

        Made for first loads and large additions: past the memtable and the log, larger than memory
        by way of temporary files in the store's directory. Nothing is seen of it until it is done;
        then all of it is durable against a power cut. Of equal keys the last one wins.

        >>> clicks.ingest(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
        """
        if progress is None:
            return self._ingest(rows, None)

        def report(rows_sorted: int, rows_written: int) -> None:
            progress(IngestProgress(rows_sorted, rows_written))

        return self._ingest(rows, report)

    def compact(self) -> None:
        """Rewrites the table's files, so that what was overwritten and deleted takes no space."""
        self._compact()

    def statistics(self) -> dict[str, int]:
        """Sizes of the table; what is estimated says so in its name."""
        return self._statistics()

    def keys(self) -> Iterator[object]:
        """All keys, in order: tuples, or bare values where there is one key column."""
        names = self.key_schema.names
        for batch in self.scan(columns=names):
            columns = [batch.column(name).to_pylist() for name in names]
            yield from columns[0] if len(columns) == 1 else zip(*columns, strict=True)

    def items(self) -> Iterator[tuple[object, Row]]:
        """All keys and rows, in the keys' order."""
        key_names, value_names = self.key_schema.names, self.value_schema.names
        for batch in self.scan():
            keys = [batch.column(name).to_pylist() for name in key_names]
            rows = batch.select(value_names).to_pylist()
            yield from zip(
                keys[0] if len(keys) == 1 else zip(*keys, strict=True), rows, strict=True
            )

    def values(self) -> Iterator[Row]:
        """All rows, in the order of their keys."""
        for _, row in self.items():
            yield row

    def __iter__(self) -> Iterator[object]:
        return self.keys()

    def __len__(self) -> int:
        """Counts by walking over all keys; `statistics()` has an estimate that costs nothing."""
        return sum(batch.num_rows for batch in self.scan(columns=[]))

    def __bool__(self) -> bool:
        return any(batch.num_rows for batch in self.scan(columns=[], limit=1))

    def __repr__(self) -> str:
        return f"Table({self.name!r}, key={self.key_schema.names}, value={self.value_schema.names})"
