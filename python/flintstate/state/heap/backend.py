"""The heap backend: all state in memory, as Python objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import cast

import pyarrow as pa

from flintstate.errors import ClosedError, FlintError, InvalidError, NotFoundError
from flintstate.state.api import AggregateFunction, ReduceFunction, State, Timer
from flintstate.state.backend import KeyedBackend, key_columns
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.entries import entries_of
from flintstate.state.heap.list import HeapListState
from flintstate.state.heap.map import HeapMapState
from flintstate.state.heap.single import HeapAggregatingState, HeapReducingState, HeapValueState
from flintstate.state.heap.snapshot import HeapSnapshot
from flintstate.state.heap.sorted import HeapSortedState
from flintstate.state.heap.table import Shard, Table
from flintstate.state.heap.timers import HeapTimers
from flintstate.state.keys import KeyType, Token
from flintstate.state.metrics import StateMetrics
from flintstate.state.times import Instant, row_time, system_clock, to_millis

HeapKind = (
    HeapValueState
    | HeapListState
    | HeapMapState
    | HeapReducingState
    | HeapAggregatingState
    | HeapSortedState
)

_NO_GROUP = sys.maxsize
"""Behind the end of every list of shards, so that a state without a current key finds out."""


def _plain_class(columns: pa.Schema) -> type | None:
    """The class of keys that are their own tokens, if they have a key group at all."""
    classes = {pa.string(): str, pa.int64(): int, pa.int32(): int, pa.binary(): bytes}
    return classes.get(columns[0].type) if len(columns) == 1 else None


class HeapBackend(KeyedBackend):
    """See `KeyedBackend`. States reach into its key, group and epochs: they are one machine."""

    def __init__(
        self,
        key: pa.DataType | pa.Schema,
        max_parallelism: int,
        key_groups: range,
        clock: Callable[[], int] | None,
        timer_namespace: pa.DataType | None,
    ) -> None:
        super().__init__()
        columns = key_columns(key)
        self._key_type = KeyType(columns, "key", canonical=True, max_parallelism=max_parallelism)
        self._max_parallelism = max_parallelism
        self._key_groups = key_groups
        self._clock = clock or system_clock
        self._watermark: int | None = None
        self._event_time: int | None = None
        self._closed = False
        self._key: Token = None
        self._group = _NO_GROUP
        self._plain_class = _plain_class(columns)
        self._group_of_key = self._key_type.group
        self._first_group, self._last_group = key_groups[0], key_groups[-1]
        self._epoch = 0
        self._frozen = 0  # what is older than this must be copied before it is changed
        self._shared = 0  # the same, whatever snapshots are released
        self._snapshots: list[HeapSnapshot] = []
        self._descriptors: dict[str, StateDescriptor] = {}
        self._tables: dict[str, Table] = {}
        self._states: dict[str, HeapKind] = {}
        self._timer_namespace = (
            None if timer_namespace is None
            else KeyType.of_namespace(timer_namespace, "timer namespace")
        )  # fmt: skip
        self._event_timers = HeapTimers(self)
        self._processing_timers = HeapTimers(self)

    # -- Keys --------------------------------------------------------------------------------------

    @property
    def max_parallelism(self) -> int:
        return self._max_parallelism

    @property
    def key_groups(self) -> range:
        return self._key_groups

    def set_key(self, key: object) -> None:
        if key.__class__ is self._plain_class:
            group = self._group_of_key(key)  # raises where the key does not fit
            if self._first_group <= group <= self._last_group:
                self._key = key
                self._group = group
                return
        self._check_open()
        token = self._key_type.token(key)
        self._group = self._group_of(token)
        self._key = token

    def _group_of(self, token: Token) -> int:
        group = self._key_type.group(token)
        if not self._first_group <= group <= self._last_group:
            key = self._key_type.release(token)
            raise InvalidError(
                f"key {key!r} belongs to key group {group}; this backend holds "
                f"{self._first_group} to {self._last_group}"
            )
        return group

    def _places(self, keys: pa.Array) -> list[tuple[Token, int]]:
        """Token and group of each of many keys, all checked before any is used."""
        self._check_open()
        return [(token, self._group_of(token)) for token in self._key_type.tokens(keys)]

    @property
    def current_key(self) -> object:
        self._check_open()
        if self._group == _NO_GROUP:
            raise self._unusable()
        return self._key_type.release(self._key)

    def prefetch(self, keys: pa.Array | pa.RecordBatch | pa.Table) -> None:
        self._places(keys)  # everything is at hand

    def keys(self, state: State | str, namespace: object = None) -> Iterator[object]:
        found = self._known(state)
        return self._keys_of(found, found.namespace_token(namespace), found.moment().horizon)

    def _keys_of(self, found: HeapKind, wanted: Token, horizon: int) -> Iterator[object]:
        for group in self._key_groups:
            self._check_open()
            tokens = [
                address if found._flat else cast(tuple[Token, Token], address)[1]
                for address, cell in found._shards[group].items()
                if found._flat or cast(tuple[Token, Token], address)[0] == wanted
                if found.alive(cell, horizon) is not None
            ]
            for token in sorted(tokens, key=self._key_type.encoded):
                yield self._key_type.release(token)

    def entries(self, state: State | str) -> pa.RecordBatchReader:
        found = self._known(state)
        return entries_of(found, self._key_type, self._key_groups)

    def _known(self, state: State | str) -> HeapKind:
        self._check_open()
        name = state if isinstance(state, str) else state.name
        if name not in self._states:
            raise NotFoundError(f"there is no open state '{name}'")
        return self._states[name]

    # -- States ------------------------------------------------------------------------------------

    def _make(
        self, wanted: StateDescriptor, ttl: Ttl | None, default: object, function: object
    ) -> State:
        known = self._descriptors.get(wanted.name)
        if known is not None:
            known.check_same(wanted)
        table = self._tables.get(wanted.name) or Table(self._max_parallelism)
        state = self._made(wanted, table, ttl, default, function)
        self._descriptors[wanted.name] = wanted
        self._tables[wanted.name] = table
        self._states[wanted.name] = state
        return state

    def _made(
        self,
        wanted: StateDescriptor,
        table: Table,
        ttl: Ttl | None,
        default: object,
        function: object,
    ) -> HeapKind:
        if wanted.kind == "value":
            return HeapValueState(self, wanted, table, ttl, default)
        if wanted.kind == "list":
            return HeapListState(self, wanted, table, ttl)
        if wanted.kind == "map":
            return HeapMapState(self, wanted, table, ttl)
        if wanted.kind == "sorted":
            return HeapSortedState(self, wanted, table, ttl)
        if wanted.kind == "reducing":
            reduce = cast(ReduceFunction[object] | str, function)
            return HeapReducingState(self, wanted, table, ttl, reduce)
        aggregate = cast(AggregateFunction[object, object, object], function)
        return HeapAggregatingState(self, wanted, table, ttl, aggregate)

    # -- Time --------------------------------------------------------------------------------------

    def register_event_time_timer(self, time: Instant, namespace: object = None) -> None:
        self._event_timers.register(to_millis(time), self._timer_place(namespace))

    def delete_event_time_timer(self, time: Instant, namespace: object = None) -> None:
        self._event_timers.delete(to_millis(time), self._timer_place(namespace))

    def register_processing_time_timer(self, time: Instant, namespace: object = None) -> None:
        self._processing_timers.register(to_millis(time), self._timer_place(namespace))

    def delete_processing_time_timer(self, time: Instant, namespace: object = None) -> None:
        self._processing_timers.delete(to_millis(time), self._timer_place(namespace))

    def _timer_place(self, namespace: object) -> Token:
        if self._closed or self._group == _NO_GROUP:
            raise self._unusable()
        if self._timer_namespace is not None:
            return self._timer_namespace.token(namespace)
        if namespace is not None:
            raise InvalidError("timers have no namespaces here: open with timer_namespace=")
        return None

    def advance_watermark(self, time: Instant) -> Iterator[Timer]:
        self._check_open()
        now = to_millis(time)
        self._watermark = now if self._watermark is None else max(now, self._watermark)
        return self._fire(self._event_timers, self._watermark, event_time=True)

    def advance_processing_time(self, time: Instant | None = None) -> Iterator[Timer]:
        self._check_open()
        now = self._clock() if time is None else to_millis(time)
        return self._fire(self._processing_timers, now, event_time=False)

    def _fire(self, timers: HeapTimers, until: int, *, event_time: bool) -> Iterator[Timer]:
        for time, group, key, namespace in timers.due(until):
            self._key, self._group = key, group
            self._event_time = row_time(time if event_time else self._watermark)
            space = self._timer_namespace
            yield Timer(
                time,
                self._key_type.release(key),
                None if space is None else space.release(namespace),
            )
        self._check_open()
        self._event_time = None

    def set_event_time(self, time: Instant | None) -> None:
        self._check_open()
        self._event_time = None if time is None else row_time(to_millis(time))

    @property
    def current_event_time(self) -> int | None:
        return self._event_time

    @property
    def current_watermark(self) -> int | None:
        return self._watermark

    def next_event_time_timer(self) -> int | None:
        self._check_open()
        return self._event_timers.first()

    def next_processing_time_timer(self) -> int | None:
        self._check_open()
        return self._processing_timers.first()

    def _encoded(self, key: Token, namespace: Token) -> tuple[bytes, bytes]:
        space = self._timer_namespace
        return self._key_type.encoded(key), b"" if space is None else space.encoded(namespace)

    # -- Snapshots ---------------------------------------------------------------------------------

    def snapshot(self) -> HeapSnapshot:
        """All state as it is now, at a cost that does not depend on its size.

        What is written from now on is not in it, and is written beside what it holds: release it
        when it is no longer needed.
        """
        self._check_open()
        self._epoch += 1
        self._frozen = self._epoch
        taken = HeapSnapshot(self)
        self._snapshots.append(taken)
        return taken

    def _released(self, snapshot: HeapSnapshot) -> None:
        if snapshot in self._snapshots:
            self._snapshots.remove(snapshot)
        self._frozen = max((taken.epoch for taken in self._snapshots), default=self._shared)

    def load(self, snapshot: HeapSnapshot) -> None:
        """Takes over what a snapshot holds of this backend's key groups. Requires an empty one."""
        for name, (descriptor, shards, stamped) in snapshot.states.items():
            table = Table(self._max_parallelism)
            table.stamped = stamped
            for group in self._key_groups:
                table.shards[group] = shards[group]
            self._descriptors[name] = descriptor
            self._tables[name] = table
        self._epoch = self._frozen = self._shared = snapshot.epoch
        for timers, shards in zip(self._timers(), snapshot.timers, strict=True):
            for group in self._key_groups:
                timers.table.shards[group] = Shard(self._epoch, shards[group])
            timers.load()

    def _timers(self) -> tuple[HeapTimers, HeapTimers]:
        return self._event_timers, self._processing_timers

    # -- Life --------------------------------------------------------------------------------------

    def _counted(self) -> dict[str, StateMetrics]:
        return {
            name: StateMetrics(reads=state.reads, writes=state.writes)
            for name, state in self._states.items()
        }

    @property
    def closed(self) -> bool:
        return self._closed

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("this backend is closed: open it again")

    def _unusable(self) -> FlintError:
        if self._closed:
            return ClosedError("this backend is closed: open it again")
        return InvalidError("there is no current key: call set_key first")

    def close(self) -> None:
        self._closed = True
        self._plain_class = None
        self._group = _NO_GROUP
        for table in [*self._tables.values(), *(timers.table for timers in self._timers())]:
            table.shards.clear()
