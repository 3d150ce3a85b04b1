"""A well-kept sorted container: keys in order, each with a list of values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from flintstate.state.heap.table import ListCell
from flintstate.state.keys import Token

_CHUNK_MAX = 1024


class SortedCell:
    """A sorted map from tokens to lists, in chunks of keys, so that inserting moves few of them.

    `lasts[i]` is the greatest key of `chunks[i]`, and no chunk is empty.
    """

    __slots__ = ("chunks", "entries", "epoch", "lasts")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.entries: dict[Token, ListCell] = {}
        self.chunks: list[list[Token]] = []
        self.lasts: list[Token] = []

    def copy_at(self, epoch: int) -> SortedCell:
        """Its own keys, but the same lists: those have epochs of their own."""
        copy = SortedCell(epoch)
        copy.entries = dict(self.entries)
        copy.chunks = [list(chunk) for chunk in self.chunks]
        copy.lasts = list(self.lasts)
        return copy

    def values_to_change(self, token: Token, epoch: int, frozen: int) -> ListCell:
        """The values at a key, made if need be, in a form that may be written to."""
        values = self.entries.get(token)
        if values is None:
            values = self.entries[token] = ListCell(epoch)
            self._insert(token)
        elif values.epoch < frozen:
            values = self.entries[token] = values.copy_at(epoch)
        return values

    def _insert(self, token: Token) -> None:
        if not self.chunks:
            self.chunks.append([token])
            self.lasts.append(token)
            return
        at = bisect_left(self.lasts, token)
        if at == len(self.chunks):
            at -= 1
            self.chunks[at].append(token)
            self.lasts[at] = token
        else:
            insort(self.chunks[at], token)
        if len(self.chunks[at]) > _CHUNK_MAX:
            half = self.chunks[at][: _CHUNK_MAX // 2]
            del self.chunks[at][: _CHUNK_MAX // 2]
            self.chunks.insert(at, half)
            self.lasts.insert(at, half[-1])

    def remove(self, token: Token) -> None:
        """Requires that it is there."""
        del self.entries[token]
        at = bisect_left(self.lasts, token)
        chunk = self.chunks[at]
        del chunk[bisect_left(chunk, token)]
        if chunk:
            self.lasts[at] = chunk[-1]
        else:
            del self.chunks[at]
            del self.lasts[at]

    def remove_between(self, low: Token, high: Token, inclusive: bool) -> None:
        """None as a bound means no bound."""
        gone = list(self.between(low, high, inclusive, reverse=False))
        if len(gone) * 8 < len(self.entries):
            for token in gone:
                self.remove(token)
            return
        for token in gone:
            del self.entries[token]
        rest = [token for chunk in self.chunks for token in chunk if token in self.entries]
        half = _CHUNK_MAX // 2
        self.chunks = [rest[i : i + half] for i in range(0, len(rest), half)]
        self.lasts = [chunk[-1] for chunk in self.chunks]

    def between(
        self, low: Token, high: Token, inclusive: bool, *, reverse: bool
    ) -> Iterator[Token]:
        """The keys from `low` on up to `high`; nothing may be changed meanwhile."""
        first = (0, 0) if low is None else self._place(low, after=False)
        end = (len(self.chunks), 0) if high is None else self._place(high, after=inclusive)
        if first >= end:
            return
        numbers = range(first[0], min(end[0] + 1, len(self.chunks)))
        for number in reversed(numbers) if reverse else numbers:
            chunk = self.chunks[number]
            start = first[1] if number == first[0] else 0
            stop = end[1] if number == end[0] else len(chunk)
            part = chunk[start:stop]
            yield from reversed(part) if reverse else part

    def _place(self, token: Token, *, after: bool) -> tuple[int, int]:
        """Chunk and index of the first key at `token` or, with `after`, behind it."""
        bisect = bisect_right if after else bisect_left
        at = bisect(self.lasts, token)
        if at == len(self.chunks):
            return at, 0
        return at, bisect(self.chunks[at], token)
