"""Runs a `KeyedProcessFunction` without Spark: rows, watermarks and the clock are what you say.

>>> rows = [{"user": "ada"}, {"user": "ada"}]
>>> flintstate.testing.run(Count(), rows, key="user", schema="user string")
[('ada', 1), ('ada', 2)]

A stream of Spark runs rows in micro-batches, between which alone time passes: `MicroBatch`.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar, cast

import pyarrow as pa

from flintstate.ddl import to_schema
from flintstate.errors import InvalidError
from flintstate.paths import PathLike
from flintstate.process import (
    PROCESSING_TIME_ONLY,
    Context,
    KeyedProcessFunction,
    TimeMode,
    check_function,
    check_time_mode,
)
from flintstate.state.api import Timer
from flintstate.state.backend import BackendKind, KeyedBackend
from flintstate.state.convert import ValueType
from flintstate.state.keys import KeyType
from flintstate.state.times import Instant, to_millis
from flintstate.types import ArrowArrayLike, ArrowStreamLike

__all__ = ["Harness", "MicroBatch", "ProcessingTime", "Row", "Watermark", "run"]

Row: TypeAlias = Mapping[str, object] | tuple[object, ...]
R = TypeVar("R")
E = TypeVar("E")
_NO_DELAY = dt.timedelta(0)
_NO_WATERMARK = "micro-batches without time= are a stream without a watermark (withWatermark)"
_REPEATS_MAX = 100_000
"""So many timers of a key that fire one after another, none later, are taken for a chain without
an end, as they are in Spark."""


@dataclasses.dataclass(frozen=True)
class Watermark:
    """No row with a time below this is to come any more."""

    time: Instant


@dataclasses.dataclass(frozen=True)
class ProcessingTime:
    """The clock goes to this time."""

    time: Instant


@dataclasses.dataclass(frozen=True)
class MicroBatch:
    """Rows that Spark runs as one batch; none is a batch that it runs since time has passed.

    `processing_time` is when it was planned, and the clock throughout; None leaves the clock.
    """

    rows: Iterable[Row] = ()
    processing_time: Instant | None = None


class Harness(Generic[R]):
    """One function over one backend, with a clock that stands until it is set.

    `schema` is that of the rows, `output` that of what the function puts out, which is not checked
    without it: both are pyarrow's, or text such as "user long, n long". `time` names the rows'
    event-time column: a row below the watermark is late, and goes to `on_late`. Without it no row
    is. `delay` is how far the watermark of micro-batches stays behind the greatest event time. With
    `time_mode="processing"` there is no watermark, as in a stream in that mode. Raises
    `InvalidError` for rows that do not fit their schema.

    >>> with Harness(Quiet(), key="user", schema=schema, time="at") as harness:
    ...     harness.process(("ada", at(0)))
    ...     assert harness.advance_watermark(at(5)) == [("ada", "quiet")]
    """

    def __init__(
        self,
        function: KeyedProcessFunction[R],
        *,
        key: str | Sequence[str],
        schema: pa.Schema | str,
        output: pa.Schema | str | None = None,
        time: str | None = None,
        delay: dt.timedelta = _NO_DELAY,
        kind: BackendKind = "heap",
        path: PathLike | None = None,
        processing_time: Instant = 0,
        time_mode: TimeMode = "event",
    ) -> None:
        check_function(function)
        columns = to_schema(schema, "schema")
        names = [key] if isinstance(key, str) else list(key)
        _check_columns(names, columns)
        self._clock = _EventClock(columns, time, delay, time_mode)
        self._rows = ValueType(pa.struct(list(columns)), "row")
        self._output = _Output(None if output is None else to_schema(output, "output"))
        self._key = [columns.names.index(name) for name in names]
        key_schema = pa.schema([columns.field(name) for name in names])
        self._now = to_millis(processing_time)
        self.backend = KeyedBackend.open(path, kind=kind, key=key_schema, clock=lambda: self._now)
        parallelism = self.backend.max_parallelism
        self._keys = KeyType(key_schema, "key", canonical=True, max_parallelism=parallelism)
        self._given = function
        self._begin(function, self._clock.why_none if time_mode == "processing" else None)

    def _begin(self, function: KeyedProcessFunction[R], no_event_time: str | None) -> None:
        self._function = function
        self._no_event_time = no_event_time
        self._context = Context(self.backend, self._now, no_event_time)
        function.open(self._context)

    # -- One at a time -----------------------------------------------------------------------------

    def process(self, row: Row) -> list[tuple[object, ...]]:
        """Hands a row, as a mapping or a tuple, to the function; gives what it puts out."""
        return self._call(self._fit(row))

    def advance_watermark(self, time: Instant) -> list[tuple[object, ...]]:
        """Moves the watermark, and gives what the timers put out that are due by it."""
        if self._no_event_time is not None:
            raise InvalidError(f"Watermark({time!r}): {self._no_event_time}")
        return self._fire(self.backend.advance_watermark(time))

    def advance_processing_time(self, time: Instant) -> list[tuple[object, ...]]:
        """Moves the clock, and gives what the timers put out that are due by it."""
        self._set_clock(time)
        return self._fire(self.backend.advance_processing_time())

    # -- As Spark does -----------------------------------------------------------------------------

    def process_batch(
        self, rows: Iterable[Row] = (), *, processing_time: Instant | None = None
    ) -> list[tuple[object, ...]]:
        """Runs rows as one micro-batch of a Spark stream; gives what the function puts out.

        The watermark goes to the greatest event time of the batches before, less `delay`, and
        stays there. What is due fires; then come the late rows, then all others: key by key in the
        order of the store, each key's in their own; then what is due by now fires. A copy of the
        function is opened for it: what a call leaves in attributes is gone in the next batch.

        >>> with Harness(Quiet(), key="user", schema=schema, time="at") as harness:
        ...     assert harness.process_batch([("ada", at(0)), ("bob", at(5))]) == []
        ...     assert harness.process_batch() == [("ada", "quiet")]
        """
        fitted = [self._fit(row) for row in _listed(rows, "process_batch")]
        if processing_time is not None:
            self._set_clock(processing_time)
        watermark = self._clock.watermark
        if watermark is not None:
            self.backend.advance_watermark(watermark)
        self._begin(_unpickled(self._given), self._clock.why_none)
        out = self._fire(self._due())
        for row in sorted(fitted, key=self._place):
            out += self._call(row)
        out += self._fire(self._due())
        self._clock.see(fitted)
        return out

    def runs_on(self) -> bool:
        """Whether Spark would run a batch without rows now, since the watermark has moved."""
        coming, now = self._clock.watermark, self.backend.current_watermark
        return coming is not None and (now is None or coming > now)

    def _place(self, row: tuple[object, ...]) -> tuple[bool, int, bytes]:
        token = self._keys.token(self._key_of(row))
        return not self._is_late(row), self._keys.group(token), self._keys.encoded(token)

    def _due(self) -> Iterator[Timer]:
        """By the watermark, then by the clock; also what comes to be due meanwhile."""
        repeats, latest = 0, None
        while (timer := next(self._next_due(), None)) is not None:
            if latest is None or timer.key != latest.key or timer.time > latest.time:
                repeats, latest = 0, timer
            repeats += 1
            if repeats == _REPEATS_MAX:
                raise InvalidError(
                    f"on_timer: key {timer.key!r} has had {repeats} timers in a row that were due "
                    f"as they were registered, the last at {timer.time}: a timer has to register a "
                    "later one, or none"
                )
            yield timer

    def _next_due(self) -> Iterator[Timer]:
        watermark = self.backend.current_watermark
        if watermark is not None:
            yield from self.backend.advance_watermark(watermark)
        yield from self.backend.advance_processing_time()

    # -- Both --------------------------------------------------------------------------------------

    def _fit(self, row: Row) -> tuple[object, ...]:
        return cast(tuple[object, ...], self._rows.admit_some(row))

    def _key_of(self, row: tuple[object, ...]) -> object:
        key = tuple(row[i] for i in self._key)
        return key if len(key) > 1 else key[0]

    def _is_late(self, row: tuple[object, ...]) -> bool:
        return self._clock.is_late(row, self.backend.current_watermark)

    def _call(self, row: tuple[object, ...]) -> list[tuple[object, ...]]:
        self.backend.set_key(self._key_of(row))
        self._context.current_key = self.backend.current_key
        self.backend.set_event_time(self._clock.time_of(row))
        late = self._is_late(row)
        call = self._function.on_late if late else self._function.process_element
        return self._put_out(call(cast(R, row), self._context), call.__name__)

    def _set_clock(self, time: Instant) -> None:
        self._now = max(self._now, to_millis(time))
        self._context.current_processing_time = self._now

    def _fire(self, due: Iterable[Timer]) -> list[tuple[object, ...]]:
        out: list[tuple[object, ...]] = []
        for timer in due:
            self._context.current_key = timer.key
            out += self._put_out(self._function.on_timer(timer.time, self._context), "on_timer")
        return out

    def _put_out(
        self, rows: Iterable[tuple[object, ...]] | None, name: str
    ) -> list[tuple[object, ...]]:
        if rows is None:
            return []
        if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
            raise InvalidError(f"{name} returned {rows!r}: yield tuples, or return a list of them")
        return [self._output.fit(row) for row in rows]

    def close(self) -> None:
        self.backend.close()

    def __enter__(self) -> Harness[R]:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def run(
    function: KeyedProcessFunction[R],
    events: Iterable[Row | Watermark | ProcessingTime | MicroBatch],
    *,
    key: str | Sequence[str],
    schema: pa.Schema | str,
    output: pa.Schema | str | None = None,
    time: str | None = None,
    delay: dt.timedelta = _NO_DELAY,
    kind: BackendKind = "heap",
    path: PathLike | None = None,
    time_mode: TimeMode = "event",
) -> list[tuple[object, ...]]:
    """All that the function puts out for rows, watermarks and the clock, in this order.

    Behind a last `MicroBatch` comes the one without rows that Spark runs where the watermark has
    moved. The options are those of `Harness`.

    >>> batches = [MicroBatch([("ada", at(0))]), MicroBatch([("bob", at(5)), ("bob", at(6))])]
    >>> run(Quiet(), batches, key="user", schema=schema, time="at")
    [('ada', 'quiet')]
    """
    out: list[tuple[object, ...]] = []
    with Harness(
        function, key=key, schema=schema, output=output, time=time, delay=delay, kind=kind,
        path=path, time_mode=time_mode,
    ) as harness:  # fmt: skip
        event = None
        for event in _listed(events, "run"):
            out += _step(harness, event)
        if isinstance(event, MicroBatch) and harness.runs_on():
            out += harness.process_batch()
    return out


def _step(
    harness: Harness[R], event: Row | Watermark | ProcessingTime | MicroBatch
) -> list[tuple[object, ...]]:
    if isinstance(event, Watermark):
        return harness.advance_watermark(event.time)
    if isinstance(event, ProcessingTime):
        return harness.advance_processing_time(event.time)
    if isinstance(event, MicroBatch):
        return harness.process_batch(event.rows, processing_time=event.processing_time)
    return harness.process(event)


class _EventClock:
    """Event time as Spark keeps it: the watermark moves between batches, by what they held."""

    def __init__(
        self, schema: pa.Schema, column: str | None, delay: dt.timedelta, mode: TimeMode
    ) -> None:
        check_time_mode(mode)
        if mode == "processing" and column is not None:
            raise InvalidError(f"time={column!r}: no row is late; {PROCESSING_TIME_ONLY}")
        if not isinstance(delay, dt.timedelta) or delay < _NO_DELAY:
            raise InvalidError(f"delay={delay!r}: give a timedelta that is not negative")
        if column is None and delay:
            raise InvalidError(f"delay={delay!r}: name the event-time column, too, with time=")
        self.why_none = None if column is not None else _NO_WATERMARK
        if mode == "processing":
            self.why_none = PROCESSING_TIME_ONLY
        self._delay = delay // _MILLISECOND
        self._column = None if column is None else _time_column(schema, column)
        self._greatest: int | None = None

    @property
    def watermark(self) -> int | None:
        """Of the next batch; None where there is none, which it is up to 1970 for Spark."""
        if self._greatest is None:
            return None
        watermark = self._greatest // 1000 - self._delay
        return watermark if watermark > 0 else None

    def see(self, rows: list[tuple[object, ...]]) -> None:
        """The batch is through."""
        for row in rows:
            time = self._micros(row)
            if time is not None:
                self._greatest = time if self._greatest is None else max(time, self._greatest)

    def is_late(self, row: tuple[object, ...], watermark: int | None) -> bool:
        time = self._micros(row)
        return time is not None and watermark is not None and time < watermark * 1000

    def time_of(self, row: tuple[object, ...]) -> Instant | None:
        """A row's event time; None where it has none."""
        return None if self._column is None else cast(Instant | None, row[self._column])

    def _micros(self, row: tuple[object, ...]) -> int | None:
        """A row's event time in microseconds, which Spark's times are."""
        time = self.time_of(row)
        if isinstance(time, dt.datetime):
            return (time - _EPOCH.replace(tzinfo=time.tzinfo and dt.UTC)) // _MICROSECOND
        return None if time is None else time * 1000


