"""Heap map state: a cell is a dict of tokens, whose values may be pairs of stamp and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import ABSENT, MapIterator, MapState
from flintstate.state.convert import ValueType
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.state import HeapState
from flintstate.state.heap.table import MapCell, Table
from flintstate.state.keys import KeyType, Token, array_of, rows

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend

E = TypeVar("E")

Entries = Mapping[object, object] | Iterable[tuple[object, object]]


class HeapMapState(HeapState, MapState[object, object]):
    __slots__ = ("_key_type", "_type")

    def __init__(
        self, backend: HeapBackend, descriptor: StateDescriptor, table: Table, ttl: Ttl | None
    ) -> None:
        super().__init__(backend, descriptor, table, ttl)
        assert descriptor.user_key is not None
        self._key_type = KeyType.of_user(descriptor.user_key, f"{self} key")
        self._type = ValueType(descriptor.value, f"{self} value")

    # -- One entry ---------------------------------------------------------------------------------

    def get(self, key: object, default: object = None) -> object:
        return self._get(self._key_type.token(key), default)

    def _get(self, token: Token, default: object) -> object:
        found = self._find(token)
        return default if found is ABSENT else self._type.release(found)

    def contains(self, key: object) -> bool:
        return self._find(self._key_type.token(key)) is not ABSENT

    def put(self, key: object, value: object) -> None:
        cell_key, admitted = self._key_type.token(key), self._admit(value)
        self._reading()
        self._put(cell_key, admitted)

    def remove(self, key: object) -> None:
        self._remove(self._key_type.token(key))

    def _admit(self, value: object) -> object:
        return None if value is None else self._type.admit(value)

    def _cell(self) -> MapCell | None:
        return cast(MapCell | None, self._reading().get(self._address()))

    def _find(self, token: Token) -> object:
        self.reads += 1
        cell = self._cell()
        found = ABSENT if cell is None else cell.get(token, ABSENT)
        if self._ttl is None:
            return found
        self._sweep()
        if found is ABSENT:
            return ABSENT
        return self._find_stamped(token, cast(tuple[int | None, object], found))

    def _find_stamped(self, token: Token, found: tuple[int | None, object]) -> object:
        assert self._ttl is not None
        horizon = self._horizon()
        if found[0] is not None and horizon is not None and found[0] <= horizon:
            return found[1] if self._ttl.return_expired else ABSENT
        if self._ttl.refresh_on_read:
            self._own_cell()[token] = (self._stamp(), found[1])
        return found[1]

    def _put(self, token: Token, value: object) -> None:
        self.writes += 1
        cell = self._own_cell()
        if token not in cell:
            cell.ordered = None
        if self._ttl is None:
            cell[token] = value
        else:
            cell[token] = (self._stamp(), value)
            self._sweep()

    def _remove(self, token: Token) -> None:
        self.writes += 1
        cell = self._cell()
        if cell is None or token not in cell:
            return
        cell = self._own_cell()
        del cell[token]
        cell.ordered = None
        if not cell:
            del self._writing()[self._address()]

    def _own_cell(self) -> MapCell:
        shard = self._writing()
        address = self._address()
        cell = cast(MapCell | None, shard.get(address))
        if cell is None:
            cell = shard[address] = MapCell(self._backend._epoch)
        elif cell.epoch < self._backend._frozen:
            cell = shard[address] = cell.copy_at(self._backend._epoch)
        return cell

    # -- All entries -------------------------------------------------------------------------------

    def put_all(self, entries: Entries) -> None:
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        admitted = [(self._key_type.token(key), self._admit(value)) for key, value in pairs]
        self._reading()
        for token, value in admitted:
            self._put(token, value)

    def items(self) -> MapIterator[tuple[object, object]]:
        release_key, release = self._key_type.release, self._type.release
        return HeapMapIterator(self, lambda token, value: (release_key(token), release(value)))

    def keys(self) -> MapIterator[object]:
        return HeapMapIterator(self, lambda token, _: self._key_type.release(token))

    def values(self) -> MapIterator[object]:
        return HeapMapIterator(self, lambda _, value: self._type.release(value))

    def is_empty(self) -> bool:
        return next(self.keys(), ABSENT) is ABSENT

    def __len__(self) -> int:
        return sum(1 for _ in self.keys())

    # -- Many keys ---------------------------------------------------------------------------------

    def get_many(self, keys: pa.Array, map_keys: pa.Array) -> pa.Array:
        tokens = self._key_type.tokens(map_keys, like=keys)
        found = [self._get(tokens[i], None) for i in self._at_each(keys)]
        return array_of(found, self.descriptor.value)

    def put_many(self, keys: pa.Array, map_keys: pa.Array, values: pa.Array) -> None:
        given = rows(values, self.descriptor.value, f"{self} value", like=keys)
        tokens = self._key_type.tokens(map_keys, like=keys)
        admitted = [self._admit(value) for value in given]
        for i in self._at_each(keys):
            self._put(tokens[i], admitted[i])

    # -- Cells -------------------------------------------------------------------------------------

    def _with_stamps(self, cell: object) -> object:
        entries = cast(MapCell, cell)
        return MapCell(self._backend._epoch, {k: (None, v) for k, v in entries.items()})

    def _unstamped(self, cell: object) -> object:
        entries = cast(dict[Token, tuple[object, object]], cell)
        return MapCell(self._backend._epoch, {k: v for k, (_, v) in entries.items()})

    def _alive(self, cell: object, horizon: int) -> object:
        entries = cast(dict[Token, tuple[int | None, object]], cell)
        rest: dict[Token, object] = {
            k: pair for k, pair in entries.items() if pair[0] is None or pair[0] > horizon
        }
        if len(rest) == len(entries):
            return cell
        return MapCell(self._backend._epoch, rest) if rest else None

    def columns(self, cell: object) -> list[tuple[object, ...]]:
        entries = cast(MapCell, cell if self._ttl is None else self._unstamped(cell))
        return [(self._key_type.release(k), entries[k]) for k in entries.in_order()]

    def column_types(self) -> list[tuple[str, pa.DataType]]:
        user_key = self.descriptor.user_key
        return [("map_key", user_key), ("map_value", self.descriptor.value)]


class HeapMapIterator(MapIterator[E]):
    """Walks the keys as they were at the start, passing over those that are gone by now.

    It stays with the key and namespace that it began with.
    """

    __slots__ = ("_last", "_make", "_place", "_state", "_tokens")

    def __init__(self, state: HeapMapState, make: Callable[[Token, object], E]) -> None:
        cell = state._cell()
        self._state = state
        self._make = make
        self._place = (state._backend._key, state._backend._group, state._namespace)
        self._tokens = iter([] if cell is None else cell.in_order())
        self._last: Token = ABSENT

    def __next__(self) -> E:
        for token in self._tokens:
            found = self._at_place(self._state._find, token)
            if found is not ABSENT:
                self._last = token
                return self._make(token, found)
        self._last = ABSENT
        raise StopIteration

    def remove(self) -> None:
        self._at_place(self._state._remove, self._taken("remove"))
        self._last = ABSENT

    def set_value(self, value: object) -> None:
        token = self._taken("write")
        self._at_place(self._state._put, token, self._state._admit(value))

    def _at_place(self, call: Callable[..., object], *arguments: object) -> object:
        """Calls it at the key, group and namespace that the iterator began with."""
        state, backend = self._state, self._state._backend
        before = (backend._key, backend._group, state._namespace)
        if before == self._place:
            return call(*arguments)
        backend._check_open()
        backend._key, backend._group, state._namespace = self._place
        try:
            return call(*arguments)
        finally:
            backend._key, backend._group, state._namespace = before

    def _taken(self, what: str) -> Token:
        if self._last is ABSENT:
            raise InvalidError(f"{self._state}: the iterator holds no entry to {what}")
        return self._last
