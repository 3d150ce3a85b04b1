"""The kinds of keyed state: what each means, whichever backend holds it.

A state belongs to a backend's current key and to its own namespace. Reading never creates. Every
method needs a current key (`InvalidError` without one) and an open backend (`ClosedError`).

Methods for many keys take `times`, the event time of each row, where the state lives by event time:
timestamps, or integers in milliseconds since 1970. Without it, all rows have the time that
`KeyedBackend.set_event_time` said last.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, Self, TypeVar, overload

if TYPE_CHECKING:
    import pyarrow as pa

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")
E_co = TypeVar("E_co", covariant=True)
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")
IN_contra = TypeVar("IN_contra", contravariant=True)
OUT_co = TypeVar("OUT_co", covariant=True)


class Absent(enum.Enum):
    """Stands for what is not there, where None may be a value."""

    ABSENT = 0


ABSENT = Absent.ABSENT


class State(ABC):
    """What all kinds have in common."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Self:
        """A copy of what holds a state has the same one: the backend's, which is not copied."""
        return self

    @property
    @abstractmethod
    def name(self) -> str:
        """The name it was opened by."""

    @property
    @abstractmethod
    def namespace(self) -> object:
        """The current namespace: None until `set_namespace`."""

    @abstractmethod
    def set_namespace(self, namespace: object) -> None:
        """Goes to another namespace, which stays when the key changes.

        Raises `InvalidError` where it does not fit the state's namespace type.
        """

    @abstractmethod
    def clear(self) -> None:
        """Empties the state of the current key and namespace."""

    @abstractmethod
    def clear_many(self, keys: pa.Array) -> None:
        """Empties the state of each of `keys` in the current namespace."""


class MergingState(State):
    """A state whose namespaces can be merged, as session windows are."""

    __slots__ = ()

    @abstractmethod
    def merge_namespaces(self, target: object, sources: Iterable[object]) -> None:
        """Moves what `sources` hold for the current key to `target`; the sources are gone.

        Missing and empty sources do no harm. The current namespace stays. Nothing is refreshed.
        """


class ValueState(State, Generic[V]):
    """One value.

    >>> count = backend.value_state("count", pa.int64(), default=0)
    >>> count.update(count.value() + 1)
    """

    __slots__ = ()

    @abstractmethod
    def value(self) -> V:
        """The value; the declared default, else None, where there is none."""

    @abstractmethod
    def update(self, value: V | None) -> None:
        """Sets the value; None clears it. Raises `InvalidError` where it does not fit the type."""

    @abstractmethod
    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> pa.Array:
        """The values of `keys`, in their order, as an array of the state's type."""

    @abstractmethod
    def put_many(self, keys: pa.Array, values: pa.Array, *, times: pa.Array | None = None) -> None:
        """Sets the values of `keys`: a null clears, and of equal keys the last one wins."""


class ListState(MergingState, Generic[V]):
    """Elements in the order in which they were added.

    >>> words = backend.list_state("words", pa.string())
    >>> words.add_all(["to", "be"])
    >>> words.get()
    ['to', 'be']
    """

    __slots__ = ()

    @abstractmethod
    def get(self) -> list[V]:
        """All elements, in a list of the caller's own; empty where there are none."""

    @abstractmethod
    def add(self, value: V) -> None:
        """Appends an element. None is an `InvalidError`, as is what does not fit the type."""

    @abstractmethod
    def add_all(self, values: Iterable[V]) -> None:
        """Appends all, or none where one of them does not fit."""

    @abstractmethod
    def update(self, values: Iterable[V]) -> None:
        """Replaces all elements; no elements clear the list."""

    @abstractmethod
    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> pa.Array:
        """The lists of `keys`, as a list array without nulls."""

    @abstractmethod
    def add_many(self, keys: pa.Array, values: pa.Array, *, times: pa.Array | None = None) -> None:
        """Appends `values[i]` to the list of `keys[i]`."""


