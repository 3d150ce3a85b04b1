"""Heap map state: a cell is a dict of tokens, whose values may be pairs of stamp and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import ABSENT, MapIterator, MapState
from flintstate.state.convert import ValueType
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.moment import Moment, Pair
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
        self._key_type = KeyType.of_user(
            descriptor.user_key, f"{self} key", around=self.undisturbed
        )
        self._type = ValueType(descriptor.value, f"{self} value", self.undisturbed)

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
        self._put_at(cell_key, admitted, None if self._ttl is None else self.writing_moment())

    def remove(self, key: object) -> None:
        self._remove(self._key_type.token(key))

    def _admit(self, value: object) -> object:
        return None if value is None else self._type.admit(value)

    def _cell(self) -> MapCell | None:
        return cast(MapCell | None, self._reading().get(self._address()))

    def _find(self, token: Token) -> object:
        self.reads += 1
        if self._ttl is None:
            cell = self._cell()
            return ABSENT if cell is None else cell.get(token, ABSENT)
        now = self.moment()
        cell = self._cell()
        found = ABSENT if cell is None else cell.get(token, ABSENT)
        if found is not ABSENT:
            found = self._take(token, cast(Pair, found), now)
        self._sweep(now)
        return found

    def _take(self, token: Token, found: Pair, now: Moment) -> object:
        assert self._ttl is not None
        stamp, value = found
        if not now.sees(stamp):
            if not self._ttl.return_expired:
                return ABSENT
            self._drop(token)
        elif self._ttl.refresh_on_read:
            self._own_cell()[token] = (now.over(stamp), value)
        return value

    def _put(self, token: Token, value: object) -> None:
        self._put_at(token, value, None if self._ttl is None else self.writing_moment())

    def _put_at(self, token: Token, value: object, now: Moment | None) -> None:
        self.writes += 1
        cell = self._own_cell()
        if token not in cell:
            cell.ordered = None
        if now is None:
            cell[token] = value
            return
        before = cast(Pair | None, cell.get(token))
        cell[token] = (now.stamp if before is None else now.over(before[0]), value)
        self._sweep(now)

    def _remove(self, token: Token) -> None:
        self.writes += 1
        cell = self._cell()
        if cell is not None and token in cell:
            self._drop(token)

    def _drop(self, token: Token) -> None:
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
        self._reading()
        admitted = self.undisturbed(self._admit_all, entries)
        if not admitted:
            return
        now = None if self._ttl is None else self.writing_moment()
        for token, value in admitted:
            self._put_at(token, value, now)

    def _admit_all(self, entries: Entries) -> list[tuple[Token, object]]:
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        return [(self._key_type.token(key), self._admit(value)) for key, value in pairs]

    def items(self) -> MapIterator[tuple[object, object]]:
        release_key, release = self._key_type.release, self._type.release
        return HeapMapIterator(self, lambda token, value: (release_key(token), release(value)))

    def keys(self) -> MapIterator[object]:
        return HeapMapIterator(self, lambda token, _: self._key_type.release(token))

    def values(self) -> MapIterator[object]:
        return HeapMapIterator(self, lambda _, value: self._type.release(value))

    def is_empty(self) -> bool:
        return next(self._living(), None) is None

    def __len__(self) -> int:
        return sum(1 for _ in self._living())

    def _living(self) -> Iterator[bool]:
        """One for each entry that lives."""
        now = self.moment()
        cell: dict[Token, object] = self._cell() or {}
        if self._ttl is None:
            return (True for _ in cell)
        return (True for stamp, _ in cast(dict[Token, Pair], cell).values() if now.sees(stamp))

    # -- Many keys ---------------------------------------------------------------------------------

    def get_many(
        self, keys: pa.Array, map_keys: pa.Array, *, times: pa.Array | None = None
    ) -> pa.Array:
        tokens = self._key_type.tokens(map_keys, like=keys)
        each = self._at_each(keys, self._times(times, keys))
        return array_of([self._get(tokens[i], None) for i in each], self.descriptor.value)

    def put_many(
        self,
        keys: pa.Array,
        map_keys: pa.Array,
        values: pa.Array,
        *,
        times: pa.Array | None = None,
    ) -> None:
        given = rows(values, self.descriptor.value, f"{self} value", like=keys)
        tokens = self._key_type.tokens(map_keys, like=keys)
        admitted = [self._admit(value) for value in given]
        at = self._times(times, keys)
        self._check_dated(at, tokens)
        for i in self._at_each(keys, at):
            self._put(tokens[i], admitted[i])

    # -- Cells -------------------------------------------------------------------------------------

    def _with_stamps(self, cell: object) -> object:
        entries = cast(MapCell, cell)
        return MapCell(self._backend._epoch, {k: (None, v) for k, v in entries.items()})

    def _unstamped(self, cell: object) -> object:
        entries = cast(dict[Token, Pair], cell)
        return MapCell(self._backend._epoch, {k: v for k, (_, v) in entries.items()})

    def _alive(self, cell: object, horizon: int) -> object:
        entries = cast(dict[Token, Pair], cell)
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
        self._place = state._place()
        self._tokens = iter([] if cell is None else cell.in_order())
        self._last: Token = ABSENT

    def __next__(self) -> E:
        for token in self._tokens:
            found = self._state._at(self._place, self._state._find, token)
            if found is not ABSENT:
                self._last = token
                return self._make(token, found)
        self._last = ABSENT
        raise StopIteration

    def remove(self) -> None:
        self._state._at(self._place, self._state._remove, self._taken("remove"))
        self._last = ABSENT

    def set_value(self, value: object) -> None:
        admitted = self._state._admit(value)
        self._state._at(self._place, self._state._put, self._taken("write"), admitted)

    def _taken(self, what: str) -> Token:
        if self._last is ABSENT:
            raise InvalidError(f"{self._state}: the iterator holds no entry to {what}")
        return self._last
