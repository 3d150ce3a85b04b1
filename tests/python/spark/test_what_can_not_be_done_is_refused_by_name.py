import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from spark_functions import OUT, Count
from spark_streams import Feed

from flintstate.errors import InvalidError, NotFoundError
from flintstate.spark import KeyedProcessFunction, keyed, read_state


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    feed = Feed(spark, tmp_path, "user long, name string, at timestamp, props map<string,int>")
    add(feed)
    return feed


def add(feed: Feed) -> None:
    at = pa.array([0, 1, 2], pa.timestamp("us", "UTC"))
    props = pa.array([None] * 3, pa.map_(pa.string(), pa.int32()))
    feed.add(user=[1, 2, 3], name=["a", "b", "c"], at=at, props=props)


def refused(match: str) -> Any:
    return pytest.raises(InvalidError, match=match)


class Misfit(KeyedProcessFunction[Any]):
    def __init__(self, *row: object) -> None:
        self.row = row

    def process_element(self, row: Any, ctx: Any) -> Any:
        yield self.row if row.user == 2 else (row.user, 1)


def test_keys(feed: Feed) -> None:
    df = feed.stream()
    with refused("without a key column"):
        keyed(df, state=feed.state)
    with refused("key column 'nobody'"):
        keyed(df, "nobody", state=feed.state)
    with refused("'user' is named twice"):
        keyed(df, "user", "user", state=feed.state)
    with refused("key column 'props': a map"):
        keyed(df, "props", state=feed.state)
    for many in (["user", "name"], F.col("user")):
        with refused("give names, one after another"):
            keyed(df, many, state=feed.state)


def test_what_is_no_stream_schema_or_function(feed: Feed) -> None:
    with refused("needs a stream of Spark's, not 5"):
        keyed(5, "user", state=feed.state)
    stream = keyed(feed.stream(), "user", state=feed.state)
    with refused("StructType, or text"):
        stream.process(Count(), schema=pa.schema([("user", pa.int64())]))
    with refused("takes a KeyedProcessFunction"):
        stream.process_batches(Count(), schema=OUT)


@pytest.mark.parametrize("buckets", [0, -1, "2"])
def test_a_number_of_buckets_that_is_none(feed: Feed, buckets: Any) -> None:
    with refused(f"buckets={buckets!r}: between 1 and 8192"):
        keyed(feed.stream(), "user", state=feed.state, buckets=buckets).process(Count(), schema=OUT)


def test_columns_that_can_not_cross(feed: Feed) -> None:
    months = feed.stream().select("user", F.expr("interval 1 month").alias("every"))
    with refused("column 'every'.*interval"):
        keyed(months, "user", state=feed.state)
    with refused("two columns 'user'"):
        keyed(feed.stream().select("user", "user"), "user", state=feed.state)
    with refused("output: column 'v'"):
        keyed(feed.stream(), "user", state=feed.state).process(Count(), schema="v variant")
    with refused("output: column 'v': type varchar"):
        keyed(feed.stream(), "user", state=feed.state).process(Count(), schema="v varchar(3)")
    with refused("schema='nonsense here now'"):
        keyed(feed.stream(), "user", state=feed.state).process(Count(), schema="nonsense here now")


def test_two_watermarks(feed: Feed) -> None:
    marked = feed.stream().withWatermark("at", "1 second")
    twice = marked.withColumn("again", F.col("at"))
    with refused(r"\['at', 'again'\] all carry a watermark"):
        keyed(twice, "user", state=feed.state).process(Count(), schema=OUT)


def test_a_window_as_event_time(feed: Feed) -> None:
    windows = feed.stream().withWatermark("at", "1 second").groupBy(F.window("at", "1 minute"))
    counts = windows.count()
    with refused(r"'window' carries the watermark.*struct.*F.col\('window.end'\)"):
        keyed(counts, "count", state=feed.state).process(Count(), schema=OUT)


def test_a_keyed_stream_behind_another(feed: Feed) -> None:
    first = keyed(feed.stream(), "user", state=feed.state).process(Count(), schema=OUT)
    with refused(r"over what another keyed\(\) puts out"):
        keyed(first.where("n > 1"), "user", state=feed.state + "-2").process(Count(), schema=OUT)


def test_functions(feed: Feed) -> None:
    function = Count()
    function.lock = threading.Lock()  # type: ignore[attr-defined]
    with refused("can't be sent to workers.*open"):
        keyed(feed.stream(), "user", state=feed.state).process(function, schema=OUT)
    with refused("KeyedProcessFunction is expected"):
        keyed(feed.stream(), "user", state=feed.state).process(len, schema=OUT)  # type: ignore


def test_a_frame_that_is_no_stream(feed: Feed) -> None:
    with refused("needs a stream"):
        keyed(feed.spark.range(3), "id", state=feed.state).process(Count(), schema=OUT)


def test_another_key_or_number_of_buckets(feed: Feed) -> None:
    keyed(feed.stream(), "user", state=feed.state).process(Count(), schema=OUT)
    with refused("keyed by user: int64, this query by name: string"):
        keyed(feed.stream(), "name", state=feed.state).process(Count(), schema=OUT)
    with refused("has 2 buckets, buckets=3"):
        keyed(feed.stream(), "user", state=feed.state, buckets=3).process(Count(), schema=OUT)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((2, "two"), "column 'n': expected int64, got str 'two'"),
        ("two", "expected a tuple of (user: int64, n: int64), got str"),
    ],
)
def test_rows_that_do_not_fit_are_shown(feed: Feed, row: Any, message: str) -> None:
    function = Misfit(*row) if isinstance(row, tuple) else Misfit()
    if not isinstance(row, tuple):
        function.row = row
    out = keyed(feed.stream(), "user", state=feed.state).process(function, schema=OUT)
    with pytest.raises(StreamingQueryException) as caught:
        feed.drain(out)
    assert message in str(caught.value)
    assert repr(row) in str(caught.value)


def test_a_state_directory_belongs_to_one_query_and_its_checkpoint(feed: Feed) -> None:
    def drain(checkpoint: str) -> None:
        out = keyed(feed.stream(), "user", state=feed.state).process(Count(), schema=OUT)
        feed.drain(out, checkpoint)

    drain("one")
    with pytest.raises(StreamingQueryException, match=r"needs a state= of its own"):
        drain("two")
    shutil.rmtree(feed.state)
    add(feed)
    with pytest.raises(StreamingQueryException, match=r"was it emptied or replaced"):
        drain("one")


def test_reading_what_is_not_there(feed: Feed) -> None:
    out = keyed(feed.stream(), "user", state=feed.state).process(Count(), schema=OUT)
    feed.drain(out)
    checkpoint = feed.home / "checkpoint"
    with pytest.raises(NotFoundError, match="state 'm'"):
        read_state(feed.spark, checkpoint=checkpoint, state="m")
    with pytest.raises(NotFoundError, match="root="):
        read_state(feed.spark, checkpoint=checkpoint, state="n", root=feed.home / "elsewhere")


def test_a_missing_package_is_named() -> None:
    program = "import sys; sys.modules['pandas'] = None; import flintstate.spark"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "flintstate.spark needs pandas: pip install 'flintstate[spark]'" in run.stderr
