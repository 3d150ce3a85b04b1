"""What a heap backend's states have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.state.api import State
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.moment import NEVER, TIMELESS, Moment, Pair
from flintstate.state.heap.table import Address, Shard, Table
from flintstate.state.keys import KeyType, Token

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend

R = TypeVar("R")

_CLEANED_PER_ACCESS = 3
Place: TypeAlias = tuple[Token, int, Token]
"""A key's token and group, a namespace's token."""


class HeapState(State):
    """A state over one table. Addresses are the current key's, in the state's namespace."""

    __slots__ = ("_backend", "_flat", "_gone", "_namespace", "_namespace_type", "_shards",
                 "_sweeper", "_table", "_ttl", "_ttl_millis", "descriptor", "reads",
                 "writes")  # fmt: skip

    def __init__(
        self, backend: HeapBackend, descriptor: StateDescriptor, table: Table, ttl: Ttl | None
    ) -> None:
        self._backend = backend
        self._table = table
        self._shards = table.shards
        self._ttl = ttl
        self._ttl_millis = ttl.millis if ttl is not None else 0
        self.descriptor = descriptor
        self.reads = 0
        self.writes = 0
        self._flat = descriptor.namespace is None
        self._namespace_type = (
            None if descriptor.namespace is None
            else KeyType.of_namespace(descriptor.namespace, f"{self} namespace")
        )  # fmt: skip
        self._namespace = self.namespace_token(None)
        self._sweeper: Iterator[None] = iter(())
        self._gone = NEVER
        self._restamp()

    def __repr__(self) -> str:
        return f"{self.descriptor.kind} state '{self.descriptor.name}'"

    # -- Names and namespaces ----------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.descriptor.name

    @property
    def namespace(self) -> object:
        return self.namespace_of(self._namespace)

    def namespace_of(self, token: Token) -> object:
        return None if self._namespace_type is None else self._namespace_type.release(token)

    def namespace_token(self, namespace: object) -> Token:
        if self._namespace_type is not None:
            return self._namespace_type.token(namespace)
        if namespace is not None:
            raise InvalidError(f"{self} has no namespaces: declare namespace=<Arrow type>")
        return None

    def namespace_bytes(self, token: Token) -> bytes:
        return b"" if self._namespace_type is None else self._namespace_type.encoded(token)

    def set_namespace(self, namespace: object) -> None:
        self._backend._check_open()
        self._namespace = self.namespace_token(namespace)

    # -- Cells -------------------------------------------------------------------------------------

    def _address(self) -> Address:
        key = self._backend._key
        return key if self._flat else (self._namespace, key)

    def _reading(self) -> Shard:
        try:
            return self._shards[self._backend._group]
        except IndexError:
            raise self._backend._unusable() from None

    def _writing(self) -> Shard:
        backend = self._backend
        try:
            shard = self._shards[backend._group]
        except IndexError:
            raise backend._unusable() from None
        if shard.epoch < backend._frozen:
            shard = self._table.own(backend._group, backend._epoch)
        return shard

    def clear(self) -> None:
        self.writes += 1
        address = self._address()
        if address in self._reading():
            del self._writing()[address]

    def clear_many(self, keys: pa.Array) -> None:
        for _ in self._at_each(keys):
            self.clear()

    def _at_each(self, keys: pa.Array, times: Sequence[int | None] | None = None) -> Iterator[int]:
        """Makes each of `keys` the current one in turn, and its time that of the row.

        The ones before come back at the end.
        """
        backend = self._backend
        places = backend._places(keys)
        key, group, event_time = backend._key, backend._group, backend._event_time
        try:
            for i, (backend._key, backend._group) in enumerate(places):
                if times is not None:
                    backend._event_time = times[i]
                yield i
        finally:
            backend._key, backend._group, backend._event_time = key, group, event_time

    def _at(self, place: Place, call: Callable[..., R], *arguments: object) -> R:
        """Calls it with the current key and namespace at a place."""
        backend = self._backend
        before = (backend._key, backend._group, self._namespace)
        if before == place:
            return call(*arguments)
        backend._check_open()
        backend._key, backend._group, self._namespace = place
        try:
            return call(*arguments)
        finally:
            backend._key, backend._group, self._namespace = before

    def _place(self) -> Place:
        return self._backend._key, self._backend._group, self._namespace

    # -- Code of the user's ------------------------------------------------------------------------

    def undisturbed(self, call: Callable[..., R], *arguments: Any) -> R:
        """Calls what may run code of the user's in the middle of a call on this state.

        That is before the call touches anything. Raises `InvalidError` where the current key or
        the namespace is another one then, or the state was written to.
        """
        backend = self._backend
        key, group, namespace, writes = backend._key, backend._group, self._namespace, self.writes
        result = call(*arguments)
        if (
            backend._key is not key
            or backend._group != group
            or self._namespace is not namespace
            or self.writes != writes
        ):
            self._check_still_at((key, group, namespace), writes)
        return result

    def _check_still_at(self, place: Place, writes: int) -> None:
        backend = self._backend
        backend._check_open()
        key, group, namespace = place
        if (backend._key, backend._group) != (key, group):
            what = "the current key was changed"
        elif self._namespace != namespace:
            what = "its namespace was changed"
        elif self.writes != writes:
            what = "it was written to"
        else:
            return
        raise InvalidError(
            f"{self}: {what} by code that ran in the middle of a call on it (a function, codec, "
            "clock, generator or conversion); do that before the call or after it"
        )

    # -- Time to live ------------------------------------------------------------------------------

    def moment(self) -> Moment:
        """What time it is for one call: asked for before the call touches anything."""
        backend, ttl = self._backend, self._ttl
        if ttl is None:
            return TIMELESS
        if ttl.event_time:
            return self._moment_of(backend._event_time)
        now = self.undisturbed(backend._clock)
        return Moment(now, now - self._ttl_millis, now - self._ttl_millis)

    def _moment_of(self, row_time: int | None) -> Moment:
        times = [time for time in (row_time, self._backend._watermark) if time is not None]
        horizon = max(times) - self._ttl_millis if times else NEVER
        watermark = self._backend._watermark
        gone = NEVER if watermark is None else watermark - self._ttl_millis
        return Moment(row_time, horizon, gone, event_time=True)

    def writing_moment(self) -> Moment:
        """The same, where what is written gets a stamp: `InvalidError` where there is none."""
        now = self.moment()
        if now.event_time and now.stamp is None:
            raise self._undated()
        return now

    def _undated(self) -> InvalidError:
        return InvalidError(
            f"{self} lives by event time, and there is none for what is written: the row's time is "
            "null, or set_event_time was not called (in calls with many keys: give times=)"
        )

    def _times(self, times: object, keys: pa.Array) -> list[int | None] | None:
        """The event time of each row of a call with many keys; None: they have that of all calls.

        Raises `InvalidError` where there are not as many, or the state lives by another time.
        """
        if times is None:
            return None
        if self._ttl is None or not self._ttl.event_time:
            raise InvalidError(
                f"{self} does not live by event time: leave times= out, or open it with "
                "Ttl(event_time=True)"
            )
        given = _core.event_times(times, f"{self} times")
        if len(given) != len(keys):
            raise InvalidError(f"{self} times: {len(given)} given for {len(keys)} keys")
        return given

    def _check_dated(
        self, times: list[int | None] | None, written: Sequence[object] | None = None
    ) -> None:
        """Raises `InvalidError` where a row has no time, but for values that are None."""
        if times is None:
            if written is None or any(value is not None for value in written):
                self.writing_moment()
            return
        for i, time in enumerate(times):
            if time is None and (written is None or written[i] is not None):
                raise InvalidError(f"times: row {i} is null: {self._undated()}")

    def _take_pairs(
        self, pairs: Sequence[Pair], now: Moment
    ) -> tuple[list[object], Sequence[Pair]]:
        """What a read sees of pairs of stamp and value, and what it leaves of them.

        The latter is `pairs` itself where that is all, as it was.
        """
        assert self._ttl is not None
        alive = [pair for pair in pairs if now.sees(pair[0])]
        if self._ttl.return_expired:
            seen = [value for _, value in pairs]
            rest: Sequence[Pair] = pairs if len(alive) == len(pairs) else alive
        else:
            seen, rest = [value for _, value in alive], pairs
        if self._ttl.refresh_on_read and alive:
            rest = [(now.over(s), value) if now.sees(s) else (s, value) for s, value in rest]
        return seen, rest

    def _restamp(self) -> None:
        """Brings what is stored to the form that this state's time to live wants."""
        stamped = self._ttl is not None
        if stamped == self._table.stamped:
            return
        for group, shard in enumerate(self._shards):
            if shard:
                own = self._table.own(group, self._backend._epoch)
                for address, cell in shard.items():
                    own[address] = self._with_stamps(cell) if stamped else self._unstamped(cell)
        self._table.stamped = stamped

    def _sweep(self, now: Moment) -> None:
        """Looks at a few cells and drops what has expired in them; each access does it."""
        self._gone = now.gone
        for _ in range(_CLEANED_PER_ACCESS):
            if next(self._sweeper, self) is self:
                self._sweeper = self._sweep_all()
                return

    def _sweep_all(self) -> Iterator[None]:
        for group in range(len(self._shards)):
            for address in list(self._shards[group]):
                cell = self._shards[group].get(address)
                if cell is not None:
                    self._drop_gone(group, address, cell)
                yield

    def _drop_gone(self, group: int, address: Address, cell: object) -> None:
        rest = self.alive(cell, self._gone)
        if rest is cell:
            return
        shard = self._shards[group]
        if shard.epoch < self._backend._frozen:
            shard = self._table.own(group, self._backend._epoch)
        if rest is None:
            del shard[address]
        else:
            shard[address] = rest

    # What a kind's cells are like.

    def _with_stamps(self, cell: object) -> object:
        raise NotImplementedError

    def _unstamped(self, cell: object) -> object:
        raise NotImplementedError

    def alive(self, cell: object, horizon: int) -> object:
        """The cell without what is stamped with this time or an earlier one.

        Itself if nothing is, or there is no time to live; None if all is.
        """
        return cell if self._ttl is None else self._alive(cell, horizon)

    def _alive(self, cell: object, horizon: int) -> object:
        raise NotImplementedError

    # -- Entries -----------------------------------------------------------------------------------

    def columns(self, cell: object) -> list[tuple[object, ...]]:
        """The rows that a cell is in an Arrow stream."""
        raise NotImplementedError

    def column_types(self) -> list[tuple[str, pa.DataType]]:
        raise NotImplementedError