class MapIterator(ABC, Generic[E_co]):
    """Goes through a map in the order of its keys, and may change what it returned last."""

    __slots__ = ()

    def __iter__(self) -> Iterator[E_co]:
        return self

    @abstractmethod
    def __next__(self) -> E_co: ...

    @abstractmethod
    def remove(self) -> None:
        """Removes the entry that was returned last: once, else `InvalidError`."""

    @abstractmethod
    def set_value(self, value: object) -> None:
        """Writes the value of the entry that was returned last."""


class MapState(State, Generic[K, V]):
    """A map, in the order of its encoded keys, with the methods of a Python mapping.

    A value may be None: its key is there all the same. A key may not. `keys`, `values` and `items`
    give iterators, which page through the store; entries already returned may be changed meanwhile.

    >>> seen = backend.map_state("seen", pa.string(), pa.int64())
    >>> seen["be"] = seen.get("be", 0) + 1
    >>> list(seen.items())
    [('be', 1)]
    """

    __slots__ = ()

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    @abstractmethod
    def get(self, key: K, default: D | None = None) -> V | D | None:
        """The value of `key`, or `default` where there is no such entry."""

    @abstractmethod
    def put(self, key: K, value: V | None) -> None:
        """Sets an entry. Raises `InvalidError` where key or value do not fit."""

    @abstractmethod
    def put_all(self, entries: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Sets all entries, or none where one of them does not fit."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Removes an entry; one that is not there does no harm."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether there is an entry, also where its value is None."""

    @abstractmethod
    def items(self) -> MapIterator[tuple[K, V]]: ...
    @abstractmethod
    def keys(self) -> MapIterator[K]: ...
    @abstractmethod
    def values(self) -> MapIterator[V]: ...

    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no entry that lives. A look, which refreshes nothing."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of entries that live, counted one by one. A look, too."""

    @abstractmethod
    def get_many(
        self, keys: pa.Array, map_keys: pa.Array, *, times: pa.Array | None = None
    ) -> pa.Array:
        """The value of entry `map_keys[i]` of `keys[i]`; null where there is none."""

    @abstractmethod
    def put_many(
        self,
        keys: pa.Array,
        map_keys: pa.Array,
        values: pa.Array,
        *,
        times: pa.Array | None = None,
    ) -> None:
        """Sets entry `map_keys[i]` of `keys[i]` to `values[i]`; a null is a None."""

    # The rest of the mapping protocol, made of the above.

    def __getitem__(self, key: K) -> V:
        found = self.get(key, ABSENT)
        if isinstance(found, Absent):
            raise KeyError(key)
        return found

    def __setitem__(self, key: K, value: V | None) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        if not self.contains(key):
            raise KeyError(key)
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    @overload
    def pop(self, key: K) -> V: ...
    @overload
    def pop(self, key: K, default: D) -> V | D: ...
    def pop(self, key: K, default: D | Absent = ABSENT) -> V | D:
        """Removes an entry and returns its value; `default`, else a KeyError, without one."""
        found = self.get(key, ABSENT)
        if not isinstance(found, Absent):
            self.remove(key)
            return found
        if isinstance(default, Absent):
            raise KeyError(key)
        return default

    def setdefault(self, key: K, default: V | None = None) -> V | None:
        """The value of an entry, which is made with `default` where it is not there."""
        found = self.get(key, ABSENT)
        if not isinstance(found, Absent):
            return found
        self.put(key, default)
        return self.get(key)

    def update(self, entries: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """As `put_all`."""
        self.put_all(entries)


class ReduceFunction(Protocol[V]):
    """Makes one value out of two of the same type."""

    def __call__(self, a: V, b: V, /) -> V: ...


class AggregateFunction(Protocol[IN_contra, ACC, OUT_co]):
    """Gathers what is added in an accumulator, which has a type of its own.

    An accumulator may be changed in place: each call is given a copy of its own.
    """

    def create_accumulator(self) -> ACC: ...
    def add(self, value: IN_contra, acc: ACC, /) -> ACC: ...
    def get_result(self, acc: ACC, /) -> OUT_co: ...
    def merge(self, a: ACC, b: ACC, /) -> ACC: ...


class GatheringState(MergingState, Generic[IN_contra, OUT_co]):
    """A state that values are added to, and that reads as one result."""

    __slots__ = ()

    @abstractmethod
    def get(self) -> OUT_co | None:
        """The result; None where nothing was added."""

    @abstractmethod
    def add(self, value: IN_contra) -> None:
        """Adds a value. Where it does not fit, or the function fails, nothing has changed."""


class ReducingState(GatheringState[V, V]):
    """All values that were added, reduced to one by a function or a built-in one by its name.

    Built-in: sum, min, max, count, first, last, bit_and, bit_or, bit_xor. Integer sums wrap.

    >>> total = backend.reducing_state("total", pa.int64(), "sum")
    >>> total.add(2); total.add(3)
    >>> total.get()
    5
    """

    __slots__ = ()

    @abstractmethod
    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> pa.Array:
        """The results of `keys`, null where nothing was added."""

    @abstractmethod
    def add_many(self, keys: pa.Array, values: pa.Array, *, times: pa.Array | None = None) -> None:
        """Adds `values[i]` to `keys[i]`."""


class AggregatingState(GatheringState[IN, OUT]):
    """What an `AggregateFunction` makes of the values that were added.

    >>> mean = backend.aggregating_state("mean", Mean(), accumulator=pa.struct(
    ...     [("sum", pa.float64()), ("n", pa.int64())]))
    >>> mean.add(3.0)
    """

    __slots__ = ()


class SortedState(State, Generic[K, V]):
    """A map from an ordered key to a list of values: FLIP-220's sorted state.

    "At or after" and ranges follow the order of the declared key, descending where it is so. A
    range whose start lies behind its end is empty. A range read sees the state as of its start.

    >>> events = backend.sorted_state("events", pa.int64(), pa.string())
    >>> events.add(5, "a"); events.add(3, "b")
    >>> events.first_entry()
    (3, ['b'])
    """

    __slots__ = ()

    @abstractmethod
    def values_at(self, key: K) -> list[V] | None:
        """The values at `key`; None where there are none."""

    @abstractmethod
    def add(self, key: K, value: V) -> None:
        """Appends to the values at `key`. None as either is an `InvalidError`."""

    @abstractmethod
    def put(self, key: K, values: Iterable[V]) -> None:
        """Replaces the values at `key`; none clear the entry."""

    @abstractmethod
    def first_entry(self, from_key: K | None = None) -> tuple[K, list[V]] | None:
        """The first entry, or the first one at or after `from_key`."""

    @abstractmethod
    def last_entry(self, to_key: K | None = None) -> tuple[K, list[V]] | None:
        """The last entry, or the last one at or before `to_key`."""

    @abstractmethod
    def read_range(
        self,
        from_key: K,
        to_key: K,
        inclusive_to: bool = False,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[K, list[V]]]:
        """The entries from `from_key` on, up to `to_key`."""

    @abstractmethod
    def read_range_until(
        self,
        to_key: K,
        inclusive_to: bool = False,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[tuple[K, list[V]]]:
        """The entries from the first one up to `to_key`."""

    @abstractmethod
    def read_range_from(
        self, from_key: K, *, reverse: bool = False, limit: int | None = None
    ) -> Iterator[tuple[K, list[V]]]:
        """The entries from `from_key` on."""

    @abstractmethod
    def clear_entry_at(self, key: K) -> None:
        """Removes the values at `key`, if any."""

    @abstractmethod
    def clear_range(self, from_key: K, to_key: K, inclusive_to: bool = False) -> None:
        """Removes the entries that `read_range` would read."""

    @abstractmethod
    def clear_range_until(self, to_key: K, inclusive_to: bool = False) -> None:
        """Removes the entries that `read_range_until` would read."""

    @abstractmethod
    def clear_range_from(self, from_key: K) -> None:
        """Removes the entries that `read_range_from` would read."""

    @abstractmethod
    def add_many(
        self,
        keys: pa.Array,
        sort_keys: pa.Array,
        values: pa.Array,
        *,
        times: pa.Array | None = None,
    ) -> None:
        """Appends `values[i]` at `sort_keys[i]` of `keys[i]`."""


class Timer(NamedTuple):
    """A timer that is due."""

    time: int  # milliseconds since 1970, UTC
    key: object
    namespace: object
