"""States of one's own objects: codecs around states of bytes, the same for every backend.

A codec that raises becomes an `InvalidError` that names state and codec, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import (
    ABSENT,
    AggregateFunction,
    ListState,
    MapIterator,
    MapState,
    ReduceFunction,
    ReducingState,
    SortedState,
    State,
    ValueState,
)
from flintstate.state.codec import Codec
from flintstate.state.descriptor import StateDescriptor, StateType

Entry: TypeAlias = tuple[object, list[object]]


class Coder:
    """One codec at work for one state; the same in either direction where there is no codec."""

    def __init__(self, state: StateDescriptor, given: StateType) -> None:
        self._codec = None if isinstance(given, pa.DataType | pa.Schema) else given
        self._state = state
        self.around: Callable[..., Any] = _directly
        """Makes calls that run code of the user's in the middle of one on the state."""

    @property
    def active(self) -> bool:
        return self._codec is not None

    def encode(self, value: object) -> Any:
        """The bytes of an object; None stays None, and is for the state to judge."""
        if self._codec is None or value is None:
            return value
        data = self.around(self._encoded, value)
        if not isinstance(data, bytes):
            raise InvalidError(
                f"{self._name}: encode returned {type(data).__name__}, where bytes are wanted"
            )
        return data

    def decode(self, data: Any) -> object:
        if self._codec is None or data is None:
            return data
        try:
            return self._codec.decode(data)
        except Exception as error:
            raise self._blamed("decode", error) from error

    def _encoded(self, value: object) -> object:
        assert self._codec is not None
        try:
            return self._codec.encode(value)
        except Exception as error:
            raise self._blamed("encode", error) from error

    def column(self, values: Any) -> Any:
        """A column of a batch: Arrow as it is, of bytes then; anything else holds objects."""
        if (
            self._codec is None
            or hasattr(values, "__arrow_c_stream__")
            or isinstance(values, pa.Array)
        ):
            return values
        return pa.array(self.around(self.encode_all, values), pa.binary())

    def encode_all(self, values: Iterable[object]) -> list[Any]:
        return [self.encode(value) for value in values]

    @property
    def _name(self) -> str:
        assert self._codec is not None
        return f"{self._state.kind} state '{self._state.name}', codec '{self._codec.name}'"

    def _blamed(self, what: str, error: Exception) -> InvalidError:
        return InvalidError(f"{self._name}: {what} raised {type(error).__name__}: {error}")


def _directly(call: Callable[..., Any], *arguments: Any) -> Any:
    return call(*arguments)


class Coding:
    """The codecs of one state: of its values and, where it has them, of its own keys."""

    def __init__(self, state: StateDescriptor, types: list[StateType]) -> None:
        self._state = state
        coders = [Coder(state, given) for given in types]
        self._values = coders[-1]
        self._keys = coders[0]
        self._active = any(coder.active for coder in coders)
        if state.kind == "sorted" and state.key_codec and not cast(Codec[object], types[0]).ordered:
            raise InvalidError(
                f"sorted state '{state.name}': codec '{state.key_codec}' is not ordered"
            )
        if state.function and state.function not in ("first", "last") and state.value_codec:
            raise InvalidError(
                f"reducing state '{state.name}': '{state.function}' does not work on objects of "
                f"codec '{state.value_codec}'; give a Python function"
            )

    def default(self, default: object) -> object:
        return self._values.encode(default)

    def function(self, function: object) -> object:
        if not self._active or isinstance(function, str) or function is None:
            return function
        if self._state.kind == "reducing":
            return _coded_reduce(cast(ReduceFunction[object], function), self._values)
        return _CodedAggregate(
            cast(AggregateFunction[object, object, object], function), self._values
        )

    def wrap(self, inner: State) -> State:
        if not self._active or self._state.kind == "aggregating":
            return inner
        for coder in (self._keys, self._values):
            coder.around = cast(Any, inner).undisturbed
        return _WRAPPERS[self._state.kind](inner, self._keys, self._values)


def _coded_reduce(function: ReduceFunction[object], coder: Coder) -> ReduceFunction[bytes]:
    def reduce(a: bytes, b: bytes) -> bytes:
        return cast(bytes, coder.encode(function(coder.decode(a), coder.decode(b))))

    return reduce


class _CodedAggregate:
    """An aggregate function whose accumulator is bytes outside of it."""

    def __init__(self, function: AggregateFunction[object, object, object], coder: Coder) -> None:
        self._function = function
        self._coder = coder

    def create_accumulator(self) -> bytes:
        return cast(bytes, self._coder.encode(self._function.create_accumulator()))

    def add(self, value: object, acc: bytes) -> bytes:
        return cast(bytes, self._coder.encode(self._function.add(value, self._coder.decode(acc))))

    def get_result(self, acc: bytes) -> object:
        return self._function.get_result(self._coder.decode(acc))

    def merge(self, a: bytes, b: bytes) -> bytes:
        merged = self._function.merge(self._coder.decode(a), self._coder.decode(b))
        return cast(bytes, self._coder.encode(merged))


