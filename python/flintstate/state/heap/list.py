"""Heap list state: a cell is a list, of elements or of pairs of stamp and element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import ListState
from flintstate.state.convert import ValueType
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.moment import Moment, Pair
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
        self._type = ValueType(descriptor.value, f"{self} element", self.undisturbed)

    def get(self) -> list[object]:
        self.reads += 1
        elements = self._elements() if self._ttl is None else self._elements_at(self.moment())
        if not self._type.immutable:
            elements = [self._type.release(element) for element in elements]
        return elements

    def _elements(self) -> list[object]:
        return list(cast(ListCell, self._reading().get(self._address(), ())))

    def _elements_at(self, now: Moment) -> list[object]:
        pairs = cast(list[Pair], self._reading().get(self._address(), []))
        elements, rest = self._take_pairs(pairs, now)
        if rest is not pairs:
            self._put_back(rest)
        self._sweep(now)
        return elements

    def _put_back(self, pairs: Sequence[Pair]) -> None:
        if pairs:
            self._writing()[self._address()] = ListCell(self._backend._epoch, pairs)
        else:
            del self._writing()[self._address()]

    def add(self, value: object) -> None:
        self._reading()
        element = self._type.admit_some(value)
        if self._ttl is None:
            self.writes += 1
            self._own_cell().append(element)
        else:
            now = self.writing_moment()
            self.writes += 1
            self._own_cell().append((now.stamp, element))
            self._sweep(now)

    def add_all(self, values: Iterable[object]) -> None:
        self._reading()
        elements = self._admit_all(values)
        if elements:
            elements = self._stamped(elements)
            self.writes += 1
            self._own_cell().extend(elements)

    def update(self, values: Iterable[object]) -> None:
        self._reading()
        elements = self._admit_all(values)
        if not elements:
            return self.clear()
        elements = self._stamped(elements)
        self.writes += 1
        self._writing()[self._address()] = ListCell(self._backend._epoch, elements)

    def _admit_all(self, values: Iterable[object]) -> list[object]:
        if values is None or isinstance(values, str | bytes):
            raise InvalidError(f"{self}: {values!r} is no list of values")
        return self.undisturbed(lambda: [self._type.admit_some(value) for value in values])

    def _stamped(self, elements: list[object]) -> list[object]:
        if self._ttl is None:
            return elements
        stamp = self.writing_moment().stamp
        return [(stamp, element) for element in elements]

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
        into = self.undisturbed(self.namespace_token, target)
        tokens = self.undisturbed(lambda: dict.fromkeys(map(self.namespace_token, sources)))
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

    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> pa.Array:
        each = self._at_each(keys, self._times(times, keys))
        lists: list[object] = [self.get() for _ in each]
        return array_of(lists, pa.list_(self.descriptor.value))

    def add_many(self, keys: pa.Array, values: pa.Array, *, times: pa.Array | None = None) -> None:
        given = rows(values, self.descriptor.value, f"{self} element", like=keys)
        for value in given:
            self._type.admit_some(value)
        at = self._times(times, keys)
        self._check_dated(at, given)
        for i in self._at_each(keys, at):
            self.add(given[i])

    def _with_stamps(self, cell: object) -> object:
        return ListCell(self._backend._epoch, [(None, value) for value in cast(ListCell, cell)])

    def _unstamped(self, cell: object) -> object:
        pairs = cast(list[Pair], cell)
        return ListCell(self._backend._epoch, [value for _, value in pairs])

    def _alive(self, cell: object, horizon: int) -> object:
        pairs = cast(list[Pair], cell)
        rest = [pair for pair in pairs if pair[0] is None or pair[0] > horizon]
        if len(rest) == len(pairs):
            return cell
        return ListCell(self._backend._epoch, rest) if rest else None

    def columns(self, cell: object) -> list[tuple[object, ...]]:
        elements = cell if self._ttl is None else self._unstamped(cell)
        return [(element,) for element in cast(ListCell, elements)]

    def column_types(self) -> list[tuple[str, pa.DataType]]:
        return [("value", self.descriptor.value)]
