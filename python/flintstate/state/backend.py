"""The one way in to keyed state, whichever backend holds it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.options import parse_size
from flintstate.paths import PathLike, local_path
from flintstate.state.api import State, Timer
from flintstate.state.coded import Coding
from flintstate.state.descriptor import StateDescriptor, StateType, Ttl
from flintstate.state.factory import StateFactory
from flintstate.state.latency import Sampler
from flintstate.state.metrics import StateMetrics
from flintstate.state.times import Instant, checked

BackendKind: TypeAlias = Literal["heap", "rocksdb"]
KeyType: TypeAlias = pa.DataType | pa.Schema
"""One Arrow type: keys are plain objects. A schema: keys are tuples of its columns."""


class KeyedBackend(StateFactory):
    """Named states of all kinds, each scoped to a current key. Used by one thread at a time.

    >>> with KeyedBackend.open(path, kind="rocksdb", key=pa.string()) as backend:
    ...     count = backend.value_state("count", pa.int64(), default=0)
    ...     backend.set_key("ada")
    ...     count.update(count.value() + 1)

    After `close()` every call raises `ClosedError`.
    """

    _time_every: int | None = None

    def __init__(self) -> None:
        self._open_states: dict[str, tuple[StateDescriptor, object, State]] = {}
        self._samplers: dict[str, Sampler] = {}

    @staticmethod
    def open(
        path: PathLike | None,
        *,
        kind: BackendKind = "rocksdb",
        key: KeyType,
        max_parallelism: int = 128,
        key_groups: range | None = None,
        clock: Callable[[], int] | None = None,
        timer_namespace: pa.DataType | None = None,
        time_every: int | None = None,
        cache_bytes: int | str = 64 << 20,
    ) -> KeyedBackend:
        """Opens the backend of one range of key groups; all of them unless `key_groups` says so.

        `kind="heap"` keeps everything in memory, as Python objects: nothing is written to `path`,
        which may be None, and all of it is gone with `close()`. `kind="rocksdb"` keeps
        state in a store in the directory `path`. `clock` gives processing time, in milliseconds
        since 1970; None is the system's. Of `time_every` calls of a state's method one is timed,
        for `metrics()`; None times none. `cache_bytes` ("64MB", or a number) is about how much
        memory the cache in front of a store may take before what it holds is written out; the heap
        has none.

        Raises `InvalidError` for a key type that can't be a key, and where the directory holds a
        backend with another one.
        """
        groups = _check_groups(max_parallelism, key_groups)
        directory = None if path is None else local_path(path, "path")
        if time_every is not None and time_every < 1:
            raise InvalidError(f"time_every is {time_every}; it must be 1 or more")
        cache_size = parse_size(cache_bytes, "cache_bytes")
        if clock is not None:
            clock = checked(clock)
        backend: KeyedBackend
        if kind == "heap":
            from flintstate.state.heap.backend import HeapBackend

            backend = HeapBackend(key, max_parallelism, groups, clock, timer_namespace)
        elif kind == "rocksdb":
            from flintstate.state.rocksdb import RocksDbBackend

            if directory is None:
                raise InvalidError("kind='rocksdb' needs a path")
            backend = RocksDbBackend.at(
                directory, key, max_parallelism, groups, clock, timer_namespace, cache_size
            )
        else:
            raise InvalidError(f"there is no kind {kind!r} of backend: 'heap' and 'rocksdb' are")
        backend._time_every = time_every
        return backend

    # -- Keys --------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def max_parallelism(self) -> int:
        """The number of key groups that there are in all."""

    @property
    @abstractmethod
    def key_groups(self) -> range:
        """Those of them that this backend holds."""

    @abstractmethod
    def set_key(self, key: object) -> None:
        """Makes `key` the current one.

        Raises `InvalidError` where it does not fit the key type, or belongs to a key group that is
        not this backend's; the current key stays as it was.
        """

    @property
    @abstractmethod
    def current_key(self) -> object:
        """The current key. Raises `InvalidError` before the first `set_key`."""

    @abstractmethod
    def prefetch(self, keys: pa.Array | pa.RecordBatch | pa.Table) -> None:
        """Says that these keys come next, so that what they hold can be read at once."""

    @abstractmethod
    def keys(self, state: State | str, namespace: object = None) -> Iterator[object]:
        """All keys that hold something in a state's `namespace`, by key group, then in order."""

    @abstractmethod
    def entries(self, state: State | str) -> pa.RecordBatchReader:
        """All that a state holds, as an Arrow stream: docs/state.md lists its columns."""

    # -- States ------------------------------------------------------------------------------------

    def _open(
        self,
        wanted: StateDescriptor,
        ttl: Ttl | None,
        types: list[StateType],
        *,
        default: object = None,
        function: object = None,
    ) -> State:
        self._check_open()
        known = self._open_states.get(wanted.name)
        options = (ttl, repr(default))
        if known is not None:
            descriptor, before, state = known
            descriptor.check_same(wanted)
            if before != options:
                raise InvalidError(
                    f"{wanted.kind} state '{wanted.name}' is open already, with another default "
                    "or time to live"
                )
            return state
        coding = Coding(wanted, types)
        inner = self._make(wanted, ttl, coding.default(default), coding.function(function))
        state = coding.wrap(inner)
        if self._time_every is not None:
            sampler = self._samplers[wanted.name] = Sampler(self._time_every)
            state = sampler.around(state)
        self._open_states[wanted.name] = (wanted, options, state)
        return state

    @abstractmethod
    def _make(
        self, wanted: StateDescriptor, ttl: Ttl | None, default: object, function: object
    ) -> State:
        """The state over what is stored; `InvalidError` where that is something else."""

    # -- Time --------------------------------------------------------------------------------------

    @abstractmethod
    def register_event_time_timer(self, time: Instant, namespace: object = None) -> None:
        """Sets a timer of the current key, due when the watermark is at `time` or past it.

        Timers are a set: registering one twice lets it fire once.
        """

    @abstractmethod
    def delete_event_time_timer(self, time: Instant, namespace: object = None) -> None:
        """Takes a timer of the current key away, if it is there."""

    @abstractmethod
    def register_processing_time_timer(self, time: Instant, namespace: object = None) -> None:
        """As `register_event_time_timer`, by the clock."""

    @abstractmethod
    def delete_processing_time_timer(self, time: Instant, namespace: object = None) -> None:
        """As `delete_event_time_timer`, by the clock."""

    @abstractmethod
    def advance_watermark(self, time: Instant) -> Iterator[Timer]:
        """Sets the watermark, which never goes back, and gives the timers that are due, in order.

        A timer is removed, and its key made the current one, just before it is given. Timers that
        are registered meanwhile fire too, if they are due. Those not taken stay for the next time.
        """

    @abstractmethod
    def advance_processing_time(self, time: Instant | None = None) -> Iterator[Timer]:
        """Gives the processing-time timers due at `time`, or now, as `advance_watermark` does."""

    @abstractmethod
    def set_event_time(self, time: Instant | None) -> None:
        """Says the event time of the row that calls are about from now on; None, or -2^63: none.

        States that live by event time (`Ttl`) go by it. It stays when the key changes. A timer that
        is given sets it: to its own time, in processing time to the watermark; there is none after
        the last one.
        """

    @property
    @abstractmethod
    def current_event_time(self) -> int | None:
        """In milliseconds since 1970; None where there is none."""

    @property
    @abstractmethod
    def current_watermark(self) -> int | None:
        """In milliseconds since 1970; None before the first one."""

    @abstractmethod
    def next_event_time_timer(self) -> int | None:
        """When the earliest of all keys' timers is due; None where there is none."""

    @abstractmethod
    def next_processing_time_timer(self) -> int | None:
        """The same, by the clock."""

    # -- Life --------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, StateMetrics]:
        """Of each open state, by name."""
        self._check_open()
        counted = self._counted()
        for name, sampler in self._samplers.items():
            counted[name] = counted[name]._replace(latencies=dict(sampler.latencies))
        return counted

    @abstractmethod
    def _counted(self) -> dict[str, StateMetrics]: ...

    @property
    @abstractmethod
    def closed(self) -> bool: ...

    @abstractmethod
    def _check_open(self) -> None:
        """Raises `ClosedError` after `close`."""

    @abstractmethod
    def close(self) -> None:
        """Ends the use of it and of its states. Closing twice does no harm."""

    def __enter__(self) -> KeyedBackend:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def key_columns(key: KeyType) -> pa.Schema:
    """The columns of a backend's keys. One type is a column named "key"."""
    if isinstance(key, pa.DataType):
        return pa.schema([pa.field("key", key)])
    if not isinstance(key, pa.Schema) or len(key) == 0:
        raise InvalidError(f"a key is an Arrow type, or a schema with columns, not {key!r}")
    return key


def _check_groups(max_parallelism: int, key_groups: range | None) -> range:
    if not 1 <= max_parallelism <= 32768:
        raise InvalidError(f"max_parallelism is {max_parallelism}; it must be 1 to 32768")
    groups = range(max_parallelism) if key_groups is None else key_groups
    if (
        not isinstance(groups, range)
        or groups.step != 1
        or not 0 <= groups.start < groups.stop <= max_parallelism
    ):
        raise InvalidError(
            f"key_groups={groups!r} is not a range of key groups, of which there are "
            f"{max_parallelism}"
        )
    return groups
