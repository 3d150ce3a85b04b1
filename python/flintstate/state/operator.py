"""Operator state: what belongs to a whole operator, not to a key.

List state is split evenly when the parallelism changes, union list state goes to everyone whole,
broadcast state is a map that is the same for all. It is small and kept in memory; snapshots of it
are Arrow tables, which `rescale` deals out anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, Literal, TypeAlias, TypeVar, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.convert import ValueType
from flintstate.state.keys import KeyType, Token

__all__ = [
    "BroadcastState",
    "OperatorBackend",
    "OperatorListState",
    "OperatorStateSnapshot",
    "rescale",
]

K = TypeVar("K")
V = TypeVar("V")

OperatorKind: TypeAlias = Literal["list", "union list", "broadcast"]


@dataclasses.dataclass(frozen=True)
class OperatorStateSnapshot:
    """One state of one instance: a table with a column "value", and "key" for broadcast state."""

    kind: OperatorKind
    table: pa.Table

    def __str__(self) -> str:
        return f"{self.kind} state of {', '.join(str(field.type) for field in self.table.schema)}"


Snapshot: TypeAlias = dict[str, OperatorStateSnapshot]


class OperatorListState(Generic[V]):
    """Elements in the order in which they were added."""

    def __init__(self, name: str, kind: OperatorKind, type_: pa.DataType) -> None:
        self.name = name
        self.kind = kind
        self._type = ValueType(type_, f"operator state '{name}'")
        self._elements: list[object] = []

    def get(self) -> list[V]:
        """All elements, in a list of the caller's own."""
        return [cast(V, self._type.release(element)) for element in self._elements]

    def add(self, value: V) -> None:
        """Appends an element. Raises `InvalidError` for None and for what does not fit."""
        self._elements.append(self._type.admit_some(value))

    def add_all(self, values: Iterable[V]) -> None:
        """Appends all, or none where one of them does not fit."""
        admitted = self._admit_all(values)
        self._elements += admitted

    def update(self, values: Iterable[V]) -> None:
        """Replaces all elements."""
        self._elements = self._admit_all(values)

    def _admit_all(self, values: Iterable[V]) -> list[object]:
        elements, count = self._elements, len(self._elements)
        admitted = [self._type.admit_some(value) for value in values]
        if self._elements is not elements or len(elements) != count:
            raise InvalidError(
                f"operator state '{self.name}': it was changed while the values for it were made: "
                "make them first, as a list"
            )
        return admitted

    def clear(self) -> None:
        self._elements = []

    def snapshot(self) -> OperatorStateSnapshot:
        column = pa.array(self._elements, self._type.arrow)
        return OperatorStateSnapshot(self.kind, pa.table({"value": column}))

    def load(self, snapshot: OperatorStateSnapshot) -> None:
        self.update(snapshot.table["value"].to_pylist())


class BroadcastState(Generic[K, V]):
    """A map that must be changed alike everywhere; in the order of its encoded keys."""

    kind: OperatorKind = "broadcast"

    def __init__(self, name: str, key: pa.DataType, value: pa.DataType) -> None:
        self.name = name
        self._key = KeyType.of_user(key, f"broadcast state '{name}' key")
        self._key_arrow = key
        self._type = ValueType(value, f"broadcast state '{name}' value")
        self._entries: dict[Token, object] = {}

    def get(self, key: K) -> V | None:
        """The value of a key; None where there is none."""
        found = self._entries.get(self._key.token(key))
        return cast(V, None if found is None else self._type.release(found))

    def put(self, key: K, value: V) -> None:
        """Sets an entry. Raises `InvalidError` where key or value do not fit, or are None."""
        self._entries[self._key.token(key)] = self._type.admit_some(value)

    def put_all(self, entries: Mapping[K, V]) -> None:
        """Sets all entries, or none where one of them does not fit."""
        self._entries.update(
            [(self._key.token(k), self._type.admit_some(v)) for k, v in entries.items()]
        )

    def remove(self, key: K) -> None:
        """Removes an entry; one that is not there does no harm."""
        self._entries.pop(self._key.token(key), None)

    def contains(self, key: K) -> bool:
        return self._key.token(key) in self._entries

    def items(self) -> Iterator[tuple[K, V]]:
        """All entries as they are now."""
        for token in sorted(self._entries):
            value = self._type.release(self._entries[token])
            yield cast(K, self._key.release(token)), cast(V, value)

    def clear(self) -> None:
        self._entries.clear()

    def snapshot(self) -> OperatorStateSnapshot:
        keys = [self._key.release(token) for token in self._entries]
        values = list(self._entries.values())
        columns = {
            "key": pa.array(keys, self._key_arrow),
            "value": pa.array(values, self._type.arrow),
        }
        return OperatorStateSnapshot("broadcast", pa.table(columns))

    def load(self, snapshot: OperatorStateSnapshot) -> None:
        keys = self._key.tokens(snapshot.table["key"])
        values = map(self._type.admit_some, snapshot.table["value"].to_pylist())
        self._entries = dict(zip(keys, values, strict=True))


