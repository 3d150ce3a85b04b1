"""Real separate executors: one is killed while its worker lives on; two attempts race."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_functions import OUT, Count, IsSlowToEnd, OutlivesItsExecutor
from spark_streams import Feed, counted, make_session, two_hosts

from flintstate.spark import collect_garbage, keyed

FILES = [[i * j % 40 for i in range(200)] for j in (1, 3, 7)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with two_hosts(tmp_path_factory.mktemp("cluster")) as url:
        session = make_session(
            url,
            **{
                "spark.executor.memory": "512m",
                "spark.speculation": True,
                "spark.speculation.interval": "100ms",
                "spark.speculation.multiplier": 1.5,
                "spark.speculation.quantile": 0.5,
                "spark.speculation.minTaskRuntime": "2s",
            },
        )
        yield session
        session.stop()


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path, "user long")


def run(feed: Feed, function: Count) -> list[tuple[int, int]]:
    out = keyed(feed.stream(), "user", state=feed.state, local_dir=str(feed.home / "local"))
    return feed.drain(out.process(function, schema=OUT))


def orphans(feed: Feed) -> list[str]:
    return collect_garbage(feed.spark, checkpoint=feed.home / "checkpoint", age_min_s=0)


def wait_for(path: Path) -> str:
    until = time.monotonic() + 60
    while not path.exists() or not path.read_text():
        assert time.monotonic() < until, f"{path} did not come"
        time.sleep(0.05)
    return path.read_text()


def test_the_loser_of_a_race_leaves_an_orphan_that_is_collected(feed: Feed) -> None:
    feed.add(user=FILES[0])
    rows = run(feed, Count())
    feed.add(user=FILES[1])
    rows += run(feed, IsSlowToEnd(feed.home, at=17))
    lost = wait_for(feed.home / "slow-committed")
    assert len(list(feed.home.glob("attempt-*"))) >= 2
    feed.add(user=FILES[2])
    rows += run(feed, Count())
    assert sorted(rows) == counted(*FILES)
    assert any(lost in name for name in orphans(feed))
    assert orphans(feed) == []


def test_a_worker_that_outlives_its_executor_commits_into_the_void(feed: Feed) -> None:
    feed.add(user=FILES[0])
    rows = run(feed, Count())
    feed.add(user=FILES[1])
    rows += run(feed, OutlivesItsExecutor(feed.home, at=17))
    late = wait_for(feed.home / "zombie-committed")
    feed.add(user=FILES[2])
    rows += run(feed, Count())
    assert sorted(rows) == counted(*FILES)
    assert any(late in name for name in orphans(feed))
