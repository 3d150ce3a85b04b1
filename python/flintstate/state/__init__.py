"""Keyed state: six kinds, two backends, one meaning."""

from flintstate.state.api import (
    AggregateFunction,
    AggregatingState,
    ListState,
    MapIterator,
    MapState,
    MergingState,
    ReduceFunction,
    ReducingState,
    SortedState,
    State,
    Timer,
    ValueState,
)
from flintstate.state.backend import KeyedBackend
from flintstate.state.codec import Codec
from flintstate.state.descriptor import Ttl
from flintstate.state.metrics import StateMetrics

__all__ = [
    "AggregateFunction",
    "AggregatingState",
    "Codec",
    "KeyedBackend",
    "ListState",
    "MapIterator",
    "MapState",
    "MergingState",
    "ReduceFunction",
    "ReducingState",
    "SortedState",
    "State",
    "StateMetrics",
    "Timer",
    "Ttl",
    "ValueState",
]