def _unpickled(function: KeyedProcessFunction[R]) -> KeyedProcessFunction[R]:
    """A copy such as a task of Spark's makes, which shares no list with the one before; what can't
    be copied, such as a module, it shares."""
    made = copy.copy(function)
    memo = {id(function): made}
    for name, value in vars(made).items():
        with contextlib.suppress(TypeError):
            vars(made)[name] = copy.deepcopy(value, memo)
    return made


_EPOCH = dt.datetime(1970, 1, 1)
_MILLISECOND = dt.timedelta(milliseconds=1)
_MICROSECOND = dt.timedelta(microseconds=1)


def _listed(given: Iterable[E], what: str) -> Iterable[E]:
    """Raises InvalidError for what is no list of rows, but one batch or a table."""
    if isinstance(given, MicroBatch):
        way = "process_batch(batch.rows)" if what == "process_batch" else "run(function, [batch])"
        raise InvalidError(f"{what}: got a MicroBatch: write {way}")
    if isinstance(given, ArrowStreamLike | ArrowArrayLike):
        raise InvalidError(
            f"{what}: got a {type(given).__name__}: give a list of rows, such as "
            "pyarrow.table(rows).to_pylist()"
        )
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise InvalidError(f"{what}: got {given!r}: give a list of rows")
    return given


