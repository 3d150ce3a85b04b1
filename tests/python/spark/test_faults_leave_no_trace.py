"""Whatever dies, the rows of all batches are those of a run without faults."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rounds import ROUNDS
from spark_buckets import remove
from spark_functions import OUT, Count, CountAndSum, DiesAtRandom, KillsItsWorker, Raises
from spark_streams import Feed, counted, make_session

from flintstate.spark import keyed

FILES = [[i * j % 40 for i in range(200)] for j in (1, 3, 7)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = make_session("local[2,30]")  # a task may fail that often
    yield session
    session.stop()


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path, "user long")


def run(feed: Feed, function: Count, *, local_dir: str | None = None) -> list[tuple[int, int]]:
    stream = keyed(feed.stream(), "user", state=feed.state, local_dir=local_dir)
    return feed.drain(stream.process(function, schema=OUT))


@pytest.mark.parametrize("trouble", [Raises, KillsItsWorker])
def test_a_task_that_fails_runs_again_from_the_same_state(
    feed: Feed, trouble: type[Raises]
) -> None:
    feed.add(user=FILES[0])
    rows = run(feed, Count())
    feed.add(user=FILES[1])
    feed.add(user=FILES[2])
    rows += run(feed, trouble(feed.home, at=17))
    assert (feed.home / "happened").exists()
    assert sorted(rows) == counted(*FILES)


def test_workers_that_die_at_any_moment(feed: Feed) -> None:
    files = [[i * j % 40 for i in range(100)] for j in range(1, 1 + 6 * ROUNDS)]
    for file in files:
        feed.add(user=file)
    assert sorted(run(feed, DiesAtRandom())) == counted(*files)


def test_state_goes_on_after_an_emptied_local_directory(feed: Feed) -> None:
    local = feed.home / "local"
    feed.add(user=FILES[0])
    rows = run(feed, Count(), local_dir=str(local))
    assert local.exists()
    remove(local)
    feed.add(user=FILES[1])
    rows += run(feed, Count(), local_dir=str(local))
    assert sorted(rows) == counted(*FILES[:2])


def test_a_restart_keeps_its_partitions_whatever_the_session_says(feed: Feed) -> None:
    feed.add(user=FILES[0])
    rows = run(feed, Count())
    feed.add(user=FILES[1])
    feed.spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        rows += run(feed, Count())
    finally:
        feed.spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert sorted(rows) == counted(*FILES[:2])


@pytest.mark.parametrize("partitions", [1, 7])
def test_any_number_of_partitions_will_do(feed: Feed, partitions: int) -> None:
    feed.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    try:
        feed.add(user=[])
        feed.add(user=FILES[0])
        feed.add(user=[3])  # most buckets have no row
        feed.add(user=[])
        feed.add(user=FILES[1])
        rows = run(feed, Count())
    finally:
        feed.spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert sorted(rows) == counted(FILES[0], [3], FILES[1])


def test_a_function_may_add_a_state_across_a_restart(feed: Feed) -> None:
    feed.add(user=FILES[0])
    run(feed, Count())
    feed.add(user=[1, 2, 1])
    stream = keyed(feed.stream(), "user", state=feed.state)
    rows = feed.drain(stream.process(CountAndSum(), schema="user long, n long, sum long"))
    before = Counter(FILES[0])
    assert sorted(rows) == [
        (1, before[1] + 1, 1), (1, before[1] + 2, 2), (2, before[2] + 1, 2),
    ]  # fmt: skip