AnyOperatorState: TypeAlias = OperatorListState[object] | BroadcastState[object, object]


class OperatorBackend:
    """The operator states of one instance.

    >>> backend = OperatorBackend()
    >>> offsets = backend.list_state("offsets", pa.int64())
    >>> offsets.add(17)
    >>> three = rescale([backend.snapshot()], 3)
    >>> restored = OperatorBackend(three[0])
    """

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._restored = dict(snapshot or {})
        self._states: dict[str, AnyOperatorState] = {}

    def list_state(self, name: str, type: pa.DataType) -> OperatorListState[V]:  # noqa: A002
        """Opens a list that is split evenly when the parallelism changes."""
        return cast(OperatorListState[V], self._open(OperatorListState(name, "list", type)))

    def union_list_state(self, name: str, type: pa.DataType) -> OperatorListState[V]:  # noqa: A002
        """Opens a list that everyone gets whole when the parallelism changes."""
        return cast(OperatorListState[V], self._open(OperatorListState(name, "union list", type)))

    def broadcast_state(
        self, name: str, key: pa.DataType, value: pa.DataType
    ) -> BroadcastState[K, V]:
        """Opens a map that is the same for all."""
        return cast(BroadcastState[K, V], self._open(BroadcastState(name, key, value)))

    def _open(self, wanted: AnyOperatorState) -> AnyOperatorState:
        known = self._states.get(wanted.name)
        before = known.snapshot() if known is not None else self._restored.get(wanted.name)
        if before is not None:
            here = wanted.snapshot()
            if (here.kind, here.table.schema) != (before.kind, before.table.schema):
                raise InvalidError(
                    f"operator state '{wanted.name}' is a {before}; it can't be opened as a {here}"
                )
        if known is not None:
            return known
        if before is not None:
            wanted.load(before)
        self._states[wanted.name] = wanted
        return wanted

    def snapshot(self) -> Snapshot:
        """All states as they are now; those that were restored and not opened, as they were."""
        return {**self._restored, **{n: state.snapshot() for n, state in self._states.items()}}


def rescale(snapshots: Sequence[Snapshot], parallelism: int) -> list[Snapshot]:
    """Deals the operator state of all instances out to `parallelism` new ones.

    Lists are put together in the order of the instances and split evenly; whoever restores a union
    list gets all of it; broadcast state is that of the first instance which has it. Raises
    `InvalidError` where a state is of another kind or type in two of the snapshots.
    """
    if parallelism < 1:
        raise InvalidError(f"parallelism is {parallelism}; it must be 1 or more")
    dealt: list[Snapshot] = [{} for _ in range(parallelism)]
    for name in dict.fromkeys(name for snapshot in snapshots for name in snapshot):
        parts = [snapshot[name] for snapshot in snapshots if name in snapshot]
        for part in parts[1:]:
            if str(part) != str(parts[0]):
                raise InvalidError(f"operator state '{name}' is a {parts[0]} and a {part}")
        for number, part in enumerate(_deal(parts, parallelism)):
            dealt[number][name] = part
    return dealt


def _deal(
    parts: Sequence[OperatorStateSnapshot], parallelism: int
) -> Iterator[OperatorStateSnapshot]:
    kind = parts[0].kind
    if kind == "broadcast":
        yield from [parts[0]] * parallelism
        return
    whole = pa.concat_tables([part.table for part in parts])
    if kind == "union list":
        yield from [OperatorStateSnapshot(kind, whole)] * parallelism
        return
    each, more = divmod(whole.num_rows, parallelism)
    start = 0
    for number in range(parallelism):
        count = each + (number < more)
        yield OperatorStateSnapshot(kind, whole.slice(start, count))
        start += count
