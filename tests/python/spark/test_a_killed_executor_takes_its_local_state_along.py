"""Without `local_dir` stores lie in the executors' own directories, and end with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_functions import OUT, Count, KillsItsExecutor
from spark_streams import Feed, counted, make_session

from flintstate.spark import keyed

FILES = [[i * j % 40 for i in range(200)] for j in (1, 3, 7)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = make_session("local-cluster[2,1,1024]", **{"spark.executor.memory": "512m"})
    yield session
    session.stop()


def test_the_batch_runs_again_on_another_executor(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path, "user long")

    def run(function: Count) -> list[tuple[int, int]]:
        out = keyed(feed.stream(), "user", state=feed.state).process(function, schema=OUT)
        return feed.drain(out)

    feed.add(user=FILES[0])
    rows = run(Count())
    feed.add(user=FILES[1])
    feed.add(user=FILES[2])
    rows += run(KillsItsExecutor(tmp_path, at=17))
    assert "CoarseGrainedExecutorBackend" in (tmp_path / "killed").read_text()
    assert sorted(rows) == counted(*FILES)
