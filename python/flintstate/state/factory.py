"""How states are opened: by a name, their types and what else their kind wants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self, TypeVar, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.api import (
    AggregateFunction,
    AggregatingState,
    ListState,
    MapState,
    ReduceFunction,
    ReducingState,
    SortedState,
    State,
    ValueState,
)
from flintstate.state.codec import Codec
from flintstate.state.descriptor import (
    BUILT_IN,
    StateDescriptor,
    StateType,
    Ttl,
    TtlLike,
    descending_columns,
    stored_type,
)

K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
ACC = TypeVar("ACC")
OUT = TypeVar("OUT")


class StateFactory(ABC):
    """Opens states of all kinds.

    A state that was opened before is given again, if it is asked for with the same kind, types,
    default and time to live; else `InvalidError` names what there is and what was asked for. Types
    are Arrow types or codecs.
    """

    def __deepcopy__(self, memo: object) -> Self:
        """As that of a state."""
        return self

    @abstractmethod
    def _open(
        self,
        wanted: StateDescriptor,
        ttl: Ttl | None,
        types: list[StateType],
        *,
        default: object = None,
        function: object = None,
    ) -> State: ...

    def value_state(
        self,
        name: str,
        type: pa.DataType | Codec[V],  # noqa: A002
        *,
        default: V | None = None,
        ttl: TtlLike | None = None,
        namespace: pa.DataType | None = None,
    ) -> ValueState[V]:
        """Opens a state of one value; `default` is what an empty one reads as.

        A time to live leaves the default without effect: after cleanup nothing can tell an expired
        value from one that was never written, so both read None.
        """
        state = StateDescriptor.of("value", name, type, namespace=namespace)
        return cast(ValueState[V], self._open(state, Ttl.of(ttl), [type], default=default))

    def list_state(
        self,
        name: str,
        type: pa.DataType | Codec[V],  # noqa: A002
        *,
        ttl: TtlLike | None = None,
        namespace: pa.DataType | None = None,
    ) -> ListState[V]:
        """Opens a state of many elements in the order of their coming."""
        state = StateDescriptor.of("list", name, type, namespace=namespace)
        return cast(ListState[V], self._open(state, Ttl.of(ttl), [type]))

    def map_state(
        self,
        name: str,
        key: pa.DataType | Codec[K],
        value: pa.DataType | Codec[V],
        *,
        ttl: TtlLike | None = None,
        namespace: pa.DataType | None = None,
    ) -> MapState[K, V]:
        """Opens a state that is a map."""
        state = StateDescriptor.of("map", name, value, user_key=key, namespace=namespace)
        return cast(MapState[K, V], self._open(state, Ttl.of(ttl), [key, value]))

    def reducing_state(
        self,
        name: str,
        type: pa.DataType | Codec[V],  # noqa: A002
        function: str | ReduceFunction[V],
        *,
        ttl: TtlLike | None = None,
        namespace: pa.DataType | None = None,
    ) -> ReducingState[V]:
        """Opens a state that reduces what is added, by a function or by a built-in one's name."""
        if not callable(function) and function not in BUILT_IN:
            raise InvalidError(
                f"state '{name}': there is no function {function!r}; built in are "
                f"{', '.join(BUILT_IN)}"
            )
        built_in = function if isinstance(function, str) else ""
        state = StateDescriptor.of("reducing", name, type, function=built_in, namespace=namespace)
        return cast(ReducingState[V], self._open(state, Ttl.of(ttl), [type], function=function))

    def aggregating_state(
        self,
        name: str,
        function: AggregateFunction[IN, ACC, OUT],
        *,
        accumulator: pa.DataType | Codec[ACC],
        ttl: TtlLike | None = None,
        namespace: pa.DataType | None = None,
    ) -> AggregatingState[IN, OUT]:
        """Opens a state that keeps the accumulator, of a type of its own, of what is added."""
        _check_aggregates(function, name)
        state = StateDescriptor.of("aggregating", name, accumulator, namespace=namespace)
        return cast(
            AggregatingState[IN, OUT],
            self._open(state, Ttl.of(ttl), [accumulator], function=function),
        )

    def sorted_state(
        self,
        name: str,
        key: pa.DataType | pa.Schema | Codec[K],
        value: pa.DataType | Codec[V],
        *,
        descending: bool | Sequence[str] = False,
        ttl: TtlLike | None = None,
        namespace: pa.DataType | None = None,
    ) -> SortedState[K, V]:
        """Opens a sorted state. A schema is a key of several columns, given and got as a tuple.

        `descending` turns the order round: True for all columns, or those that it names.
        """
        columns = descending_columns(stored_type(key, f"state '{name}'"), descending)
        state = StateDescriptor.of(
            "sorted", name, value, user_key=key, descending=columns, namespace=namespace
        )
        return cast(SortedState[K, V], self._open(state, Ttl.of(ttl), [key, value]))


def _check_aggregates(function: object, name: str) -> None:
    missing = [method for method in _AGGREGATES if not hasattr(function, method)]
    if missing:
        raise InvalidError(
            f"state '{name}': {function!r} has no {', '.join(missing)}: an AggregateFunction is "
            "expected"
        )


_AGGREGATES = ("create_accumulator", "add", "get_result", "merge")