def _check_columns(names: list[str], schema: pa.Schema) -> None:
    for name in names:
        if name not in schema.names:
            raise InvalidError(f"there is no column '{name}' among {schema.names}")


def _time_column(schema: pa.Schema, name: str) -> int:
    _check_columns([name], schema)
    arrow = schema.field(name).type
    if not pa.types.is_integer(arrow) and not (pa.types.is_timestamp(arrow) and arrow.unit != "ns"):
        raise InvalidError(
            f"time={name!r}: the column is {arrow}; a timestamp of up to microseconds is expected, "
            "or an integer of milliseconds"
        )
    return cast(int, schema.names.index(name))


class _Output:
    """What a function may put out, and the form in which Spark gives it, where that is known."""

    def __init__(self, schema: pa.Schema | None) -> None:
        self._width = None if schema is None else len(schema)
        self._columns = ", ".join(f"{field.name} {field.type}" for field in schema or ())
        self._row = None if schema is None else ValueType(pa.struct(list(schema)), "output row")

    def fit(self, row: object) -> tuple[object, ...]:
        if not isinstance(row, tuple | list) or self._width not in (None, len(row)):
            of = f", of ({self._columns})" if self._columns else ""
            raise InvalidError(f"output row {row!r}: a tuple is expected{of}")
        if self._row is None:
            return tuple(row)
        try:
            return cast(tuple[object, ...], self._row.admit_some(tuple(row)))
        except InvalidError as error:
            raise InvalidError(f"{error} in {row!r}") from None
