"""The rocksdb backend: state in a store on disk, with native states in front of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TypedDict, cast

import pyarrow as pa

from flintstate import _core
from flintstate.errors import ClosedError, NotFoundError
from flintstate.state.api import (
    AggregatingState,
    ListState,
    MapIterator,
    MapState,
    ReducingState,
    SortedState,
    State,
    Timer,
    ValueState,
)
from flintstate.state.backend import KeyedBackend, key_columns
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.metrics import StateMetrics
from flintstate.state.times import Instant, system_clock, to_millis

NativeTtl = tuple[int, bool, bool, bool] | None

ValueState.register(_core.RocksValueState)
ListState.register(_core.RocksListState)
MapState.register(_core.RocksMapState)
MapIterator.register(_core.RocksMapIterator)
ReducingState.register(_core.RocksReducingState)
AggregatingState.register(_core.RocksAggregatingState)
SortedState.register(_core.RocksSortedState)


class RocksDbBackend(KeyedBackend):
    """See `KeyedBackend`. The native states are handed out as they are: no Python in between."""

    def __init__(
        self,
        native: _core.RocksBackend,
        max_parallelism: int,
        key_groups: range,
        *,
        clock: Callable[[], int] | None = None,
    ) -> None:
        super().__init__()
        self.native = native
        self.set_key = native.set_key  # type: ignore[method-assign]
        self._clock = clock or system_clock
        self._watermark: int | None = None
        self._max_parallelism = max_parallelism
        self._key_groups = key_groups
        self._natives: dict[str, _core.RocksState] = {}

    @staticmethod
    def at(
        path: str,
        key: pa.DataType | pa.Schema,
        max_parallelism: int,
        key_groups: range,
        clock: Callable[[], int] | None,
        timer_namespace: pa.DataType | None,
        cache_bytes: int,
    ) -> RocksDbBackend:
        """The backend in a directory, which is made where there is none."""
        native = _core.RocksBackend.open(
            os.fsencode(path),
            key_columns(key),
            max_parallelism,
            key_groups.start,
            key_groups.stop - 1,
            cache_bytes=cache_bytes,
            changelog=False,
            clock=clock,
            timer_namespace=timer_namespace,
        )
        return RocksDbBackend(native, max_parallelism, key_groups, clock=clock)

    # -- Keys --------------------------------------------------------------------------------------

    @property
    def max_parallelism(self) -> int:
        return self._max_parallelism

    @property
    def key_groups(self) -> range:
        return self._key_groups

    def set_key(self, key: object) -> None:
        self.native.set_key(key)

    @property
    def current_key(self) -> object:
        return self.native.current_key

    def prefetch(self, keys: pa.Array | pa.RecordBatch | pa.Table) -> None:
        self.native.prefetch(keys)

    def keys(self, state: State | str, namespace: object = None) -> Iterator[object]:
        self._check_open()
        return self.native.keys(self._known(state), namespace)

    def entries(self, state: State | str) -> pa.RecordBatchReader:
        self._check_open()
        return read_entries(self.native, self._known(state).name)

    def _known(self, state: State | str) -> _core.RocksState:
        name = state if isinstance(state, str) else state.name
        if name not in self._natives:
            raise NotFoundError(f"there is no open state '{name}'")
        return self._natives[name]

    # -- States ------------------------------------------------------------------------------------

    def _make(
        self, wanted: StateDescriptor, ttl: Ttl | None, default: object, function: object
    ) -> State:
        made = self._made(wanted, ttl, default, function)
        self._natives[wanted.name] = made
        return cast(State, made)

    def _made(
        self, wanted: StateDescriptor, ttl: Ttl | None, default: object, function: object
    ) -> _core.RocksState:
        native, name, value = self.native, wanted.name, wanted.value
        options: _Options = {
            "namespace": wanted.namespace,
            "ttl": _native_ttl(ttl),
            "codec": wanted.value_codec,
        }
        if wanted.kind == "value":
            return native.value_state(name, value, default=default, **options)
        if wanted.kind == "list":
            return native.list_state(name, value, **options)
        if wanted.kind == "reducing":
            reduce = cast(str | Callable[[object, object], object], function)
            return native.reducing_state(name, value, reduce, **options)
        if wanted.kind == "aggregating":
            return native.aggregating_state(name, function, accumulator=value, **options)
        key = wanted.user_key
        if wanted.kind == "map":
            return native.map_state(name, key, value, key_codec=wanted.key_codec, **options)
        return native.sorted_state(
            name,
            key,
            value,
            descending=list(wanted.descending),
            key_codec=wanted.key_codec,
            **options,
        )

    # -- Time --------------------------------------------------------------------------------------

    def register_event_time_timer(self, time: Instant, namespace: object = None) -> None:
        self.native.register_timer(to_millis(time), namespace, event_time=True)

    def delete_event_time_timer(self, time: Instant, namespace: object = None) -> None:
        self.native.delete_timer(to_millis(time), namespace, event_time=True)

    def register_processing_time_timer(self, time: Instant, namespace: object = None) -> None:
        self.native.register_timer(to_millis(time), namespace, event_time=False)

    def delete_processing_time_timer(self, time: Instant, namespace: object = None) -> None:
        self.native.delete_timer(to_millis(time), namespace, event_time=False)

    def advance_watermark(self, time: Instant) -> Iterator[Timer]:
        self._check_open()
        now = to_millis(time)
        self._watermark = now if self._watermark is None else max(now, self._watermark)
        self.native.advance_watermark(self._watermark)
        return self._fire(self._watermark, event_time=True)

    def advance_processing_time(self, time: Instant | None = None) -> Iterator[Timer]:
        self._check_open()
        now = self._clock() if time is None else to_millis(time)
        return self._fire(now, event_time=False)

    def _fire(self, until: int, *, event_time: bool) -> Iterator[Timer]:
        take = self.native.take_timer
        while (due := take(until, event_time=event_time)) is not None:
            yield Timer(*due)

    def set_event_time(self, time: Instant | None) -> None:
        self.native.set_event_time(None if time is None else to_millis(time))

    @property
    def current_event_time(self) -> int | None:
        return self.native.event_time

    @property
    def current_watermark(self) -> int | None:
        return self._watermark

    def next_event_time_timer(self) -> int | None:
        return self.native.first_timer(event_time=True)

    def next_processing_time_timer(self) -> int | None:
        return self.native.first_timer(event_time=False)

    # -- Life --------------------------------------------------------------------------------------

    def _counted(self) -> dict[str, StateMetrics]:
        counted = self.native.metrics()
        return {name: _metrics(counted[name]) for name in self._natives}

    @property
    def closed(self) -> bool:
        return self.native.closed

    def _check_open(self) -> None:
        if self.native.closed:
            raise ClosedError("this backend is closed: open it again")

    def close(self) -> None:
        self.native.close()


class _Options(TypedDict):
    namespace: pa.DataType | None
    ttl: NativeTtl
    codec: str


def _metrics(counted: dict[str, int]) -> StateMetrics:
    return StateMetrics(
        reads=counted["reads"],
        writes=counted["writes"],
        cache_hits=counted["cache_hits"],
        store_reads=counted["store_reads"],
        bytes_read=counted["bytes_read"],
        bytes_written=counted["bytes_written"],
    )


def _native_ttl(ttl: Ttl | None) -> NativeTtl:
    if ttl is None:
        return None
    return (ttl.millis, ttl.refresh_on_read, ttl.return_expired, ttl.event_time)


def read_entries(native: _core.RocksBackend, name: str) -> pa.RecordBatchReader:
    """The entries of a state in the catalogue. What goes wrong is raised as it is, and not as what
    Arrow makes of a stream's error."""
    stream = native.entries(name)
    batches = (pa.record_batch(batch) for batch in iter(stream.next, None))
    return pa.RecordBatchReader.from_batches(pa.schema(stream), batches)
