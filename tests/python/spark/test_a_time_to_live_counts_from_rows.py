"""States that live by event time, in the loops over rows and timers, without Spark around them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, Ttl, _core
from flintstate.process import Context, KeyedProcessFunction
from flintstate.spark.runner import BatchRunner, Clock, RowRunner
from flintstate.state.rocksdb import RocksDbBackend
from flintstate.testing import Harness

KEY = pa.schema([("user", pa.string())])
ROW = pa.schema([("user", pa.string()), ("at", pa.timestamp("us", "UTC"))])
TOLD = pa.schema([("user", pa.string()), ("what", pa.string())])
HOUR = Ttl(ttl=dt.timedelta(hours=1), event_time=True)
DAY = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def minutes(count: float) -> dt.datetime:
    return DAY + dt.timedelta(minutes=count)


def clock(count: float | None) -> Clock:
    watermark = None if count is None else int(minutes(count).timestamp() * 1000)
    return Clock(watermark, 0)


class Dedup(KeyedProcessFunction[Any]):
    """Tells a user once an hour."""

    def open(self, ctx: Context) -> None:
        self.seen = ctx.value_state("seen", pa.bool_(), ttl=HOUR)

    def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        if not self.seen.value():
            self.seen.update(True)
            yield row[0], "first"

    def on_late(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield row[0], f"late {self.seen.value()}"
        self.seen.update(True)


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[RocksDbBackend]:
    native = _core.RocksBackend.open(str(tmp_path), KEY, 128, 0, 127)
    with RocksDbBackend(native, 128, range(128)) as backend:
        yield backend


def told(
    backend: RocksDbBackend,
    function: KeyedProcessFunction[Any],
    rows: list[tuple[str, float | None]],
    now: Clock,
) -> list[tuple[object, ...]]:
    """What one batch puts out."""
    runner = RowRunner(function, ("user",), "at", "event")
    runner.output = TOLD
    runner.begin(backend, now)
    columns = [[user for user, _ in rows], [None if m is None else minutes(m) for _, m in rows]]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, ROW, strict=True)], schema=ROW
    )
    batches = [*runner.fire(), *runner.run(batch)]
    return [tuple(row.values()) for one in batches for row in one.to_pylist()]


ROWS: list[tuple[str, float | None]] = [
    ("ada", 0), ("ada", 59), ("bob", 30), ("ada", 60), ("ada", 61), ("bob", 91), ("ada", 121)
]  # fmt: skip
FIRSTS = [("ada", 0), ("ada", 60), ("ada", 121), ("bob", 30), ("bob", 91)]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", ["Spark's loop", "the harness"])
def test_duplicates_are_dropped_alike_wherever_batches_are_cut(
    backend: RocksDbBackend, size: int, kind: str
) -> None:
    found: list[tuple[object, ...]] = []
    harness = Harness(Dedup(), key="user", schema=ROW, time="at")
    for start in range(0, len(ROWS), size):
        rows = ROWS[start : start + size]
        oldest = min(minute or 0 for _, minute in ROWS[start:])
        watermark = clock(oldest if start else None)
        if kind == "the harness":
            if watermark.watermark is not None:
                harness.advance_watermark(watermark.watermark)
            found += [(user, m) for user, m in rows if harness.process((user, minutes(m or 0)))]
            continue
        for user, minute in rows:  # one by one, so that it is known who was told
            if told(backend, Dedup(), [(user, minute)], watermark):
                found.append((user, minute))
    assert sorted(found) == FIRSTS
    harness.close()


def test_one_batch_of_many_rows_counts_each_rows_own_time(backend: RocksDbBackend) -> None:
    out = told(backend, Dedup(), ROWS, clock(None))
    assert sorted(out) == [("ada", "first")] * 3 + [("bob", "first")] * 2
    assert backend.current_event_time is None


def test_a_late_row_sees_and_writes_at_its_own_time(backend: RocksDbBackend) -> None:
    assert told(backend, Dedup(), [("ada", 0)], clock(None)) == [("ada", "first")]
    assert told(backend, Dedup(), [("ada", 5)], clock(50)) == [("ada", "late True")]
    assert told(backend, Dedup(), [("ada", 10)], clock(65)) == [("ada", "late None")]
    assert told(backend, Dedup(), [("ada", 69)], clock(65)) == []
    assert told(backend, Dedup(), [("ada", 70)], clock(65)) == [("ada", "first")]


def test_a_row_without_a_time_reads_but_does_not_write(backend: RocksDbBackend) -> None:
    with pytest.raises(InvalidError, match=r"value state 'seen' lives by event time.*is null"):
        told(backend, Dedup(), [("ada", None)], clock(None))
    assert told(backend, Dedup(), [("ada", 0), ("ada", None)], clock(None)) == [("ada", "first")]


def test_a_timer_writes_at_its_own_time(backend: RocksDbBackend) -> None:
    class Later(Dedup):
        def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
            yield row[0], str(self.seen.value())
            if self.seen.value() is None:
                ctx.register_event_time_timer(row[1] + dt.timedelta(minutes=10))

        def on_timer(self, time: int, ctx: Context) -> None:
            self.seen.update(True)

    assert told(backend, Later(), [("ada", 0)], clock(None)) == [("ada", "None")]
    assert told(backend, Later(), [("ada", 69.9)], clock(30)) == [("ada", "True")]
    assert told(backend, Later(), [("ada", 70)], clock(30)) == [("ada", "None")]


def test_whole_batches_give_the_times_of_their_rows(backend: RocksDbBackend) -> None:
    def first(batch: pa.RecordBatch, ctx: Context) -> Iterator[pa.RecordBatch]:
        seen = ctx.value_state("seen", pa.bool_(), ttl=HOUR)
        before = seen.get_many(batch["user"], times=batch["at"])
        seen.put_many(batch["user"], pa.array([True] * len(batch)), times=batch["at"])
        yield pa.RecordBatch.from_arrays([batch["user"], before.cast(pa.string())], schema=TOLD)

    found = []
    for minute, watermark in ((0, None), (59, 0), (119, 30)):
        runner = BatchRunner(first, ("user",), "at", "event")
        runner.output = TOLD
        runner.begin(backend, clock(watermark))
        list(runner.fire())
        batch = pa.RecordBatch.from_pylist([{"user": "ada", "at": minutes(minute)}], schema=ROW)
        found += [row["what"] for out in runner.run(batch) for row in out.to_pylist()]
    assert found == [None, "true", None]


def test_an_instant_between_two_milliseconds_counts_as_the_later_one(
    backend: RocksDbBackend,
) -> None:
    times: list[int | None] = []

    class Times(Dedup):
        def process_element(self, row: Any, ctx: Context) -> None:  # type: ignore[override]
            times.append(backend.current_event_time)

    told(backend, Times(), [("ada", 0), ("ada", 1e-5), ("ada", -1e-5)], clock(None))
    start = int(DAY.timestamp() * 1000)
    assert times == [start, start + 1, start]
