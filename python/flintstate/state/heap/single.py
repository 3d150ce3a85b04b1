"""Heap states of one value a cell: value, reducing, aggregating."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from flintstate.state.api import AggregateFunction, AggregatingState, ReducingState, ValueState
from flintstate.state.convert import ValueType
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.moment import Moment, Pair
from flintstate.state.heap.reduce import built_in
from flintstate.state.heap.state import HeapState
from flintstate.state.heap.table import Shard, Table
from flintstate.state.keys import Token, array_of, rows

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend


class SingleCell(HeapState):
    """The cell is what `ValueType.admit` made; with time to live a pair of its stamp and that."""

    __slots__ = ("_type",)

    def __init__(
        self, backend: HeapBackend, descriptor: StateDescriptor, table: Table, ttl: Ttl | None
    ) -> None:
        super().__init__(backend, descriptor, table, ttl)
        self._type = ValueType(descriptor.value, f"{self} value", self.undisturbed)

    def _read(self) -> object:
        """What is stored; None where there is nothing to be seen."""
        self.reads += 1
        if self._ttl is None:
            return self._reading().get(self._address())
        now = self.moment()
        cell = self._reading().get(self._address())
        value = None if cell is None else self._take(cast(Pair, cell), now)
        self._sweep(now)
        return value

    def _living(self) -> object:
        """What an `add` is combined with: nothing that has expired, and nothing happens to it."""
        self.reads += 1
        if self._ttl is None:
            return self._reading().get(self._address())
        now = self.moment()
        cell = self._reading().get(self._address())
        alive = None if cell is None else self._alive(cell, now.horizon)
        return None if alive is None else self._unstamped(alive)

    def _take(self, cell: Pair, now: Moment) -> object:
        assert self._ttl is not None
        stamp, value = cell
        if not now.sees(stamp):
            if not self._ttl.return_expired:
                return None
            del self._writing()[self._address()]
        elif self._ttl.refresh_on_read:
            self._writing()[self._address()] = (now.over(stamp), value)
        return value

    def _write(self, value: object) -> None:
        if self._ttl is None:
            self.writes += 1
            self._writing()[self._address()] = value
            return
        now = self.writing_moment()
        shard, address = self._writing(), self._address()
        before = cast(Pair | None, shard.get(address))
        self.writes += 1
        shard[address] = (now.stamp if before is None else now.over(before[0]), value)
        self._sweep(now)

    def _with_stamps(self, cell: object) -> object:
        return (None, cell)

    def _unstamped(self, cell: object) -> object:
        return cast(Pair, cell)[1]

    def _alive(self, cell: object, horizon: int) -> object:
        stamp = cast(Pair, cell)[0]
        return None if stamp is not None and stamp <= horizon else cell

    def columns(self, cell: object) -> list[tuple[object, ...]]:
        """The rows that a cell is in an Arrow stream."""
        return [(cell if self._ttl is None else self._unstamped(cell),)]

    def column_types(self) -> list[tuple[str, pa.DataType]]:
        name = "accumulator" if self.descriptor.kind == "aggregating" else "value"
        return [(name, self.descriptor.value)]


class HeapValueState(SingleCell, ValueState[object]):
    """Reading and writing are written out here: they are what a stream does most."""

    __slots__ = ("_admit", "_default", "_release")

    def __init__(
        self,
        backend: HeapBackend,
        descriptor: StateDescriptor,
        table: Table,
        ttl: Ttl | None,
        default: object,
    ) -> None:
        super().__init__(backend, descriptor, table, ttl)
        self._admit = self._type.admit
        self._release = None if self._type.immutable else self._type.release
        self._default = None
        if default is not None and ttl is None:
            self._default = self._type.admit(default)

    def value(self) -> object:
        if self._ttl is not None:
            return self._type.release(self._read())
        self.reads += 1
        backend = self._backend
        try:
            shard = self._shards[backend._group]
        except IndexError:
            raise backend._unusable() from None
        cell = shard.get(
            backend._key if self._flat else (self._namespace, backend._key), self._default
        )
        return cell if self._release is None else self._release(cell)

    def update(self, value: object) -> None:
        if value is None:
            self.clear()
        elif self._ttl is not None:
            self._reading()
            self._write(self._admit(value))
        else:
            backend = self._backend
            try:
                shard = self._shards[backend._group]
            except IndexError:
                raise backend._unusable() from None
            admitted = self._admit(value)
            if shard.epoch < backend._frozen:
                shard = self._table.own(backend._group, backend._epoch)
            self.writes += 1
            shard[backend._key if self._flat else (self._namespace, backend._key)] = admitted

    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> pa.Array:
        each = self._at_each(keys, self._times(times, keys))
        return array_of([self.value() for _ in each], self.descriptor.value)

    def put_many(self, keys: pa.Array, values: pa.Array, *, times: pa.Array | None = None) -> None:
        given = rows(values, self.descriptor.value, f"{self} value", like=keys)
        for value in given:
            if value is not None:
                self._admit(value)
        at = self._times(times, keys)
        self._check_dated(at, given)
        for i in self._at_each(keys, at):
            self.update(given[i])


class HeapReducingState(SingleCell, ReducingState[object]):
    __slots__ = ("_admit", "_function", "_release")

    def __init__(
        self,
        backend: HeapBackend,
        descriptor: StateDescriptor,
        table: Table,
        ttl: Ttl | None,
        function: Callable[[object, object], object] | str,
    ) -> None:
        super().__init__(backend, descriptor, table, ttl)
        if isinstance(function, str):
            self._function = built_in(function, descriptor.value, str(self))
        else:
            self._function = function
        self._admit, self._release = self._type.admit_some, self._type.release

    def get(self) -> object:
        return self._type.release(self._read())

    def add(self, value: object) -> None:
        value = self._admit(value)
        if self.descriptor.function == "count":
            value = 1
        before = self._living()
        if before is None:
            return self._write(value)
        backend, writes = self._backend, self.writes
        key, group, namespace = backend._key, backend._group, self._namespace
        value = self._reduce(before, value)
        if (  # as `undisturbed`, written out: each value comes here
            backend._key is not key
            or backend._group != group
            or self._namespace is not namespace
            or self.writes != writes
        ):
            self._check_still_at((key, group, namespace), writes)
        self._write(value)

    def _reduce(self, a: object, b: object) -> object:
        release = self._release
        return self._admit(self._function(release(a), release(b)))

    def merge_namespaces(self, target: object, sources: Iterable[object]) -> None:
        _merge(self, target, sources, self._reduce)

    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> pa.Array:
        each = self._at_each(keys, self._times(times, keys))
        return array_of([self.get() for _ in each], self.descriptor.value)

    def add_many(self, keys: pa.Array, values: pa.Array, *, times: pa.Array | None = None) -> None:
        given = rows(values, self.descriptor.value, f"{self} value", like=keys)
        for value in given:
            self._type.admit_some(value)
        at = self._times(times, keys)
        self._check_dated(at, given)
        for i in self._at_each(keys, at):
            self.add(given[i])


class HeapAggregatingState(SingleCell, AggregatingState[object, object]):
    __slots__ = ("_function",)

    def __init__(
        self,
        backend: HeapBackend,
        descriptor: StateDescriptor,
        table: Table,
        ttl: Ttl | None,
        function: AggregateFunction[object, object, object],
    ) -> None:
        super().__init__(backend, descriptor, table, ttl)
        self._function = function

    def get(self) -> object:
        accumulator = self._read()
        if accumulator is None:
            return None
        return self._function.get_result(self._type.release(accumulator))

    def add(self, value: object) -> None:
        self._reading()
        before = self._living()
        self._write(self.undisturbed(self._added, value, before))

    def _added(self, value: object, before: object) -> object:
        if before is None:
            before = self._type.admit_some(self._function.create_accumulator())
        return self._type.admit_some(self._function.add(value, self._type.release(before)))

    def merge_namespaces(self, target: object, sources: Iterable[object]) -> None:
        _merge(self, target, sources, self._merged)

    def _merged(self, a: object, b: object) -> object:
        result = self._function.merge(self._type.release(a), self._type.release(b))
        return self._type.admit_some(result)


def _merge(
    state: SingleCell,
    target: object,
    sources: Iterable[object],
    combine: Callable[[object, object], object],
) -> None:
    """Works the result out before anything is changed; its stamp is the newest of the parts'."""
    backend = state._backend
    state._reading()

    def tokens() -> tuple[Token, list[Token]]:
        into = state.namespace_token(target)
        found = dict.fromkeys(map(state.namespace_token, sources))
        return into, [token for token in found if token != into]

    into, others = state.undisturbed(tokens)
    now = state.moment()
    total, newest = state.undisturbed(_total, state, [into, *others], now, combine)
    state.writes += 1
    writing: Shard = state._writing()
    for token in others:
        writing.pop((token, backend._key), None)
    if total is not None and others:
        writing[(into, backend._key)] = total if state._ttl is None else (newest, total)


def _total(
    state: SingleCell,
    tokens: list[Token],
    now: Moment,
    combine: Callable[[object, object], object],
) -> tuple[object, int | None]:
    """What some namespaces of the current key hold, in one, and the newest of its stamps."""
    total: object = None
    stamps: list[int] = []
    for token in tokens:
        key = state._backend._key
        cell = state._reading().get(key if state._flat else (token, key))
        if cell is None or state.alive(cell, now.horizon) is None:
            continue
        if state._ttl is not None:
            stamp, cell = cast(Pair, cell)
            stamps += [] if stamp is None else [stamp]
        total = cell if total is None else combine(total, cell)
    return total, max(stamps, default=None)