# -- The states ------------------------------------------------------------------------------------


class _Coded(State):
    __slots__ = ("_inner", "_keys", "_values")

    def __init__(self, inner: Any, keys: Coder, values: Coder) -> None:
        self._inner = inner
        self._keys = keys
        self._values = values

    @property
    def name(self) -> str:
        return cast(str, self._inner.name)

    @property
    def namespace(self) -> object:
        return self._inner.namespace

    def set_namespace(self, namespace: object) -> None:
        self._inner.set_namespace(namespace)

    def clear(self) -> None:
        self._inner.clear()

    def clear_many(self, keys: pa.Array) -> None:
        self._inner.clear_many(keys)

    def merge_namespaces(self, target: object, sources: Iterable[object]) -> None:
        self._inner.merge_namespaces(target, sources)

    def _encode_all(self, values: Iterable[object]) -> list[object]:
        if values is None:
            raise InvalidError(f"state '{self.name}': None is no list of values")
        return cast(list[object], self._inner.undisturbed(self._values.encode_all, values))

    def _decode_all(self, values: Iterable[object]) -> list[object]:
        return [self._values.decode(value) for value in values]


class CodedValueState(_Coded, ValueState[object]):
    __slots__ = ()

    def value(self) -> object:
        return self._values.decode(self._inner.value())

    def update(self, value: object) -> None:
        self._inner.update(self._values.encode(value))

    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> list[object]:
        return self._decode_all(self._inner.get_many(keys, times=times).to_pylist())

    def put_many(
        self,
        keys: pa.Array,
        values: pa.Array | Iterable[object],
        *,
        times: pa.Array | None = None,
    ) -> None:
        self._inner.put_many(keys, self._values.column(values), times=times)


class CodedListState(_Coded, ListState[object]):
    __slots__ = ()

    def get(self) -> list[object]:
        return self._decode_all(self._inner.get())

    def add(self, value: object) -> None:
        self._inner.add(self._values.encode(value))

    def add_all(self, values: Iterable[object]) -> None:
        self._inner.add_all(self._encode_all(values))

    def update(self, values: Iterable[object]) -> None:
        self._inner.update(self._encode_all(values))

    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> list[list[object]]:
        found = self._inner.get_many(keys, times=times)
        return [self._decode_all(data) for data in found.to_pylist()]

    def add_many(
        self,
        keys: pa.Array,
        values: pa.Array | Iterable[object],
        *,
        times: pa.Array | None = None,
    ) -> None:
        self._inner.add_many(keys, self._values.column(values), times=times)


class CodedReducingState(_Coded, ReducingState[object]):
    __slots__ = ()

    def get(self) -> object:
        return self._values.decode(self._inner.get())

    def add(self, value: object) -> None:
        self._inner.add(self._values.encode(value))

    def get_many(self, keys: pa.Array, *, times: pa.Array | None = None) -> list[object]:
        return self._decode_all(self._inner.get_many(keys, times=times).to_pylist())

    def add_many(
        self,
        keys: pa.Array,
        values: pa.Array | Iterable[object],
        *,
        times: pa.Array | None = None,
    ) -> None:
        self._inner.add_many(keys, self._values.column(values), times=times)


class CodedMapState(_Coded, MapState[object, object]):
    __slots__ = ()

    def get(self, key: object, default: object = None) -> object:
        found = self._inner.get(self._keys.encode(key), ABSENT)
        return default if found is ABSENT else self._values.decode(found)

    def put(self, key: object, value: object) -> None:
        self._inner.put(self._keys.encode(key), self._values.encode(value))

    def put_all(self, entries: Mapping[object, object] | Iterable[tuple[object, object]]) -> None:
        self._inner.put_all(self._inner.undisturbed(self._encode_pairs, entries))

    def _encode_pairs(
        self, entries: Mapping[object, object] | Iterable[tuple[object, object]]
    ) -> list[tuple[object, object]]:
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        return [(self._keys.encode(key), self._values.encode(value)) for key, value in pairs]

    def remove(self, key: object) -> None:
        self._inner.remove(self._keys.encode(key))

    def contains(self, key: object) -> bool:
        return cast(bool, self._inner.contains(self._keys.encode(key)))

    def items(self) -> MapIterator[tuple[object, object]]:
        decode_key, decode = self._keys.decode, self._values.decode
        return CodedIterator(
            self._inner.items(), lambda entry: (decode_key(entry[0]), decode(entry[1])), self
        )

    def keys(self) -> MapIterator[object]:
        return CodedIterator(self._inner.keys(), self._keys.decode, self)

    def values(self) -> MapIterator[object]:
        return CodedIterator(self._inner.values(), self._values.decode, self)

    def is_empty(self) -> bool:
        return cast(bool, self._inner.is_empty())

    def __len__(self) -> int:
        return len(self._inner)

    def get_many(
        self,
        keys: pa.Array,
        map_keys: pa.Array | Iterable[object],
        *,
        times: pa.Array | None = None,
    ) -> Any:
        found = self._inner.get_many(keys, self._keys.column(map_keys), times=times)
        return self._decode_all(found.to_pylist()) if self._values.active else found

    def put_many(
        self,
        keys: pa.Array,
        map_keys: pa.Array | Iterable[object],
        values: pa.Array | Iterable[object],
        *,
        times: pa.Array | None = None,
    ) -> None:
        map_column, column = self._keys.column(map_keys), self._values.column(values)
        self._inner.put_many(keys, map_column, column, times=times)


