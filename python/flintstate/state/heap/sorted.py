"""Heap sorted state: a cell is a `SortedCell`, whose values may be pairs of stamp and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import SortedState
from flintstate.state.convert import ValueType
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.moment import TIMELESS, Moment, Pair
from flintstate.state.heap.ordered import SortedCell
from flintstate.state.heap.state import HeapState, Place
from flintstate.state.heap.table import ListCell, Table
from flintstate.state.keys import KeyType, Token, rows

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend

Entry = tuple[object, list[object]]


class HeapSortedState(HeapState, SortedState[object, object]):
    __slots__ = ("_key_type", "_type")

    def __init__(
        self, backend: HeapBackend, descriptor: StateDescriptor, table: Table, ttl: Ttl | None
    ) -> None:
        super().__init__(backend, descriptor, table, ttl)
        assert descriptor.user_key is not None
        self._key_type = KeyType.of_user(
            descriptor.user_key, f"{self} key", descriptor.descending, self.undisturbed
        )
        self._type = ValueType(descriptor.value, f"{self} value", self.undisturbed)

    # -- One entry ---------------------------------------------------------------------------------

    def values_at(self, key: object) -> list[object] | None:
        token = self._key_type.token(key)
        entry = self._first_entry(token, token, True, reverse=False)
        return None if entry is None else entry[1]

    def add(self, key: object, value: object) -> None:
        token = self._key_type.token(key)
        admitted = self._type.admit_some(value)
        self._reading()
        self._append(token, admitted)

    def put(self, key: object, values: Iterable[object]) -> None:
        token = self._key_type.token(key)
        if values is None or isinstance(values, str | bytes):
            raise InvalidError(f"{self}: {values!r} is no list of values")
        admitted = self.undisturbed(lambda: [self._type.admit_some(value) for value in values])
        self._reading()
        if not admitted:
            return self._clear_between(token, token, True)
        if self._ttl is not None:
            stamp = self.writing_moment().stamp
            admitted = [(stamp, value) for value in admitted]
        self.writes += 1
        values_here = self._to_change(token)
        values_here.clear()
        values_here.extend(admitted)

    def clear_entry_at(self, key: object) -> None:
        token = self._key_type.token(key)
        self._clear_between(token, token, True)

    def first_entry(self, from_key: object = None) -> Entry | None:
        low = None if from_key is None else self._key_type.token(from_key)
        return self._first_entry(low, None, False, reverse=False)

    def last_entry(self, to_key: object = None) -> Entry | None:
        high = None if to_key is None else self._key_type.token(to_key)
        return self._first_entry(None, high, True, reverse=True)

    # -- Ranges ------------------------------------------------------------------------------------

    def read_range(
        self,
        from_key: object,
        to_key: object,
        inclusive_to: bool = False,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        low, high = self._key_type.token(from_key), self._key_type.token(to_key)
        return self._read_now(low, high, inclusive_to, reverse, limit)

    def read_range_until(
        self,
        to_key: object,
        inclusive_to: bool = False,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        high = self._key_type.token(to_key)
        return self._read_now(None, high, inclusive_to, reverse, limit)

    def read_range_from(
        self, from_key: object, *, reverse: bool = False, limit: int | None = None
    ) -> Iterator[Entry]:
        low = self._key_type.token(from_key)
        return self._read_now(low, None, False, reverse, limit)

    def clear_range(self, from_key: object, to_key: object, inclusive_to: bool = False) -> None:
        low, high = self._key_type.token(from_key), self._key_type.token(to_key)
        self._clear_between(low, high, inclusive_to)

    def clear_range_until(self, to_key: object, inclusive_to: bool = False) -> None:
        self._clear_between(None, self._key_type.token(to_key), inclusive_to)

    def clear_range_from(self, from_key: object) -> None:
        self._clear_between(self._key_type.token(from_key), None, False)

    def add_many(
        self,
        keys: pa.Array,
        sort_keys: pa.Array,
        values: pa.Array,
        *,
        times: pa.Array | None = None,
    ) -> None:
        given = rows(values, self.descriptor.value, f"{self} value", like=keys)
        tokens = self._key_type.tokens(sort_keys, like=keys)
        admitted = [self._type.admit_some(value) for value in given]
        at = self._times(times, keys)
        self._check_dated(at, admitted)
        for i in self._at_each(keys, at):
            self._append(tokens[i], admitted[i])

    # -- Cells -------------------------------------------------------------------------------------

    def _cell(self) -> SortedCell | None:
        return cast(SortedCell | None, self._reading().get(self._address()))

    def _own_cell(self) -> SortedCell:
        shard = self._writing()
        address = self._address()
        cell = cast(SortedCell | None, shard.get(address))
        if cell is None:
            cell = shard[address] = SortedCell(self._backend._epoch)
        elif cell.epoch < self._backend._frozen:
            cell = shard[address] = cell.copy_at(self._backend._epoch)
        return cell

    def _to_change(self, token: Token) -> ListCell:
        backend = self._backend
        return self._own_cell().values_to_change(token, backend._epoch, backend._frozen)

    def _append(self, token: Token, value: object) -> None:
        if self._ttl is None:
            self.writes += 1
            self._to_change(token).append(value)
        else:
            now = self.writing_moment()
            self.writes += 1
            self._to_change(token).append((now.stamp, value))
            self._sweep(now)

    def _first_entry(
        self, low: Token, high: Token, inclusive: bool, *, reverse: bool
    ) -> Entry | None:
        """The first entry of which a read may see something."""
        self.reads += 1
        now = TIMELESS if self._ttl is None else self.moment()
        cell = self._cell()
        if cell is None:
            return None
        for token in cell.between(low, high, inclusive, reverse=reverse):
            if self._ttl is None:
                return self._entry(token, list(cell.entries[token]))
            seen = self._take(token, cast(list[Pair], cell.entries[token]), now)
            if seen:
                self._sweep(now)
                return self._entry(token, seen)
        return None

    def _take(self, token: Token, pairs: list[Pair], now: Moment) -> list[object]:
        """The values at a key, whatever reading them does to them."""
        seen, rest = self._take_pairs(pairs, now)
        if rest is not pairs:
            self._put_back(token, rest)
        return seen

    def _put_back(self, token: Token, pairs: Sequence[Pair]) -> None:
        cell = self._own_cell()
        if pairs:
            cell.entries[token] = ListCell(self._backend._epoch, pairs)
            return
        cell.remove(token)
        if not cell.entries:
            del self._writing()[self._address()]

    def _entry(self, token: Token, values: list[object]) -> Entry:
        if not self._type.immutable:
            values = [self._type.release(value) for value in values]
        return self._key_type.release(token), values

    def _read_now(
        self, low: Token, high: Token, inclusive: bool, reverse: bool, limit: int | None
    ) -> Iterator[Entry]:
        """As of now, whatever is changed before the last entry is taken."""
        if limit is not None and limit < 0:
            raise InvalidError(f"{self}: a limit of {limit} entries is negative")
        self.reads += 1
        now = self.moment()
        cell = self._cell()
        if cell is None:
            return iter(())
        found = ((t, cell.entries[t]) for t in cell.between(low, high, inclusive, reverse=reverse))
        if self._ttl is None:
            return iter([self._entry(t, list(v)) for t, v in islice(found, limit)])
        pairs = [(token, list(cast(list[Pair], values))) for token, values in found]
        seen = [(t, p) for t, p in pairs if self._take_pairs(p, now)[0]]
        self._sweep(now)
        return self._returning(seen[:limit], now, self._place())

    def _returning(
        self, found: list[tuple[Token, list[Pair]]], began: Moment, place: Place
    ) -> Iterator[Entry]:
        """Does to each entry what reading does when it is returned, where it is still there."""
        assert self._ttl is not None
        touches = self._ttl.refresh_on_read or self._ttl.return_expired
        for token, pairs in found:
            self._backend._check_open()
            if touches:
                self._at(place, self._touch, token, pairs, self.moment())
            yield self._entry(token, self._take_pairs(pairs, began)[0])

    def _touch(self, token: Token, returned: list[Pair], now: Moment) -> None:
        cell = self._cell()
        here = cast(list[Pair], [] if cell is None else cell.entries.get(token, []))
        wanted = {id(pair) for pair in returned}
        rest: list[Pair] = []
        for pair in here:
            rest += self._take_pairs([pair], now)[1] if id(pair) in wanted else [pair]
        if here and rest != here:
            self._put_back(token, rest)

    def _clear_between(self, low: Token, high: Token, inclusive: bool) -> None:
        self.writes += 1
        cell = self._cell()
        if cell is None or next(cell.between(low, high, inclusive, reverse=False), None) is None:
            return
        cell = self._own_cell()
        cell.remove_between(low, high, inclusive)
        if not cell.entries:
            del self._writing()[self._address()]

    def _with_stamps(self, cell: object) -> object:
        return self._changed(cell, lambda values: [(None, value) for value in values])

    def _unstamped(self, cell: object) -> object:
        return self._changed(cell, lambda pairs: [value for _, value in pairs])

    def _alive(self, cell: object, horizon: int) -> object:
        def rest(pairs: list[Pair]) -> list[Pair]:
            return [pair for pair in pairs if pair[0] is None or pair[0] > horizon]

        entries = cast(dict[Token, list[Pair]], cast(SortedCell, cell).entries)
        if all(len(rest(pairs)) == len(pairs) for pairs in entries.values()):
            return cell
        changed = self._changed(cell, rest)
        return changed if changed.entries else None

    def _changed(
        self, cell: object, change: Callable[[list[Pair]], Sequence[object]]
    ) -> SortedCell:
        """A cell with all lists of values changed; those that become empty are dropped."""
        before = cast(SortedCell, cell)
        after = before.copy_at(self._backend._epoch)
        for token, values in before.entries.items():
            changed = change(cast(list[Pair], values))
            if changed:
                after.entries[token] = ListCell(self._backend._epoch, list(changed))
            else:
                after.remove(token)
        return after

    def columns(self, cell: object) -> list[tuple[object, ...]]:
        whole = cast(SortedCell, cell if self._ttl is None else self._unstamped(cell))
        tokens = whole.between(None, None, False, reverse=False)
        return [(self._key_type.release(t), value) for t in tokens for value in whole.entries[t]]

    def column_types(self) -> list[tuple[str, pa.DataType]]:
        user_key = self.descriptor.user_key
        return [("sort_key", user_key), ("value", self.descriptor.value)]
