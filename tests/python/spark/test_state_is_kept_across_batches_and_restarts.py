from pathlib import Path

from pyspark.sql import SparkSession
from spark_functions import OUT, Count, NotesWhatIsKept
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


def test_workers_go_on_with_the_stores_that_they_keep(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path, "user long")
    files = [[i * j % 50 for i in range(300)] for j in range(12)]
    for file in files:
        feed.add(user=file)
    stream = keyed(feed.stream(), "user", state=feed.state, buckets=1)
    rows = feed.drain(stream.process(NotesWhatIsKept(tmp_path), schema=OUT))
    assert sorted(rows) == counted(*files)
    # Spark gives a call to any worker that is idle: not all go to the one that has the store.
    assert list(tmp_path.glob("kept-*"))
