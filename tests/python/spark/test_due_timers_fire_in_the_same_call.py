"""What the rows of a call made due fires behind them: Spark would not call again for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.process import Context, KeyedProcessFunction
from flintstate.spark.runner import Clock, RowRunner
from flintstate.state.rocksdb import RocksDbBackend

INPUT = pa.schema([("user", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
OUTPUT = pa.schema([("user", pa.int64()), ("what", pa.string()), ("time", pa.int64())])
Told = Iterator[tuple[object, ...]]


class Alarms(KeyedProcessFunction[Any]):
    """Runs plain functions for rows (late ones, too) and timers."""

    def __init__(
        self, row: Callable[[Context], None], timer: Callable[[int, Context], None]
    ) -> None:
        self.row, self.timer = row, timer

    def process_element(self, row: Any, ctx: Context) -> Told:
        self.row(ctx)
        yield row.user, "row", None

    def on_late(self, row: Any, ctx: Context) -> Told:
        self.row(ctx)
        yield row.user, "late", None

    def on_timer(self, time: int, ctx: Context) -> Told:
        self.timer(time, ctx)
        yield ctx.current_key, "timer", time


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[RocksDbBackend]:
    native = _core.RocksBackend.open(str(tmp_path), pa.schema([INPUT.field("user")]), 128, 0, 127)
    with RocksDbBackend(native, 128, range(128)) as backend:
        yield backend


def call(
    backend: RocksDbBackend,
    clock: Clock,
    *rows: tuple[int, int],
    row: Callable[[Context], None] = lambda ctx: None,
    timer: Callable[[int, Context], None] = lambda time, ctx: None,
) -> list[tuple[Any, ...]]:
    """All that one call puts out for rows of (user, milliseconds)."""
    runner = RowRunner(Alarms(row, timer), ("user",), "at", "event")
    runner.output = OUTPUT
    runner.begin(backend, clock)
    users, times = [user for user, _ in rows], [time * 1000 for _, time in rows]
    batch = pa.record_batch([users, pa.array(times, pa.int64()).cast(INPUT.field(1).type)], INPUT)
    return [tuple(r.values()) for b in runner.call([batch]) for r in b.to_pylist()]


def event(*times: int) -> Callable[..., None]:
    """Registers event-time timers."""

    def register(*given: Any) -> None:
        for time in times:
            given[-1].register_event_time_timer(time)

    return register


def test_a_timer_at_or_before_the_watermark_fires_behind_the_rows(backend: RocksDbBackend) -> None:
    got = call(backend, Clock(100, 0), (1, 200), (1, 300), row=event(100, 50, 101))
    assert got == [(1, "row", None)] * 2 + [(1, "timer", 50), (1, "timer", 100)]
    assert backend.next_event_time_timer() == 101


def test_a_timer_of_a_late_row_fires_behind_the_rows(backend: RocksDbBackend) -> None:
    got = call(backend, Clock(100, 0), (1, 99), (2, 100), row=event(7))
    assert got[:2] == [(1, "late", None), (2, "row", None)]
    assert sorted(got[2:]) == [(1, "timer", 7), (2, "timer", 7)]
    assert backend.next_event_time_timer() is None


def test_a_timer_of_the_clock_that_is_due_now_fires_behind_the_rows(
    backend: RocksDbBackend,
) -> None:
    def row(ctx: Context) -> None:
        for later in (0, 1):
            ctx.register_processing_time_timer(ctx.current_processing_time + later)

    assert call(backend, Clock(None, 5), (1, 0), row=row)[1:] == [(1, "timer", 5)]
    assert backend.next_processing_time_timer() == 6


def test_before_the_first_watermark_no_event_time_is_due(backend: RocksDbBackend) -> None:
    assert call(backend, Clock(None, 0), (1, 0), row=event(1)) == [(1, "row", None)]
    assert backend.next_event_time_timer() == 1


def test_timers_that_timers_make_due_fire_in_both_times(backend: RocksDbBackend) -> None:
    def timer(time: int, ctx: Context) -> None:
        if time == 10:
            ctx.register_processing_time_timer(3)
        if time == 3:
            ctx.register_event_time_timer(20)

    got = call(backend, Clock(100, 5), (1, 200), row=event(10), timer=timer)
    assert [time for _, what, time in got if what == "timer"] == [10, 3, 20]


def test_a_chain_fires_until_it_has_passed_the_watermark(backend: RocksDbBackend) -> None:
    def timer(time: int, ctx: Context) -> None:
        ctx.register_event_time_timer(time + 10)

    got = call(backend, Clock(1000, 0), (1, 2000), row=event(0), timer=timer)
    assert [time for _, what, time in got if what == "timer"] == list(range(0, 1001, 10))
    assert backend.next_event_time_timer() == 1010


@pytest.mark.parametrize("other", [False, True], ids=["in one time", "between both times"])
def test_a_chain_without_an_end_is_refused_by_its_key(backend: RocksDbBackend, other: bool) -> None:
    def timer(time: int, ctx: Context) -> None:
        if other and time == 50:
            ctx.register_processing_time_timer(1)
        else:
            ctx.register_event_time_timer(50)

    with pytest.raises(InvalidError, match=r"on_timer: key 7 has had 100000 timers in a row"):
        call(backend, Clock(100, 5), (7, 200), row=event(50), timer=timer)


def test_many_timers_of_one_time_are_no_chain(backend: RocksDbBackend) -> None:
    rows = [(user, 200) for user in range(2000)]
    got = call(backend, Clock(100, 0), *rows, row=event(60, 50))
    assert len([what for _, what, _ in got if what == "timer"]) == 4000
