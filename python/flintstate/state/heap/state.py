"""What a heap backend's states have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import State
from flintstate.state.descriptor import StateDescriptor, Ttl
from flintstate.state.heap.table import Address, Shard, Table
from flintstate.state.keys import KeyType, Token

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend

C = TypeVar("C")

_CLEANED_PER_ACCESS = 3
NEVER = None
"""The stamp of what was written without one: it does not expire."""


class HeapState(State):
    """A state over one table. Addresses are the current key's, in the state's namespace."""

    __slots__ = ("_backend", "_flat", "_namespace", "_namespace_type", "_shards", "_sweeper",
                 "_table", "_ttl", "_ttl_millis", "descriptor", "reads", "writes")  # fmt: skip

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
        self._namespace: Token = None
        self._namespace_type = (
            None if descriptor.namespace is None
            else KeyType.of_namespace(descriptor.namespace, f"{self} namespace")
        )  # fmt: skip
        self._sweeper: Iterator[None] = iter(())
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

    def _at_each(self, keys: pa.Array) -> Iterator[int]:
        """Makes each of `keys` the current one in turn; the one before comes back at the end."""
        backend = self._backend
        places = backend._places(keys)
        key, group = backend._key, backend._group
        try:
            for i, (backend._key, backend._group) in enumerate(places):
                yield i
        finally:
            backend._key, backend._group = key, group

    # -- Time to live ------------------------------------------------------------------------------

    def _stamp(self) -> int | None:
        assert self._ttl is not None
        return self._backend._watermark if self._ttl.event_time else self._backend._clock()

    def _horizon(self) -> int | None:
        """Whatever is stamped with this time or an earlier one has expired."""
        now = self._stamp()
        return None if now is None else now - self._ttl_millis

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

    def _sweep(self) -> None:
        """Looks at a few cells and drops what has expired in them; each access does it."""
        for _ in range(_CLEANED_PER_ACCESS):
            if next(self._sweeper, self) is self:
                self._sweeper = self._sweep_all()
                return

    def _sweep_all(self) -> Iterator[None]:
        for group in range(len(self._shards)):
            for address in list(self._shards[group]):
                cell = self._shards[group].get(address)
                if cell is not None:
                    self._drop_expired(group, address, cell)
                yield

    def _drop_expired(self, group: int, address: Address, cell: object) -> None:
        horizon = self._horizon()
        if horizon is None:
            return
        rest = self._alive(cell, horizon)
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

    def _alive(self, cell: object, horizon: int) -> object:
        """The cell without what has expired: itself if nothing has, None if all has."""
        raise NotImplementedError

    def seen(self, cell: object) -> object:
        """What a read may see of a cell: itself, a part of it, or None."""
        if self._ttl is None or self._ttl.return_expired:
            return cell
        horizon = self._horizon()
        return cell if horizon is None else self._alive(cell, horizon)

    # -- Entries -----------------------------------------------------------------------------------

    def columns(self, cell: object) -> list[tuple[object, ...]]:
        """The rows that a cell is in an Arrow stream."""
        raise NotImplementedError

    def column_types(self) -> list[tuple[str, pa.DataType]]:
        raise NotImplementedError
