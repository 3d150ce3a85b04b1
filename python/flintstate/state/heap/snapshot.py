"""What a heap backend held at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flintstate.state.descriptor import StateDescriptor
from flintstate.state.heap.table import Shard

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapBackend


class HeapSnapshot:
    """Taking one copies a list of key groups for each state, and nothing of what is in them.

    Belongs to the thread of its backend; what it holds never changes and may be read on any.
    """

    def __init__(self, backend: HeapBackend) -> None:
        self.epoch = backend._epoch
        self.states: dict[str, tuple[StateDescriptor, list[Shard], bool]] = {
            name: (backend._descriptors[name], list(table.shards), table.stamped)
            for name, table in backend._tables.items()
        }
        self.timers = [list(timers.table.shards) for timers in backend._timers()]
        self._backend = backend

    def release(self) -> None:
        """The backend may write in place again. Doing it twice does no harm."""
        self._backend._released(self)