class CodedIterator(MapIterator[Any]):
    __slots__ = ("_decode", "_inner", "_state")

    def __init__(
        self, inner: MapIterator[Any], decode: Callable[[Any], object], state: CodedMapState
    ) -> None:
        self._inner = inner
        self._decode = decode
        self._state = state

    def __next__(self) -> object:
        return self._decode(next(self._inner))

    def remove(self) -> None:
        self._inner.remove()

    def set_value(self, value: object) -> None:
        self._inner.set_value(self._state._values.encode(value))


class CodedSortedState(_Coded, SortedState[object, object]):
    __slots__ = ()

    def values_at(self, key: object) -> list[object] | None:
        values = self._inner.values_at(self._keys.encode(key))
        return None if values is None else self._decode_all(values)

    def add(self, key: object, value: object) -> None:
        self._inner.add(self._keys.encode(key), self._values.encode(value))

    def put(self, key: object, values: Iterable[object]) -> None:
        self._inner.put(self._keys.encode(key), self._encode_all(values))

    def first_entry(self, from_key: object = None) -> Entry | None:
        return self._entry(self._inner.first_entry(self._keys.encode(from_key)))

    def last_entry(self, to_key: object = None) -> Entry | None:
        return self._entry(self._inner.last_entry(self._keys.encode(to_key)))

    def read_range(
        self,
        from_key: object,
        to_key: object,
        inclusive_to: bool = False,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        low, high = self._keys.encode(from_key), self._keys.encode(to_key)
        read = self._inner.read_range(low, high, inclusive_to, reverse=reverse, limit=limit)
        return map(self._decoded, read)

    def read_range_until(
        self,
        to_key: object,
        inclusive_to: bool = False,
        *,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        high = self._keys.encode(to_key)
        read = self._inner.read_range_until(high, inclusive_to, reverse=reverse, limit=limit)
        return map(self._decoded, read)

    def read_range_from(
        self, from_key: object, *, reverse: bool = False, limit: int | None = None
    ) -> Iterator[Entry]:
        low = self._keys.encode(from_key)
        return map(self._decoded, self._inner.read_range_from(low, reverse=reverse, limit=limit))

    def clear_entry_at(self, key: object) -> None:
        self._inner.clear_entry_at(self._keys.encode(key))

    def clear_range(self, from_key: object, to_key: object, inclusive_to: bool = False) -> None:
        low, high = self._keys.encode(from_key), self._keys.encode(to_key)
        self._inner.clear_range(low, high, inclusive_to)

    def clear_range_until(self, to_key: object, inclusive_to: bool = False) -> None:
        self._inner.clear_range_until(self._keys.encode(to_key), inclusive_to)

    def clear_range_from(self, from_key: object) -> None:
        self._inner.clear_range_from(self._keys.encode(from_key))

    def add_many(
        self,
        keys: pa.Array,
        sort_keys: pa.Array | Iterable[object],
        values: pa.Array | Iterable[object],
        *,
        times: pa.Array | None = None,
    ) -> None:
        sort_column, column = self._keys.column(sort_keys), self._values.column(values)
        self._inner.add_many(keys, sort_column, column, times=times)

    def _decoded(self, entry: Entry) -> Entry:
        return self._keys.decode(entry[0]), self._decode_all(entry[1])

    def _entry(self, entry: Entry | None) -> Entry | None:
        return None if entry is None else self._decoded(entry)


_WRAPPERS: dict[str, Callable[[State, Coder, Coder], State]] = {
    "value": CodedValueState,
    "list": CodedListState,
    "map": CodedMapState,
    "reducing": CodedReducingState,
    "sorted": CodedSortedState,
}
