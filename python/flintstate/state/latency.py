"""How long calls on a state take: every so many calls one is timed."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, cast

from flintstate.state.api import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    SortedState,
    State,
    ValueState,
)
from flintstate.state.metrics import Latency

_KINDS: list[Any] = [
    ValueState,
    ListState,
    MapState,
    ReducingState,
    AggregatingState,
    SortedState,
]


class Sampler:
    """The latencies of one state's methods. Of `every` calls of a method one is timed."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._calls: dict[str, int] = {}
        self.latencies: dict[str, Latency] = {}

    def timed(self, name: str, method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            count = self._calls[name] = self._calls.get(name, 0) + 1
            if count % self._every:
                return method(*arguments, **options)
            start = time.perf_counter_ns()
            try:
                return method(*arguments, **options)
            finally:
                self._note(name, time.perf_counter_ns() - start)

        return call

    def _note(self, name: str, nanoseconds: int) -> None:
        before = self.latencies.get(name, Latency())
        self.latencies[name] = Latency(
            samples=before.samples + 1,
            total_ns=before.total_ns + nanoseconds,
            max_ns=max(before.max_ns, nanoseconds),
        )

    def around(self, state: State) -> State:
        """A state of the same kind that passes everything on, and times some of it."""
        kind = next(kind for kind in _KINDS if isinstance(state, kind))
        return cast(State, _sampled_class(kind)(state, self))


@functools.cache
def _sampled_class(kind: Any) -> Any:
    """A subclass of the kind whose methods are an instance's own, made when it is."""

    def __init__(self: Any, state: State, sampler: Sampler) -> None:  # noqa: N807
        self.inner = state
        for name in names:
            setattr(self, name, sampler.timed(name, getattr(state, name)))

    names = [name for name in dir(kind) if not name.startswith("_") and name not in _PLAIN]
    body: dict[str, object] = {name: property(_inner(name)) for name in _PLAIN}
    body |= {name: _passed_on(name) for name in kind.__abstractmethods__ - set(_PLAIN)}
    return type(kind.__name__, (kind,), body | {"__init__": __init__})


_PLAIN = ("name", "namespace")


def _inner(name: str) -> Callable[[Any], object]:
    return lambda self: getattr(self.inner, name)


def _passed_on(name: str) -> Callable[..., object]:
    return lambda self, *arguments: getattr(self.inner, name)(*arguments)
