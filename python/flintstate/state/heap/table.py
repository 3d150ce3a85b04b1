"""What a heap backend's states are kept in: tables that can be frozen at no cost.

A table has a shard for each key group; a shard maps (key) or (namespace, key) to a cell. A snapshot
takes the lists of shards as they are; afterwards whoever wants to write into something that is
older than the newest snapshot still in use copies it first: a shard's own entries, or one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from flintstate.state.keys import Token

Address: TypeAlias = Any
"""A key's token; with a namespace type (namespace token, key token)."""


class Shard(dict[Address, object]):
    """The cells of one key group."""

    __slots__ = ("epoch",)

    def __init__(self, epoch: int, cells: dict[Address, object] | None = None) -> None:
        if cells:
            super().__init__(cells)
        self.epoch = epoch


_UNTOUCHED = Shard(-1)
"""Stands for every shard that nothing was written to; older than any snapshot."""


class Table:
    """The shards of one state, by key group. `shards` is empty once the backend is closed."""

    __slots__ = ("shards", "stamped")

    def __init__(self, max_parallelism: int) -> None:
        self.shards: list[Shard] = [_UNTOUCHED] * max_parallelism
        self.stamped = False  # whether values are stored with the time of their writing

    def own(self, group: int, epoch: int) -> Shard:
        """A shard that may be written to."""
        shard = self.shards[group] = Shard(epoch, self.shards[group])
        return shard


class ListCell(list[object]):
    """The elements of a list."""

    __slots__ = ("epoch",)

    def __init__(self, epoch: int, elements: Sequence[object] | None = None) -> None:
        if elements:
            super().__init__(elements)
        self.epoch = epoch

    def copy_at(self, epoch: int) -> ListCell:
        return ListCell(epoch, self)


class MapCell(dict[Token, object]):
    """The entries of a map, and its keys in order where they are known."""

    __slots__ = ("epoch", "ordered")

    def __init__(self, epoch: int, entries: dict[Token, object] | None = None) -> None:
        if entries:
            super().__init__(entries)
        self.epoch = epoch
        self.ordered: list[Token] | None = None

    def copy_at(self, epoch: int) -> MapCell:
        return MapCell(epoch, self)

    def in_order(self) -> list[Token]:
        """All keys, in a list that nobody changes."""
        if self.ordered is None:
            self.ordered = sorted(self)
        return self.ordered
