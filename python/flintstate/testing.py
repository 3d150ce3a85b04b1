"""Runs a `KeyedProcessFunction` without Spark: rows, watermarks and the clock are what you say.

>>> rows = [{"user": "ada"}, {"user": "ada"}]
>>> flintstate.testing.run(Count(), rows, key="user", schema=pa.schema([("user", pa.string())]))
[('ada', 1), ('ada', 2)]
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.process import (
    PROCESSING_TIME_ONLY,
    Context,
    KeyedProcessFunction,
    TimeMode,
    check_time_mode,
)
from flintstate.state.backend import BackendKind, KeyedBackend
from flintstate.state.convert import ValueType
from flintstate.state.times import Instant, to_millis

__all__ = ["Harness", "ProcessingTime", "Row", "Watermark", "run"]

Row: TypeAlias = dict[str, object] | tuple[object, ...]


@dataclasses.dataclass(frozen=True)
class Watermark:
    """No row with a time below this is to come any more."""

    time: Instant


@dataclasses.dataclass(frozen=True)
class ProcessingTime:
    """The clock goes to this time."""

    time: Instant


class Harness:
    """One function over one backend, with a clock that stands until it is set.

    `time` names the rows' event-time column: a row below the watermark is late, and goes to
    `on_late`. Without it no row is. With `time_mode="processing"` there is no watermark, as in a
    stream in that mode. Raises `InvalidError` for rows that do not fit the schema.

    >>> with Harness(Quiet(), key="user", schema=schema, time="at") as harness:
    ...     harness.process(("ada", at(0)))
    ...     assert harness.advance_watermark(at(5)) == [("ada", "quiet")]
    """

    def __init__(
        self,
        function: KeyedProcessFunction[tuple[object, ...]],
        *,
        key: str | Sequence[str],
        schema: pa.Schema,
        time: str | None = None,
        kind: BackendKind = "heap",
        path: str | os.PathLike[str] | None = None,
        processing_time: Instant = 0,
        time_mode: TimeMode = "event",
    ) -> None:
        check_time_mode(time_mode)
        if time_mode == "processing" and time is not None:
            raise InvalidError(f"time={time!r}: no row is late; {PROCESSING_TIME_ONLY}")
        names = [key] if isinstance(key, str) else list(key)
        for name in [*names, *([] if time is None else [time])]:
            if name not in schema.names:
                raise InvalidError(f"there is no column '{name}' among {schema.names}")
        self._function = function
        self._rows = ValueType(pa.struct(list(schema)), "row")
        self._key = [schema.names.index(name) for name in names]
        self._time = None if time is None else schema.names.index(time)
        self._now = to_millis(processing_time)
        self.backend = KeyedBackend.open(
            path,
            kind=kind,
            key=pa.schema([schema.field(name) for name in names]),
            clock=lambda: self._now,
        )
        self._no_event_time = PROCESSING_TIME_ONLY if time_mode == "processing" else None
        self._context = Context(self.backend, self._now, self._no_event_time)
        function.open(self._context)

    def process(self, row: Row) -> list[tuple[object, ...]]:
        """Hands a row, as a dict or a tuple, to the function; gives what it puts out."""
        fitted = self._rows.admit_some(row)
        assert isinstance(fitted, tuple)
        key = tuple(fitted[i] for i in self._key)
        self.backend.set_key(key if len(key) > 1 else key[0])
        self._context.current_key = self.backend.current_key
        self.backend.set_event_time(self._time_of(fitted))
        if self._is_late(fitted):
            return list(self._function.on_late(fitted, self._context) or ())
        return list(self._function.process_element(fitted, self._context) or ())

    def advance_watermark(self, time: Instant) -> list[tuple[object, ...]]:
        """Moves the watermark, and gives what the timers put out that are due by it."""
        if self._no_event_time is not None:
            raise InvalidError(f"Watermark({time!r}): {self._no_event_time}")
        return self._fire(event_time=time)

    def advance_processing_time(self, time: Instant) -> list[tuple[object, ...]]:
        """Moves the clock, and gives what the timers put out that are due by it."""
        self._now = max(self._now, to_millis(time))
        self._context.current_processing_time = self._now
        return self._fire(event_time=None)

    def _fire(self, event_time: Instant | None) -> list[tuple[object, ...]]:
        if event_time is None:
            due = self.backend.advance_processing_time()
        else:
            due = self.backend.advance_watermark(event_time)
        out: list[tuple[object, ...]] = []
        for timer in due:
            self._context.current_key = timer.key
            out.extend(self._function.on_timer(timer.time, self._context) or ())
        return out

    def _is_late(self, row: tuple[object, ...]) -> bool:
        watermark, time = self.backend.current_watermark, self._time_of(row)
        return watermark is not None and time is not None and time < watermark

    def _time_of(self, row: tuple[object, ...]) -> int | None:
        time = None if self._time is None else row[self._time]
        return None if time is None else to_millis(cast(Instant, time))

    def close(self) -> None:
        self.backend.close()

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def run(
    function: KeyedProcessFunction[tuple[object, ...]],
    events: Iterable[Row | Watermark | ProcessingTime],
    *,
    key: str | Sequence[str],
    schema: pa.Schema,
    time: str | None = None,
    kind: BackendKind = "heap",
    path: str | os.PathLike[str] | None = None,
    time_mode: TimeMode = "event",
) -> list[tuple[object, ...]]:
    """All that the function puts out for rows, watermarks and the clock, in this order.

    The options are those of `Harness`.
    """
    out: list[tuple[object, ...]] = []
    with Harness(
        function, key=key, schema=schema, time=time, kind=kind, path=path, time_mode=time_mode
    ) as harness:
        for event in events:
            if isinstance(event, Watermark):
                out += harness.advance_watermark(event.time)
            elif isinstance(event, ProcessingTime):
                out += harness.advance_processing_time(event.time)
            else:
                out += harness.process(event)
    return out
