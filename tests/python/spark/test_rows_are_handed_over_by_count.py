from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession
from spark_streams import Feed

from flintstate.spark import KeyedProcessFunction, keyed
from flintstate.spark.handing_over import bytes_a_row_max

BOUND = "spark.sql.execution.arrow.maxBytesPerBatch"


class SeesTheBound(KeyedProcessFunction[Any]):
    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        context: Any = TaskContext.get()
        yield (context.getLocalProperty(BOUND),)


def bound_in_a_query(spark: SparkSession, home: Path, schema: str, **columns: Any) -> Any:
    feed = Feed(spark, home, schema)
    feed.add(**columns)
    out = keyed(feed.stream(), "user", state=feed.state).process(SeesTheBound(), schema="b string")
    return feed.drain(out)[0][0]


def test_rows_of_bounded_width_are_not_measured_one_by_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert bound_in_a_query(spark, tmp_path, "user long", user=[1]) == str(2**31 - 1)
    assert spark.conf.get(BOUND, None) is None


def test_rows_of_any_width_are_measured(spark: SparkSession, tmp_path: Path) -> None:
    columns = {"user": [1], "text": ["x"]}
    assert bound_in_a_query(spark, tmp_path, "user long, text string", **columns) is None


def test_a_bound_that_the_user_has_set_stays(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(BOUND, "1048576b")
    try:
        assert bound_in_a_query(spark, tmp_path, "user long", user=[1]) == "1048576b"
    finally:
        spark.conf.unset(BOUND)


def test_another_query_of_the_session_keeps_its_bound(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path / "ours", "user long")
    feed.add(user=[1])
    keyed(feed.stream(), "user", state=feed.state).process(SeesTheBound(), schema="b string")
    columns = {"user": [1], "text": ["x"]}
    assert bound_in_a_query(spark, tmp_path, "user long, text string", **columns) is None


@pytest.mark.parametrize(
    ("field", "width"),
    [
        (pa.int64(), 9),
        (pa.bool_(), 1),
        (pa.decimal128(10, 2), 17),
        (pa.struct({"x": pa.int32(), "y": pa.int8()}), 8),
        (pa.string(), None),
        (pa.list_(pa.int8()), None),
        (pa.map_(pa.int8(), pa.int8()), None),
        (pa.struct({"x": pa.binary()}), None),
    ],
    ids=str,
)
def test_a_row_s_width_is_known_or_unbounded(field: pa.DataType, width: int | None) -> None:
    assert bytes_a_row_max(pa.schema([("c", field)])) == width
