"""What `keys`, `items` and `values` of a table give: views, as a dict's are."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from flintstate.store.table import Table

__all__ = ["Items", "Keys", "Row", "Values"]

Row: TypeAlias = dict[str, object]
"""The value columns of one row, by name."""


def keys_of(table: Table, batch: pa.RecordBatch) -> Iterator[object]:
    columns = [batch.column(name).to_pylist() for name in table.key_schema.names]
    yield from columns[0] if len(columns) == 1 else zip(*columns, strict=True)


def rows_of(table: Table, batch: pa.RecordBatch) -> list[Row]:
    rows: list[Row] = batch.select(table.value_schema.names).to_pylist()
    return rows


class Keys(KeysView[object]):
    """All keys, in order: tuples, or bare values where there is one key column."""

    __slots__ = ()
    _mapping: Table

    def __init__(self, table: Table) -> None:
        self._mapping = table

    def _walk(self, reverse: bool) -> Iterator[object]:
        for batch in self._mapping.scan(columns=self._mapping.key_schema.names, reverse=reverse):
            yield from keys_of(self._mapping, batch)

    def __iter__(self) -> Iterator[object]:
        return self._walk(reverse=False)

    def __reversed__(self) -> Iterator[object]:
        return self._walk(reverse=True)


class Items(ItemsView[object, Row]):
    """All keys and rows, in the keys' order."""

    __slots__ = ()
    _mapping: Table

    def __init__(self, table: Table) -> None:
        self._mapping = table

    def _walk(self, reverse: bool) -> Iterator[tuple[object, Row]]:
        for batch in self._mapping.scan(reverse=reverse):
            keys, rows = keys_of(self._mapping, batch), rows_of(self._mapping, batch)
            yield from zip(keys, rows, strict=True)

    def __iter__(self) -> Iterator[tuple[object, Row]]:
        return self._walk(reverse=False)

    def __reversed__(self) -> Iterator[tuple[object, Row]]:
        return self._walk(reverse=True)


class Values(ValuesView[Row]):
    """All rows, in the order of their keys."""

    __slots__ = ()
    _mapping: Table

    def __init__(self, table: Table) -> None:
        self._mapping = table

    def _walk(self, reverse: bool) -> Iterator[Row]:
        for batch in self._mapping.scan(columns=self._mapping.value_schema.names, reverse=reverse):
            yield from rows_of(self._mapping, batch)

    def __contains__(self, row: object) -> bool:
        return any(row == other for other in self)

    def __iter__(self) -> Iterator[Row]:
        return self._walk(reverse=False)

    def __reversed__(self) -> Iterator[Row]:
        return self._walk(reverse=True)
