"""Event time through the packing: timers, late rows, whole batches; and processing-time timers."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from spark_streams import Feed

from flintstate.spark import KeyedProcessFunction, from_millis, keyed

T0 = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
OUT = "user long, what string, at long"


class Session(KeyedProcessFunction[Any]):
    """Says when a user has been silent for five seconds, and who came too late."""

    def open(self, ctx: Any) -> None:
        self.last = ctx.value_state("last", pa.timestamp("us", "UTC"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        if self.last.value() is not None:
            ctx.delete_event_time_timer(self.last.value() + dt.timedelta(seconds=5))
        self.last.update(row.at)
        ctx.register_event_time_timer(row.at + dt.timedelta(seconds=5))
        yield ctx.current_key, "row", seconds(row.at)

    def on_timer(self, time: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield ctx.current_key, "quiet", seconds(self.last.value())

    def on_late(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield ctx.current_key, "late", seconds(row.at)


class Soon(KeyedProcessFunction[Any]):
    """Sets a timer by the clock a millisecond ahead: it fires when the bucket is called again."""

    def process_element(self, row: Any, ctx: Any) -> None:
        ctx.register_processing_time_timer(ctx.current_processing_time + 1)

    def on_timer(self, time: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield ctx.current_key, "soon", 0


class Due(KeyedProcessFunction[Any]):
    """Sets timers at each row's own time, be it late, and says when that was."""

    def process_element(self, row: Any, ctx: Any) -> None:
        ctx.register_event_time_timer(row.at)
        if ctx.current_watermark is not None:
            ctx.register_event_time_timer(ctx.current_watermark)

    def on_timer(self, time: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield ctx.current_key, from_millis(time)

    def on_late(self, row: Any, ctx: Any) -> None:
        self.process_element(row, ctx)


def seconds(at: dt.datetime) -> int:
    return round((at - T0).total_seconds())


def sums(batch: pa.RecordBatch, ctx: Any) -> Iterator[pa.RecordBatch]:
    n = ctx.value_state("n", pa.int64(), default=0)
    keys = batch.column("user")
    before = n.get_many(keys)
    n.put_many(keys, pc.add(before, 1))
    yield pa.record_batch({"n": before, "user": keys})


def feed_of(spark: SparkSession, home: Path, *batches: list[tuple[int, int]]) -> Feed:
    feed = Feed(spark, home, "user long, at timestamp")
    for rows in batches:
        times = [T0 + dt.timedelta(seconds=second) for _, second in rows]
        feed.add(user=[user for user, _ in rows], at=pa.array(times, pa.timestamp("us", "UTC")))
    return feed


BATCHES = [[(1, 0), (2, 1)], [(1, 3), (2, 20)], [(1, 4), (2, 21)], [(3, 90)]]


def test_timers_fire_in_buckets_without_rows_and_late_rows_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = feed_of(spark, tmp_path, *BATCHES)
    stream = feed.stream().withWatermark("at", "2 seconds")
    rows = feed.drain(keyed(stream, "user", state=feed.state).process(Session(), schema=OUT))
    assert sorted(row for row in rows if row[1] != "row") == [
        (1, "late", 4), (1, "quiet", 3), (2, "quiet", 21),
    ]  # fmt: skip
    assert len([row for row in rows if row[1] == "row"]) == 6
    # A restart finds the timer that is left.
    at = pa.array([T0 + dt.timedelta(seconds=200)], pa.timestamp("us", "UTC"))
    feed.add(user=[4], at=at)
    rows = feed.drain(keyed(stream, "user", state=feed.state).process(Session(), schema=OUT))
    assert (3, "quiet", 90) in rows


def test_timers_that_are_due_as_they_are_set_do_not_wait(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = feed_of(spark, tmp_path, *BATCHES)
    stream = keyed(feed.stream().withWatermark("at", "2 seconds"), "user", state=feed.state)
    fired = feed.drain(stream.process(Due(), schema="user long, at timestamp not null"))
    at_rows = [(1, 0), (1, 3), (1, 4), (2, 1), (2, 20), (2, 21)]
    at_watermarks = [(1, -1), (2, -1), (1, 18), (2, 18), (3, 19)]
    assert sorted((user, seconds(at.replace(tzinfo=dt.UTC))) for user, at in fired) == sorted(
        at_rows + at_watermarks
    )


def test_the_last_day_of_all_is_a_time_like_any_other(spark: SparkSession, tmp_path: Path) -> None:
    last = round((dt.datetime(9999, 12, 31, tzinfo=dt.UTC) - T0).total_seconds())
    feed = feed_of(spark, tmp_path, [(1, 0)], [(1, last)], [(1, last + 1), (2, last), (1, 90)])
    stream = keyed(feed.stream().withWatermark("at", "2 seconds"), "user", state=feed.state)
    rows = feed.drain(stream.process(Session(), schema=OUT))
    assert sorted(rows) == sorted([
        (1, "row", 0), (1, "row", last), (1, "row", last + 1), (2, "row", last), (1, "late", 90),
    ])  # fmt: skip


def test_whole_batches_without_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    feed = feed_of(spark, tmp_path, *BATCHES)
    stream = feed.stream().withWatermark("at", "2 seconds")
    out = keyed(stream, "user", state=feed.state).process_batches(sums, schema="user long, n long")
    assert sorted(feed.drain(out)) == [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0)]


def test_processing_time_timers_fire_when_their_bucket_is_called_next(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = feed_of(spark, tmp_path, [(1, 0)], [(1, 1)])
    out = keyed(feed.stream().select(F.col("user")), "user", state=feed.state)
    assert feed.drain(out.process(Soon(), schema=OUT)) == [(1, "soon", 0)]
