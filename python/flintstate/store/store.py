"""A store: one directory of tables, opened by one process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Never, Self, overload
from weakref import WeakValueDictionary

import pyarrow as pa

from flintstate import _core
from flintstate.errors import BusyError, InvalidError, NotFoundError
from flintstate.options import list_of_names, parse_size
from flintstate.paths import PathLike, local_path
from flintstate.store.table import MergeFunction, Table
from flintstate.types import TableLike

__all__ = ["Batch", "Snapshot", "Store"]


class Snapshot:
    """A store as it was at one moment: `Store.snapshot` makes it, scans and gets take it.

    It keeps what was there then from being cleared away: close it, or use it in a `with`.
    """

    __slots__ = ("_native", "_store")

    def __init__(self, native: _core.Snapshot, store: Store) -> None:
        self._native = native
        self._store = store  # which is open as long as this is held

    def close(self) -> None:
        """Lets go of it. Scans that were made with it go on."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class Batch:
    """Writes to several tables that take effect as one, or not at all: `Store.batch` makes it.

    The `with` commits when it ends, and drops everything when an exception leaves it. Until then
    the writes are in memory, and nobody sees them.

    >>> with store.batch() as batch:
    ...     batch.put(orders, new_orders)
    ...     batch.delete(carts, old_carts)
    """

    __slots__ = ("_native",)

    def __init__(self, native: _core.Batch) -> None:
        self._native = native

    def put(self, table: Table, rows: TableLike) -> None:
        """As `Table.put`."""
        self._native.put(table, rows)

    def merge(self, table: Table, rows: TableLike) -> None:
        """As `Table.merge`."""
        self._native.merge(table, rows)

    def delete(self, table: Table, keys: TableLike) -> None:
        """As `Table.delete`."""
        self._native.delete(table, keys)

    def delete_range(
        self,
        table: Table,
        *,
        prefix: tuple[object, ...] | None = None,
        lower: tuple[object, ...] | None = None,
        upper: tuple[object, ...] | None = None,
        inclusive_lower: bool = True,
        inclusive_upper: bool = False,
    ) -> None:
        """As `Table.delete_range`."""
        self._native.delete_range(
            table,
            prefix=prefix,
            lower=lower,
            upper=upper,
            inclusive_lower=inclusive_lower,
            inclusive_upper=inclusive_upper,
        )

    def commit(self) -> None:
        """Applies all of it, once: a second commit raises `ClosedError`."""
        self._native.commit()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is None:
            self.commit()


