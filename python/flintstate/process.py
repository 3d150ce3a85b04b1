"""Functions over keyed rows: what a stream, or a test without one, calls for each row and timer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

from flintstate.errors import InvalidError
from flintstate.state.api import State
from flintstate.state.backend import KeyedBackend
from flintstate.state.descriptor import StateDescriptor, StateType, Ttl
from flintstate.state.factory import StateFactory
from flintstate.state.times import Instant

__all__ = ["Context", "KeyedProcessFunction", "TimeMode"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # which type checkers know without its being installed

    R = TypeVar("R", contravariant=True, default=Any)
else:
    from typing import TypeVar

    R = TypeVar("R", contravariant=True)

TimeMode: TypeAlias = Literal["event", "processing"]
"""Whose timers let a key be called without rows: those of the watermark, or of the clock."""

PROCESSING_TIME_ONLY = "time_mode='processing': here the clock alone is time"
"""Why there is no event time in that mode."""


def check_time_mode(mode: object) -> None:
    """Raises InvalidError where there is no such mode."""
    if mode not in ("event", "processing"):
        raise InvalidError(f"time_mode={mode!r}: 'event' and 'processing' are possible")


class Context(StateFactory):
    """What a `KeyedProcessFunction` is given: states, the current key, timers and the time.

    States are opened in `open`, by `ctx.value_state` and so on, and kept. Timers belong to the
    current key; times are datetimes (UTC, where they have no zone) or milliseconds since 1970.

    Where there can be no watermark, `no_event_time` says why, and event-time timers and times to
    live are an `InvalidError`: they would wait for ever.
    """

    def __init__(
        self, backend: KeyedBackend, processing_time: int, no_event_time: str | None = None
    ) -> None:
        self._backend = backend
        self._no_event_time = no_event_time
        self.current_key: object = None
        self.current_processing_time = processing_time

    @property
    def current_watermark(self) -> int | None:
        """In milliseconds since 1970; None before there is one."""
        return self._backend.current_watermark

    def register_event_time_timer(self, time: Instant) -> None:
        """Calls `on_timer` for the current key once the watermark is at `time` or past it."""
        if self._no_event_time is not None:
            raise InvalidError(
                f"register_event_time_timer({time!r}): {self._no_event_time}; register a "
                "processing-time timer instead"
            )
        self._backend.register_event_time_timer(time)

    def delete_event_time_timer(self, time: Instant) -> None:
        """Takes that timer away, if it is there."""
        self._backend.delete_event_time_timer(time)

    def register_processing_time_timer(self, time: Instant) -> None:
        """Calls `on_timer` for the current key once the clock is at `time` or past it."""
        self._backend.register_processing_time_timer(time)

    def delete_processing_time_timer(self, time: Instant) -> None:
        """Takes that timer away, if it is there."""
        self._backend.delete_processing_time_timer(time)

    def _open(
        self,
        wanted: StateDescriptor,
        ttl: Ttl | None,
        types: list[StateType],
        *,
        default: object = None,
        function: object = None,
    ) -> State:
        if ttl is not None and ttl.event_time and self._no_event_time is not None:
            raise InvalidError(
                f"{wanted.kind} state '{wanted.name}' lives by event time: {self._no_event_time}; "
                "leave event_time=True out of its ttl"
            )
        return self._backend._open(wanted, ttl, types, default=default, function=function)


class KeyedProcessFunction(ABC, Generic[R]):
    """A function with keyed state. Rows are named tuples; what is put out are tuples, whose values
    fit their columns as a state's do.

    >>> class Count(KeyedProcessFunction):
    ...     def open(self, ctx):
    ...         self.n = ctx.value_state("n", pa.int64(), default=0)
    ...
    ...     def process_element(self, row, ctx):
    ...         self.n.update(self.n.value() + 1)
    ...         yield ctx.current_key, self.n.value()

    `flintstate.testing` runs one without Spark. For type checkers rows are of the type that is the
    parameter: a `typing.NamedTuple` with the columns, say.
    """

    def open(self, ctx: Context) -> None:
        """Called once before all rows: the place to open states. There is no current key."""

    @abstractmethod
    def process_element(self, row: R, ctx: Context) -> Iterable[tuple[object, ...]] | None:
        """Called for each row, with its key as the current one. Yields rows to put out."""

    def on_timer(self, time: int, ctx: Context) -> Iterable[tuple[object, ...]] | None:
        """Called when a timer is due, with its key as the current one; `time` in milliseconds, of
        which `from_millis` makes a datetime."""
        return None

    def on_late(self, row: R, ctx: Context) -> Iterable[tuple[object, ...]] | None:
        """Called for a row whose time is below the watermark, which is dropped otherwise."""
        return None


def check_function(function: object) -> None:
    """Raises InvalidError where it is no `KeyedProcessFunction`, but its class or another thing."""
    if isinstance(function, KeyedProcessFunction):
        return
    if isinstance(function, type) and issubclass(function, KeyedProcessFunction):
        name = function.__name__
        raise InvalidError(f"{name} is a class: give a function that is made of it, {name}()")
    raise InvalidError(f"{function!r} given: a KeyedProcessFunction is expected")
