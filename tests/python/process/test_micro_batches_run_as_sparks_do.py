"""flintstate.testing's MicroBatch: time passes between batches, as in a stream of Spark."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from flintstate import Context, InvalidError, KeyedProcessFunction
from flintstate.testing import Harness, MicroBatch, run

SCHEMA = pa.schema([("user", pa.string()), ("at", pa.timestamp("us"))])
T0 = dt.datetime(2026, 1, 1)
STREAM: Any = {"key": "user", "schema": SCHEMA, "time": "at"}


def at(seconds: float) -> dt.datetime:
    return T0 + dt.timedelta(seconds=seconds)


class Says(KeyedProcessFunction[Any]):
    """Puts out all that happens to it; each row sets a timer five seconds behind it."""

    wait = dt.timedelta(seconds=5)

    def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield ctx.current_key, "row"
        ctx.register_event_time_timer(row.at + self.wait)

    def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield ctx.current_key, "timer"

    def on_late(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield ctx.current_key, "late"


def test_the_watermark_stands_while_a_batch_runs() -> None:
    rows = [("ada", at(0)), ("ada", at(100)), ("ada", at(1))]
    with Harness(Says(), **STREAM) as harness:
        assert harness.process_batch(rows) == [("ada", "row")] * 3


def test_a_stream_of_four_files_is_told_by_four_batches() -> None:
    """What a real stream made of the same rows, file by file, with a delay of two seconds."""
    files = [[(1, 0), (2, 1)], [(1, 3), (2, 20)], [(1, 4), (2, 21)], [(3, 90)]]
    batches = [MicroBatch([(user, at(second)) for user, second in rows]) for rows in files]
    schema = pa.schema([("user", pa.int64()), ("at", pa.timestamp("us"))])
    delay = dt.timedelta(seconds=2)
    out = run(Silence(), batches, key="user", schema=schema, time="at", delay=delay)
    assert out == [(1, "quiet", at(3)), (1, "late", at(4)), (2, "quiet", at(21))]


class Silence(KeyedProcessFunction[Any]):
    def open(self, ctx: Context) -> None:
        self.last = ctx.value_state("last", pa.timestamp("us"))

    def process_element(self, row: Any, ctx: Context) -> None:
        if (last := self.last.value()) is not None:
            ctx.delete_event_time_timer(last + dt.timedelta(seconds=5))
        self.last.update(row.at)
        ctx.register_event_time_timer(row.at + dt.timedelta(seconds=5))

    def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield ctx.current_key, "quiet", self.last.value()

    def on_late(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield row.user, "late", row.at


def test_rows_are_late_by_the_batches_before() -> None:
    delay = dt.timedelta(seconds=2)
    with Harness(Says(), **STREAM, delay=delay) as harness:
        harness.process_batch([("ada", at(0)), ("bob", at(10))])
        rows = [("ada", at(7.999999)), ("ada", at(8))]
        assert harness.process_batch(rows)[1:] == [("ada", "late"), ("ada", "row")]


def test_due_timers_fire_before_the_next_batchs_rows() -> None:
    with Harness(Says(), **STREAM) as harness:
        harness.process_batch([("bob", at(0)), ("ada", at(5))])
        out = harness.process_batch([("bob", at(6))])
        assert out == [("bob", "timer"), ("bob", "row")]


def test_what_rows_make_due_at_once_fires_behind_them() -> None:
    class AtOnce(Says):
        wait = dt.timedelta(seconds=-100)

    with Harness(AtOnce(), **STREAM) as harness:
        assert harness.process_batch([("ada", at(0))]) == [("ada", "row")]  # no watermark yet
        out = harness.process_batch([("bob", at(1)), ("cyd", at(2))])
        assert out[0] == ("ada", "timer")
        assert sorted(out[1:3]) == [("bob", "row"), ("cyd", "row")]
        assert sorted(out[3:]) == [("bob", "timer"), ("cyd", "timer")]


def test_late_rows_come_first_then_keys_one_after_another() -> None:
    users = [f"user {i}" for i in range(20)]
    with Harness(Says(), **STREAM, kind="heap") as harness:
        harness.process_batch([("end", at(50))])
        early = [(user, at(1)) for user in users]
        timely = [(user, at(second)) for second in (70, 60) for user in users]
        out = harness.process_batch([*timely, *early])
        assert [what for _, what in out] == ["late"] * 20 + ["row"] * 40
        keys = [user for user, _ in out]
        assert keys[20::2] == keys[21::2] == keys[:20]
        assert sorted(keys[:20]) == sorted(users) != keys[:20]


def test_a_keys_rows_keep_their_order() -> None:
    class Order(KeyedProcessFunction[Any]):
        def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
            yield ctx.current_key, row.at

    times = [at(3), at(1), at(2)]
    rows = [(user, time) for time in times for user in ("ada", "bob")]
    out = run(Order(), [MicroBatch(rows)], **STREAM)
    assert [time for user, time in out if user == "ada"] == times


def test_behind_the_last_batch_comes_the_one_that_the_watermark_asks_for() -> None:
    batches = [MicroBatch([("ada", at(0))]), MicroBatch([("bob", at(9))])]
    assert run(Says(), batches, **STREAM) == [("ada", "row"), ("bob", "row"), ("ada", "timer")]
    delayed = run(Says(), batches, **STREAM, delay=dt.timedelta(seconds=5))
    assert delayed == [("ada", "row"), ("bob", "row")]


def test_a_watermark_never_falls() -> None:
    with Harness(Says(), **STREAM) as harness:
        harness.process_batch([("ada", at(50))])
        harness.process_batch([("ada", at(60)), ("ada", at(10))])
        assert harness.process_batch([("ada", at(59))])[-1] == ("ada", "late")


def test_up_to_1970_there_is_no_watermark() -> None:
    rows: list[Any] = [("ada", dt.datetime(1969, 1, 1)), ("ada", None)]
    with Harness(Quiet(), **STREAM) as harness:
        harness.process_batch(rows)
        assert not harness.runs_on()
        harness.process_batch(rows)
        assert harness.backend.current_watermark is None


class Quiet(KeyedProcessFunction[Any]):
    def process_element(self, row: Any, ctx: Context) -> None: ...


def test_the_clock_is_that_of_the_batch() -> None:
    class Later(KeyedProcessFunction[Any]):
        def process_element(self, row: Any, ctx: Context) -> None:
            ctx.register_processing_time_timer(ctx.current_processing_time + 10)

        def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
            yield ctx.current_key, time, ctx.current_processing_time

    batches = [MicroBatch([("ada", None)], 5), MicroBatch((), 14), MicroBatch((), 20)]
    for options in ({"time_mode": "processing"}, {"time": "at"}):
        out = run(Later(), batches, key="user", schema=SCHEMA, **options)  # type: ignore[arg-type]
        assert out == [("ada", 15, 20)]


def test_attributes_that_a_call_sets_are_gone_in_the_next_batch() -> None:
    class Forgets(KeyedProcessFunction[Any]):
        n = 0

        def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
            self.n += 1
            yield (self.n,)

    batches = [MicroBatch([("ada", None)] * 2), MicroBatch([("ada", None)])]
    assert run(Forgets(), batches, key="user", schema=SCHEMA) == [(1,), (2,), (1,)]


def test_what_a_call_adds_to_an_attribute_is_gone_in_the_next_batch() -> None:
    class Remembers(KeyedProcessFunction[Any]):
        def __init__(self) -> None:
            self.json, self.seen = json, set()  # type: ignore[var-annotated]

        def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[Any, ...]]:
            if row.user not in self.seen:
                self.seen.add(row.user)
                yield (self.json.dumps(row.user),)

    batches = [MicroBatch([("ada", None)] * 2), MicroBatch([("ada", None)])]
    out = run(Remembers(), batches, key="user", schema=SCHEMA)
    assert out == [('"ada"',), ('"ada"',)]


def test_without_a_time_column_there_is_no_event_time() -> None:
    with pytest.raises(InvalidError, match=r"register_event_time_timer.*without a watermark"):
        run(Says(), [MicroBatch([("ada", at(0))])], key="user", schema=SCHEMA)


def test_a_delay_without_a_time_column_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"delay=.*time="):
        run(Quiet(), [], key="user", schema=SCHEMA, delay=dt.timedelta(seconds=1))
    for delay in (dt.timedelta(seconds=-1), "2 seconds", 2):
        with pytest.raises(InvalidError, match="give a timedelta"):
            run(Quiet(), [], **STREAM, delay=delay)


def test_a_time_column_that_can_not_be_one_is_refused() -> None:
    for arrow in (pa.string(), pa.timestamp("ns"), pa.date32()):
        schema = pa.schema([("user", pa.string()), ("at", arrow)])
        with pytest.raises(InvalidError, match=r"time='at'.*timestamp"):
            run(Quiet(), [], key="user", schema=schema, time="at")


def test_a_row_that_does_not_fit_keeps_its_whole_batch_out() -> None:
    with Harness(Says(), **STREAM) as harness:
        with pytest.raises(InvalidError, match="user"):
            harness.process_batch([("ada", at(0)), (5, at(0))])
        assert not harness.runs_on()
        assert harness.backend.next_event_time_timer() is None


def test_what_a_timer_makes_due_fires_with_it() -> None:
    class Chain(Says):
        def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
            yield ctx.current_key, time % 10
            if ctx.current_processing_time % 10 > time % 10:
                ctx.register_processing_time_timer(time + 1)
                ctx.register_event_time_timer(time + 1)

    class Starts(Chain):
        def process_element(self, row: Any, ctx: Context) -> None:
            ctx.register_processing_time_timer(1)

    batches = [MicroBatch([("ada", at(0))], 3)]
    assert run(Starts(), batches, **STREAM)[:3] == [("ada", 1), ("ada", 2), ("ada", 3)]


def test_timers_without_an_end_are_refused_as_they_are_in_spark() -> None:
    class Endless(Quiet):
        def process_element(self, row: Any, ctx: Context) -> None:
            ctx.register_processing_time_timer(0)

        def on_timer(self, time: int, ctx: Context) -> None:
            ctx.register_processing_time_timer(0)

    with pytest.raises(InvalidError, match=r"on_timer: key 'ada'.*later one, or none"):
        run(Endless(), [MicroBatch([("ada", None)])], **STREAM)
