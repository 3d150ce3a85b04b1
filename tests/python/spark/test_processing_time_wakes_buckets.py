"""The processing-time mode: the clock's timers fire in buckets without rows, batch by batch."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from spark_streams import Feed

from flintstate import InvalidError
from flintstate.spark import KeyedProcessFunction, keyed
from flintstate.state import Ttl

T0 = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
OUT = "user long, what string, behind long"
NO_DATA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


class Later(KeyedProcessFunction[Any]):
    """Sets a timer by the clock, and says how far behind its time it came."""

    def __init__(self, wait_ms: int) -> None:
        self.wait_ms = wait_ms

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        ctx.register_processing_time_timer(ctx.current_processing_time + self.wait_ms)
        yield ctx.current_key, "row", 0

    def on_timer(self, time: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
        assert ctx.current_watermark is None
        yield ctx.current_key, "timer", ctx.current_processing_time - time


class ByTheWatermark(Later):
    def process_element(self, row: Any, ctx: Any) -> None:
        ctx.register_event_time_timer(0)


class LivesByTheWatermark(Later):
    def open(self, ctx: Any) -> None:
        ttl = Ttl(ttl=dt.timedelta(seconds=1), event_time=True)
        ctx.list_state("seen", pa.int64(), ttl=ttl)


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    feed = Feed(spark, tmp_path, "user long, at timestamp")
    feed.add(user=[1, 2, 3], at=[T0] * 3)
    return feed


def processed(feed: Feed, wait_ms: int, function: Callable[[int], Later] = Later) -> DataFrame:
    out = keyed(feed.stream(), "user", state=feed.state)
    return out.process(function(wait_ms), schema=OUT, time_mode="processing")


def timers(rows: list[tuple[Any, ...]]) -> list[int]:
    return sorted(user for user, what, _ in rows if what == "timer")


def test_timers_fire_without_rows_at_or_after_their_time(feed: Feed) -> None:
    rows = feed.run_until(processed(feed, 1500), lambda rows: len(rows) == 6)
    assert timers(rows) == [1, 2, 3]
    assert all(behind >= 0 for _, _, behind in rows)


def test_a_restart_keeps_timers(feed: Feed) -> None:
    feed.run_until(processed(feed, 4000), lambda rows: len(rows) == 3)
    feed.add(user=[4], at=[T0])  # after a restart Spark's first batch waits for rows
    rows = feed.run_until(processed(feed, 10**9), lambda rows: len(timers(rows)) == 3)
    assert timers(rows) == [1, 2, 3]


def test_no_row_is_late(spark: SparkSession, feed: Feed) -> None:
    feed.add(user=[5], at=[T0 - dt.timedelta(days=9)])
    feed.add(user=[6], at=[T0 - dt.timedelta(days=9)])
    marked = keyed(feed.stream().withWatermark("at", "1 second"), "user", state=feed.state)
    out = marked.process(Later(10**9), schema=OUT, time_mode="processing")
    rows = feed.run_until(out, lambda rows: len(rows) == 5)
    assert sorted(user for user, _, _ in rows) == [1, 2, 3, 5, 6]


def test_a_trigger_that_would_never_end_is_refused(spark: SparkSession, feed: Feed) -> None:
    with pytest.raises(StreamingQueryException, match=r"availableNow=True.*would never end"):
        feed.drain(processed(feed, 1))
    # Without batches that have no rows it ends, and what is due fires in batches that have some.
    spark.conf.set(NO_DATA_BATCHES, False)
    try:
        assert timers(feed.drain(processed(feed, 1))) == []
        feed.add(user=[9], at=[T0])
        assert timers(feed.drain(processed(feed, 10**9))) == [1, 2, 3]
    finally:
        spark.conf.unset(NO_DATA_BATCHES)


@pytest.mark.parametrize("function", [ByTheWatermark, LivesByTheWatermark])
def test_event_time_is_refused(feed: Feed, function: type[Later]) -> None:
    with pytest.raises(StreamingQueryException, match=r"InvalidError.*time_mode='processing'"):
        feed.run_until(processed(feed, 1, function), lambda rows: False)


def test_event_time_timers_need_a_watermark(feed: Feed) -> None:
    out = keyed(feed.stream(), "user", state=feed.state)
    with pytest.raises(StreamingQueryException, match=r"event_time_timer.*no watermark"):
        feed.drain(out.process(ByTheWatermark(1), schema=OUT))


def test_modes_that_can_not_be_are_refused_on_the_driver(feed: Feed) -> None:
    stream = keyed(feed.stream(), "user", state=feed.state)
    with pytest.raises(InvalidError, match=r"time_mode='event'.*withWatermark"):
        stream.process(Later(1), schema=OUT, time_mode="event")
    with pytest.raises(InvalidError, match=r"time_mode='wall': 'event' and 'processing'"):
        stream.process(Later(1), schema=OUT, time_mode="wall")  # type: ignore[arg-type]
    processed(feed, 1)
    with pytest.raises(InvalidError, match=r"made with time_mode='processing'.*keep the mode"):
        stream.process(Later(1), schema=OUT)
