"""Tables: typed, ordered maps from key columns to value columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar, overload

import pyarrow as pa

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.options import list_of_names
from flintstate.store.scan import Scan
from flintstate.store.views import Items, Keys, Row, Values, keys_of, rows_of
from flintstate.types import ArrowArrayLike, ArrowStreamLike, TableLike

if TYPE_CHECKING:
    from flintstate.store.store import Snapshot, Store

__all__ = ["IngestProgress", "MergeFunction", "Row", "Table"]

MergeFunction: TypeAlias = Literal[
    "append", "sum", "min", "max", "count", "first", "last", "bit_and", "bit_or", "bit_xor"
]

Default = TypeVar("Default")
ABSENT = object()


class IngestProgress(NamedTuple):
    """How far an ingestion has come."""

    rows_sorted: int
    rows_written: int


class Table(_core.Table):
    """A typed, ordered map: `Store.table` makes it.

    As a mapping it takes single rows, with the methods of a dict. A key is a tuple of the key
    columns' values, or the value itself where there is one column; a row is a dict of the value
    columns.

    >>> clicks[1, when] = {"url": "/", "ms": 3}
    >>> clicks[1, when]["ms"]
    3
    >>> (1, when) in clicks
    True
    >>> del clicks[1, when]

    Batches take the same to a million rows and more a second: `put`, `get_many`, `delete`, `merge`,
    `scan`, `ingest`. Anything that speaks Arrow's C interface goes in; columns are found by name,
    and cast where all their values are exactly of the table's type. A table is such a thing itself:
    `pyarrow.table(clicks)`, `polars.DataFrame(clicks)`, `duckdb.sql("from clicks")`.

    Threads may share a table. All operations raise `ClosedError` once the store is closed, and
    `InvalidError` where columns or values are not the table's, saying which.
    """

    __slots__ = ("_store",)
    _store: Store  # which is open as long as this is held

    @property
    def schema(self) -> pa.Schema:
        """The key columns and the value columns, as `scan` gives them."""
        return pa.schema([*self.key_schema, *self.value_schema])

    def put(self, rows: TableLike) -> None:
        """Writes rows: key columns and value columns. Of rows with equal keys the last one wins.

        Large inputs are written some thousand rows at a time, each such part as one; `Store.batch`
        makes one write of any number of them. What ends it early (Ctrl-C, a wrong value in a later
        batch) leaves the parts that were written.

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
        chosen = None if columns is None else list_of_names(columns, "columns")
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
                None if columns is None else list_of_names(columns, "columns"),
                None if snapshot is None else snapshot._native,
                batch_rows,
            ),
            self,
        )

    def ingest(
        self, rows: TableLike, *, progress: Callable[[IngestProgress], None] | None = None
    ) -> int:
        """Brings many rows, in any order, straight into sorted files; says how many.

        Made for first loads and large additions: past the memtable and the log, larger than memory
        by way of temporary files in the store's directory. Nothing is seen of it until it is done;
        then all of it is durable against a power cut. What ends it early (Ctrl-C, an error of
        `rows` or `progress`) leaves the table as it was. Of equal keys the last one wins.

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

    def keys(self) -> Keys:
        """All keys, in order: tuples, or bare values where there is one key column."""
        return Keys(self)

    def items(self) -> Items:
        """All keys and rows, in the keys' order."""
        return Items(self)

    def values(self) -> Values:
        """All rows, in the order of their keys."""
        return Values(self)

    @overload
    def pop(self, key: object) -> Row: ...
    @overload
    def pop(self, key: object, default: Default) -> Row | Default: ...
    def pop(self, key: object, default: object = ABSENT) -> object:
        """Takes a row out and gives it, or `default`; KeyError where there is neither."""
        row = self.get(key, ABSENT)
        if row is not ABSENT:
            del self[key]
        elif default is ABSENT:
            raise KeyError(key)
        return default if row is ABSENT else row

    def popitem(self) -> tuple[object, Row]:
        """Takes out what has the last key, and gives both; KeyError where nothing is left."""
        for batch in self.scan(reverse=True, limit=1):
            [key], [row] = keys_of(self, batch), rows_of(self, batch)
            del self[key]
            return key, row
        raise KeyError(f"popitem: table {self.name!r} is empty")

    def setdefault(self, key: object, default: Row) -> Row:
        """The row of a key; where there is none, `default` becomes it."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(
        self, other: TableLike | Mapping[object, Row] | Iterable[tuple[object, Row]]
    ) -> None:
        """Writes what is in a mapping, in pairs of key and row, or (as `put`) in a table."""
        if isinstance(other, ArrowStreamLike | ArrowArrayLike):
            return self.put(other)
        for key, row in other.items() if isinstance(other, Mapping) else other:
            self[key] = row

    def clear(self) -> None:
        """Deletes all rows."""
        self.delete_range()

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[object]:
        return iter(self.keys())

    def __reversed__(self) -> Iterator[object]:
        return reversed(self.keys())

    def __len__(self) -> int:
        """Counts by walking over all keys; `statistics()` has an estimate that costs nothing."""
        return sum(batch.num_rows for batch in self.scan(columns=[]))

    def __bool__(self) -> bool:
        return any(batch.num_rows for batch in self.scan(columns=[], limit=1))

    def __reduce__(self) -> str | tuple[object, ...]:
        raise InvalidError(
            f"table {self.name!r} can't be copied or pickled: scan().to_table() has its rows; "
            "another process opens the store itself, with read_only=True"
        )

    def __repr__(self) -> str:
        return f"Table({self.name!r}, key={self.key_schema.names}, value={self.value_schema.names})"
