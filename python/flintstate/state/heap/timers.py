"""Timers of a heap backend: a set by key group, and a queue in the order of their firing."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flintstate.state.heap.table import Table
from flintstate.state.keys import Token

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend

Queued = tuple[int, int, bytes, bytes, Token, Token]
"""Time, key group, encoded key, encoded namespace: the order. Then the tokens of both."""


class HeapTimers:
    """The timers of one kind of time: a set of (time, key, namespace).

    Deleting leaves the queue alone: what is no longer in the set is passed over in its turn.
    """

    def __init__(self, backend: HeapBackend) -> None:
        self._backend = backend
        self.table = Table(backend.max_parallelism)
        self._queue: list[Queued] = []

    def register(self, time: int, namespace: Token) -> None:
        backend = self._backend
        address = (time, backend._key, namespace)
        group = backend._group
        if address in self.table.shards[group]:
            return
        self._shard(group)[address] = None
        heapq.heappush(self._queue, self._queued(group, time, backend._key, namespace))

    def delete(self, time: int, namespace: Token) -> None:
        backend = self._backend
        address = (time, backend._key, namespace)
        if address in self.table.shards[backend._group]:
            del self._shard(backend._group)[address]

    def first(self) -> int | None:
        """When the earliest one is due."""
        while self._queue:
            time, group, _, _, key, namespace = self._queue[0]
            if (time, key, namespace) in self.table.shards[group]:
                return time
            heapq.heappop(self._queue)
        return None

    def due(self, until: int) -> Iterator[tuple[int, int, Token, Token]]:
        """Takes away and gives (time, group, key, namespace) of all that are due, in order."""
        while not self._backend.closed:
            first = self.first()
            if first is None or first > until:
                return
            time, group, _, _, key, namespace = heapq.heappop(self._queue)
            del self._shard(group)[time, key, namespace]
            yield time, group, key, namespace

    def load(self) -> None:
        """Builds the queue from a table that was filled otherwise."""
        self._queue = [
            self._queued(group, time, key, namespace)
            for group, shard in enumerate(self.table.shards)
            for time, key, namespace in shard
        ]
        heapq.heapify(self._queue)

    def _queued(self, group: int, time: int, key: Token, namespace: Token) -> Queued:
        encode = self._backend._encoded
        return (time, group, *encode(key, namespace), key, namespace)

    def _shard(self, group: int) -> dict[object, object]:
        shard = self.table.shards[group]
        if shard.epoch < self._backend._frozen:
            shard = self.table.own(group, self._backend._epoch)
        return shard
