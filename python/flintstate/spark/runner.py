"""Runs users' functions over the rows of one bucket, in one call of the carrier."""

from __future__ import annotations

import contextlib
import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.process import PROCESSING_TIME_ONLY, Context, KeyedProcessFunction, TimeMode
from flintstate.spark.rows import fitted, row_type
from flintstate.state.rocksdb import RocksDbBackend

__all__ = ["BatchRunner", "Clock", "Pickled", "RowRunner", "Runner"]

_NO_EVENT_TIME: dict[TimeMode | None, str | None] = {
    "event": None,
    "processing": PROCESSING_TIME_ONLY,
    None: "the stream has no watermark (withWatermark)",
}


@dataclass(frozen=True)
class Clock:
    """What time it is throughout one call, in milliseconds since 1970."""

    watermark: int | None
    processing_time: int


class Runner(ABC):
    """A user's function, made ready for one bucket and batch by `begin`.

    `mode` is whose timers the bucket is called for; None where it is called for its rows alone.
    """

    def __init__(
        self, key_names: tuple[str, ...], time_column: str | None, mode: TimeMode | None = None
    ) -> None:
        self.output = pa.schema([])
        self.mode = mode
        self._key_names = key_names
        self._time_column = time_column

    def begin(self, backend: RocksDbBackend, clock: Clock) -> None:
        """Opens what the function opens."""
        self._backend = backend
        self._clock = clock
        self._context = Context(backend, clock.processing_time, _NO_EVENT_TIME[self.mode])

    def call(self, chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """All that one call puts out. Timers fire before the rows, and behind them those that came
        to be due meanwhile: for one at or before the watermark Spark would not call again."""
        yield from self.fire()
        for rows in chunks:
            yield from self.run(rows)
        yield from self.fire()

    @abstractmethod
    def fire(self) -> Iterator[pa.RecordBatch]:
        """Fires the timers that are due, and those that they make due; gives what they put out."""

    @abstractmethod
    def run(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Runs the function over rows; gives what it puts out."""

    def next_timer(self) -> int | None:
        """When the bucket has to be called, whether it has rows or not."""
        if self.mode == "event":
            return self._backend.next_event_time_timer()
        return self._backend.next_processing_time_timer() if self.mode == "processing" else None

    def _split_late(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The rows below the watermark, and all others."""
        if self._time_column is None or self._clock.watermark is None:
            return rows[:0], rows
        times = rows.column(self._time_column)
        bound = pa.scalar(self._clock.watermark, pa.timestamp("ms")).cast(pa.timestamp("us"))
        late = pc.less(times.cast(pa.timestamp("us")), bound).fill_null(False)
        if not late.true_count:
            return rows[:0], rows
        return rows.filter(late), rows.filter(pc.invert(late))


class Pickled:
    """A runner on its way to workers, where each call has one that shares nothing with another's:
    what a function keeps in a list of its own is not what it meets in the next bucket.

    It is pickled within what it is a part of, so that Spark sees the broadcasts in it.
    """

    def __init__(self, runner: Runner | None, data: bytes = b"") -> None:
        self._runner = runner
        self._data = data

    def __reduce__(self) -> tuple[Any, ...]:
        data: bytes = cloudpickle.dumps(self._runner)  # type: ignore[no-untyped-call]
        return Pickled, (None, data)

    def runner(self) -> Runner:
        """One more, in a worker."""
        made: Runner = cloudpickle.loads(self._data)
        return made


class BatchRunner(Runner):
    """Calls `function(batch, ctx)` once for all rows of a bucket."""

    def __init__(
        self,
        function: Callable[[pa.RecordBatch, Any], Iterable[pa.RecordBatch]],
        key_names: tuple[str, ...],
        time_column: str | None,
        mode: TimeMode | None = None,
    ) -> None:
        super().__init__(key_names, time_column, mode)
        self._function = function

    def begin(self, backend: RocksDbBackend, clock: Clock) -> None:
        super().begin(backend, clock)
        if (backend.next_event_time_timer(), backend.next_processing_time_timer()) != (None, None):
            raise InvalidError(
                "process_batches: this state directory has timers that process() set, and that "
                "nobody would fire: go on with process(), or begin anew with another state="
            )

    def fire(self) -> Iterator[pa.RecordBatch]:
        if self._clock.watermark is not None:
            self._backend.advance_watermark(self._clock.watermark)
        return iter(())

    def run(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        _, rows = self._split_late(rows)
        if rows.num_rows:
            for batch in self._batches(self._function(rows, self._context)):
                yield fitted(batch, self.output)

    def _batches(self, result: object) -> Iterable[object]:
        if result is None:
            return ()
        if isinstance(result, Iterable) and not isinstance(result, pa.RecordBatch):
            return result
        raise InvalidError(
            f"process_batches: the function returned a {type(result).__name__}: it yields record "
            "batches, or returns a list of them"
        )


class RowRunner(Runner):
    """Calls a `KeyedProcessFunction` for each row, key by key."""

    def __init__(
        self,
        function: KeyedProcessFunction[Any],
        key_names: tuple[str, ...],
        time_column: str | None,
        mode: TimeMode | None = None,
    ) -> None:
        super().__init__(key_names, time_column, mode)
        self._function = function

    def begin(self, backend: RocksDbBackend, clock: Clock) -> None:
        super().begin(backend, clock)
        self._loop: _core.RowLoop | None = None
        self._function.open(self._context)

    def fire(self) -> Iterator[pa.RecordBatch]:
        watermark, now = self._clock.watermark, self._clock.processing_time
        loop = _core.TimerLoop(self._backend.native, self.output, self._context)
        with _no_garbage_collection():
            if watermark is not None:
                self._backend.advance_watermark(watermark)
            loop.begin(watermark, now, self._function.on_timer)
            yield from self._drained(loop)

    def run(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        late, rows = self._split_late(rows)
        with _no_garbage_collection():
            yield from self._run(late, self._function.on_late)
            yield from self._run(rows, self._function.process_element)

    def _run(
        self, rows: pa.RecordBatch, function: Callable[[Any, Context], Iterable[Any] | None]
    ) -> Iterator[pa.RecordBatch]:
        """Groups the rows by key, and calls the function for each."""
        if rows.num_rows == 0:
            return
        loop = self._loop or self._begin_loop(rows.schema)
        loop.begin(rows, function)
        yield from self._drained(loop)

    def _drained(self, loop: _core.RowLoop | _core.TimerLoop) -> Iterator[pa.RecordBatch]:
        while (put_out := loop.next()) is not None:
            yield pa.record_batch(put_out)

    def _begin_loop(self, schema: pa.Schema) -> _core.RowLoop:
        key = pa.schema([schema.field(name) for name in self._key_names])
        self._loop = _core.RowLoop(
            self._backend.native,
            key,
            row_type(schema.names),
            self.output,
            self._context,
            self._time_column if self.mode == "event" else None,
        )
        return self._loop


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Many small tuples come and go; looking through them for cycles costs half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
