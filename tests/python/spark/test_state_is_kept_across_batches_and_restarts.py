from pathlib import Path

from pyspark.sql import SparkSession
from spark_functions import OUT, Count
from spark_streams import Feed, counted

from flintstate.spark import keyed


def test_counts_go_on_in_a_query_that_was_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(spark, tmp_path, "user long")
    files = [[i * j % 50 for i in range(300)] for j in (1, 3, 7, 11)]

    def run() -> list[tuple[int, int]]:
        return feed.drain(
            keyed(feed.stream(), "user", state=feed.state).process(Count(), schema=OUT)
        )

    feed.add(user=files[0])
    feed.add(user=files[1])
    rows = run()
    feed.add(user=files[2])
    rows += run()
    feed.add(user=files[3])
    rows += run()
    assert sorted(rows) == counted(*files)
