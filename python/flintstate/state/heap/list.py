"""Heap list state: a cell is a list, of elements or of pairs of stamp and element."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import ListState
from flintstate.state.convert import ValueType
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.state import HeapState
from flintstate.state.heap.table import ListCell, Table
from flintstate.state.keys import array_of, rows

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend


class HeapListState(HeapState, ListState[object]):
    __slots__ = ("_type",)

    def __init__(
        self, backend: HeapBackend, descriptor: StateDescriptor, table: Table, ttl: Ttl | None
    ) -> None:
        super().__init__(backend, descriptor, table, ttl)
        self._type = ValueType(descriptor.value, f"{self} element")

    def get(self) -> list[object]:
        self.reads += 1
        cell = cast(ListCell | None, self._reading().get(self._address()))
        if self._ttl is not None:
            self._sweep()
        if cell is None:
            return []
        elements = list(cell) if self._ttl is None else self._read_stamped(cell)
        if not self._type.immutable:
            elements = [self._type.release(element) for element in elements]
        return elements

    def _read_stamped(self, cell: ListCell) -> list[object]:
        assert self._ttl is not None
        horizon = self._horizon()
        alive: ListCell | None = cell
        if horizon is not None:
            alive = cast(ListCell | None, self._alive(cell, horizon))
        if self._ttl.refresh_on_read and alive is not None:
            stamp = self._stamp()
            fresh = [(stamp, value) for _, value in cast(list[tuple[object, object]], alive)]
            self._writing()[self._address()] = ListCell(self._backend._epoch, fresh)
        seen = cell if self._ttl.return_expired else alive or ListCell(0)
        return [value for _, value in cast(list[tuple[object, object]], seen)]

    def add(self, value: object) -> None:
        self._reading()
        element = self._type.admit_some(value)
        self.writes += 1
        if self._ttl is None:
            self._own_cell().append(element)
        else:
            self._own_cell().append((self._stamp(), element))
            self._sweep()

    def add_all(self, values: Iterable[object]) -> None:
        self._reading()
        elements = self._admit_all(values)
        if elements:
            self.writes += 1
            self._own_cell().extend(elements)

    def update(self, values: Iterable[object]) -> None:
        self._reading()
        elements = self._admit_all(values)
        if not elements:
            return self.clear()
        self.writes += 1
        self._writing()[self._address()] = ListCell(self._backend._epoch, elements)

    def _admit_all(self, values: Iterable[object]) -> list[object]:
        if values is None or isinstance(values, str | bytes):
            raise InvalidError(f"{self}: {values!r} is no list of values")
        admit = self._type.admit_some
        if self._ttl is None:
            return [admit(value) for value in values]
        stamp = self._stamp()
        return [(stamp, admit(value)) for value in values]

    def _own_cell(self) -> ListCell:
        """The current cell, made if need be, in a form that may be written to."""
        shard = self._writing()
        address = self._address()
        cell = cast(ListCell | None, shard.get(address))
        if cell is None:
            cell = shard[address] = ListCell(self._backend._epoch)
        elif cell.epoch < self._backend._frozen:
            cell = shard[address] = cell.copy_at(self._backend._epoch)
        return cell

    def merge_namespaces(self, target: object, sources: Iterable[object]) -> None:
        self._reading()
        into = self.namespace_token(target)
        tokens = dict.fromkeys(map(self.namespace_token, sources))
        shard = self._writing()
        key, before = self._backend._key, self._namespace
        moved: list[object] = []
        for token in tokens:
            if token != into:
                moved += cast(ListCell, shard.pop((token, key), ListCell(0)))
        if moved:
            self.writes += 1
            self._namespace = into
            self._own_cell().extend(moved)
            self._namespace = before

    def get_many(self, keys: pa.Array) -> pa.Array:
        lists: list[object] = [self.get() for _ in self._at_each(keys)]
        return array_of(lists, pa.list_(self.descriptor.value))

    def add_many(self, keys: pa.Array, values: pa.Array) -> None:
        given = rows(values, self.descriptor.value, f"{self} element", like=keys)
        for value in given:
            self._type.admit_some(value)
        for i in self._at_each(keys):
            self.add(given[i])

    def _with_stamps(self, cell: object) -> object:
        return ListCell(self._backend._epoch, [(None, value) for value in cast(ListCell, cell)])

    def _unstamped(self, cell: object) -> object:
        pairs = cast(list[tuple[object, object]], cell)
        return ListCell(self._backend._epoch, [value for _, value in pairs])

    def _alive(self, cell: object, horizon: int) -> object:
        pairs = cast(list[tuple[int | None, object]], cell)
        rest = [pair for pair in pairs if pair[0] is None or pair[0] > horizon]
        if len(rest) == len(pairs):
            return cell
        return ListCell(self._backend._epoch, rest) if rest else None

    def columns(self, cell: object) -> list[tuple[object, ...]]:
        elements = cell if self._ttl is None else self._unstamped(cell)
        return [(element,) for element in cast(ListCell, elements)]

    def column_types(self) -> list[tuple[str, pa.DataType]]:
        return [("value", self.descriptor.value)]
