"""Batches whose input has no partitions: no function of ours is called in them."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from spark_functions import OUT, Count
from spark_streams import Feed, counted

from flintstate.spark import keyed


class Days(Feed):
    """Files of days, of which the query wants the second alone: Spark prunes the first."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        super().__init__(spark, home, "user long, day int")

    def on_day(self, day: int, users: list[int]) -> None:
        path = self.directory / f"day={day}" / f"{self.files}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"user": users}), path)
        os.utime(path, (1_700_000_000 + self.files,) * 2)
        self.files += 1

    def counts(self) -> list[tuple[int, int]]:
        return self.drain(keyed(self.second_day(), "user", state=self.state).process(
            Count(), schema=OUT
        ))  # fmt: skip

    def second_day(self) -> DataFrame:
        return self.stream().where("day = 2").select("user")


def test_rows_may_come_in_any_batch_of_any_start(spark: SparkSession, tmp_path: Path) -> None:
    feed = Days(spark, tmp_path)
    feed.on_day(1, [7])
    feed.on_day(1, [8])
    assert feed.counts() == []
    feed.on_day(1, [9])
    feed.on_day(2, [1])
    first = feed.counts()
    feed.on_day(2, [1, *range(2, 40)])
    assert sorted(first + feed.counts()) == counted([1], [1, *range(2, 40)])


def test_a_query_that_began_before_its_directory_did_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Days(spark, tmp_path)
    feed.on_day(1, [7])
    assert feed.counts() == []
    shutil.rmtree(feed.state)  # nothing was in it
    feed.on_day(2, [1])
    assert feed.counts() == [(1, 1)]


def test_an_emptied_directory_is_refused_to_buckets_that_were_never_in_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Days(spark, tmp_path)
    feed.on_day(2, [1])
    assert feed.counts() == [(1, 1)]
    shutil.rmtree(feed.state)
    feed.on_day(2, list(range(2, 40)))
    with pytest.raises(StreamingQueryException, match=r"was it (moved or )?emptied"):
        feed.counts()
    with pytest.raises(StreamingQueryException, match=r"was it (moved or )?emptied"):
        feed.counts()