class Store:
    """Typed tables in one directory. `Store.open` opens or makes it; a `with` closes it.

    >>> with Store.open("state", memory="256MB") as store:
    ...     users = store.table("users", key=pa.schema([("id", pa.int64())]),
    ...                         value=pa.schema([("name", pa.string())]))
    ...     users[7] = {"name": "Ada"}

    One process has it open at a time (any number may with `read_only=True`); its threads share it,
    and `Store.opened` gives it to whoever does not have it.
    A forked child that uses its parent's store gets `ClosedError`.
    """

    __slots__ = ("__weakref__", "_native", "_path")
    _native: _core.Store
    _path: str

    def __init__(self, *given: Never, **options: Never) -> None:
        raise InvalidError("Store(...) opens nothing: write Store.open(path)")

    @classmethod
    def open(
        cls,
        path: PathLike,
        *,
        memory: int | str | None = None,
        durability: Literal["none", "process", "machine"] = "process",
        read_only: bool = False,
        create: bool = True,
        compression: Literal["none", "lz4", "zstd"] = "lz4",
        read_mode: Literal["cache", "mmap"] = "cache",
        threads: int | None = None,
    ) -> Store:
        """Opens the store in a directory of its own, or makes it there.

        memory: what all open stores of the process may take for caches and unwritten data, as
            "256MB" or bytes. One promise for the process: a second, different one is refused while
            the first holds. None shares it, or makes it 512 MB.
        durability: what an acknowledged write survives. "process": the death of the process, by a
            log that the kernel holds. "machine": a power cut, at the price of a sync for each
            write. "none": nothing until `flush` or `close`; fastest.
        compression: "zstd" is for the lowest level of files, where most data is; "lz4" elsewhere.
        read_mode: "mmap" reads uncompressed files (compression="none") through the kernel's page
            cache, which processes share.
        threads: how many one call may keep busy, its own among them: large scans, `get_many` and
            `ingest` use them. None: as many as there are processors, 4 at most. 1 where other
            processes are to have the other processors.

        Raises NotFoundError where there is none and `create` is false or `read_only` true,
        BusyError naming the process that has it open, InvalidError where the directory holds
        something else, CorruptionError where it is damaged, StorageError where the system refuses.

        >>> store = Store.open("state", memory="64MB", durability="machine")
        """
        if threads is not None and threads < 1:
            raise InvalidError(f"threads={threads}: give at least 1, or None")
        name = local_path(path, "path")
        with _saying_who_has_it(name):
            native = _core.Store(
                os.fsencode(name),
                memory=0 if memory is None else parse_size(memory, "memory"),
                durability=durability,
                read_only=read_only,
                create=create,
                compression=compression,
                read_mode=read_mode,
                threads=threads or 0,
            )
        store = cls.__new__(cls)
        store._native, store._path = native, name
        if not read_only:
            _opened[os.path.realpath(name)] = store
        return store

    @classmethod
    def opened(cls, path: PathLike) -> Store:
        """The store that this process has open there for writing, such as an earlier cell's.

        Raises NotFoundError where there is none.

        >>> assert Store.opened(store.path) is store
        """
        name = local_path(path, "path")
        store = _open_at(name)
        if store is None:
            raise NotFoundError(f"{name}: this process has no store open there")
        return store

    @property
    def path(self) -> str:
        """The directory: relative where it was given so, without `~` and `file:`."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._native.closed

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading alone."""
        return self._native.read_only

    @overload
    def table(self, name: str) -> Table: ...
    @overload
    def table(
        self,
        name: str,
        *,
        key: pa.Schema,
        value: pa.Schema,
        descending: Sequence[str] = (),
        nulls: Literal["first", "last"] = "first",
        defaults: Mapping[str, object] | None = None,
        merge: Mapping[str, MergeFunction] | None = None,
    ) -> Table: ...
    def table(
        self,
        name: str,
        *,
        key: pa.Schema | None = None,
        value: pa.Schema | None = None,
        descending: Sequence[str] = (),
        nulls: Literal["first", "last"] = "first",
        defaults: Mapping[str, object] | None = None,
        merge: Mapping[str, MergeFunction] | None = None,
    ) -> Table:
        """Takes a table: the one of that name, or with `key` and `value` a new one.

        key: the key columns; rows are in their order, ascending but for those in `descending`,
            nulls first or last. A column that is not nullable refuses nulls and is shorter.
        value: the value columns. Where the table is there already, columns may be added (older
            rows hold null in them, or the value in `defaults`), dropped, or widened (int32 to
            int64, ...); its rows are not rewritten. Its key stays as it is.
        merge: how `Table.merge` combines a value column's values: "append", "sum", "min", "max",
            "count", "first", "last", "bit_and", "bit_or", "bit_xor".

        Raises NotFoundError where there is none and no columns are given, InvalidError where the
        table that is there can't become what is asked for, naming the column.

        >>> store.table("hits", key=pa.schema([pa.field("user", pa.int64(), nullable=False)]),
        ...             value=pa.schema([("n", pa.int64())]), merge={"n": "sum"})
        """
        if key is None and value is None:
            if descending or defaults or merge:
                raise InvalidError(f"table {name!r}: these options want key= and value= beside")
            return self._bound(Table(self._native, name))
        if key is None or value is None:
            missing = "key" if key is None else "value"
            raise InvalidError(f"table {name!r}: give {missing}= too, or neither of both")
        table = Table(
            self._native,
            name,
            key=key,
            value=value,
            descending=list_of_names(descending, "descending"),
            nulls=nulls,
            defaults=dict(defaults or {}),
            merge=dict(merge or {}),
        )
        return self._bound(table)

    def _bound(self, table: Table) -> Table:
        table._store = self
        return table

    def tables(self) -> list[str]:
        """The names of all tables, sorted."""
        return self._native.tables()

    def drop_table(self, name: str) -> None:
        """Deletes a table and all its rows, for good. Raises NotFoundError where there is none."""
        self._native.drop_table(name)

    def snapshot(self) -> Snapshot:
        """The store as it is now, for scans and gets that are to see the same."""
        return Snapshot(self._native.snapshot(), self)

    def batch(self) -> Batch:
        """Writes to several tables as one, in a `with`."""
        return Batch(self._native.batch())

    def checkpoint(self, path: PathLike, *, sync_linked_files: bool = True) -> None:
        """Makes a store of its own in a new directory that holds what this one holds now.

        Files are linked where that can be, so it costs time and space only for what is new. It
        appears under its name once it would survive a power cut. `sync_linked_files=False` trusts
        that files were synced when they were written, as RocksDB does.

        >>> store.checkpoint("backup/monday")
        """
        directory = os.fsencode(local_path(path, "path"))
        self._native.checkpoint(directory, sync_linked_files=sync_linked_files)

    def flush(self) -> None:
        """Writes what is in memory to files, so that it survives whatever the durability is."""
        self._native.flush()

    def statistics(self) -> dict[str, int]:
        """The memory promised and used (by all stores of the process), and the writes so far."""
        return self._native.statistics()

    def close(self) -> None:
        """Closes it; safe while scans and snapshots live: these raise `ClosedError` from then on.

        Waits for operations of other threads that are under way. Again: nothing.
        """
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> str | tuple[object, ...]:
        raise InvalidError(
            f"{self!r} can't be copied or pickled: another process takes its path, and "
            "opens it itself (read_only=True while this one has it open)"
        )

    def __repr__(self) -> str:
        state = "closed" if self.closed else "read-only" if self.read_only else "open"
        return f"Store({self._path!r}, {state})"


_opened: WeakValueDictionary[str, Store] = WeakValueDictionary()
"""The stores that were opened for writing, by their real paths."""
os.register_at_fork(after_in_child=_opened.clear)  # a parent's are no use to a child


def _open_at(name: str) -> Store | None:
    store = _opened.get(os.path.realpath(name))
    return None if store is None or store.closed else store


@contextlib.contextmanager
def _saying_who_has_it(name: str) -> Iterator[None]:
    try:
        yield
    except BusyError as error:
        if _open_at(name) is None:
            raise
        raise BusyError(
            f"{error}: Store.opened({name!r}) gives the one that is open, its close() closes it"
        ) from None
