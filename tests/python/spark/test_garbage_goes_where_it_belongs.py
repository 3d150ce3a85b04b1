"""Collectors and queries that come with a copied checkpoint, or to the wrong state directory."""

import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from spark_functions import OUT, Count
from spark_streams import Feed, counted, make_session

from flintstate.errors import InvalidError, NotFoundError
from flintstate.spark import collect_garbage, keyed, read_state
from flintstate.spark.bucket import Limits

FILES = [[i * j % 40 for i in range(100)] for j in range(1, 5)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = make_session()
    yield session
    session.stop()


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Feed:
    often = partial(Limits, log_bytes_min=1, log_segments_max=0)  # a base in each batch
    monkeypatch.setattr(sys.modules["flintstate.spark.keyed"], "Limits", often)
    return Feed(spark, tmp_path, "user long")


def run(
    feed: Feed, files: list[list[int]], checkpoint: str = "checkpoint"
) -> list[tuple[int, int]]:
    for file in files:
        feed.add(user=file)
    out = keyed(feed.stream(), "user", state=feed.state).process(Count(), schema=OUT)
    return feed.drain(out, checkpoint)


def test_a_copied_checkpoint_and_the_state_of_its_original(feed: Feed) -> None:
    original, copy = feed.home / "checkpoint", feed.home / "copy"
    rows = run(feed, FILES[:2])
    shutil.copytree(original, copy)
    rows += run(feed, FILES[2:])
    assert sorted(rows) == counted(*FILES)
    objects = sorted(Path(feed.state).rglob("*"))

    with pytest.raises(InvalidError, match=r"gone on to batch 3.*before batch 2"):
        collect_garbage(feed.spark, checkpoint=copy, age_min_s=0)
    with pytest.raises(StreamingQueryException, match=r"gone on to batch 3.*before batch 2"):
        run(feed, [], "copy")
    other = str(feed.home / "other")
    keyed(feed.stream(), "user", state=other).process(Count(), schema=OUT)
    with pytest.raises(InvalidError, match=r"other: it holds state .*root="):
        collect_garbage(feed.spark, checkpoint=original, root=other, age_min_s=0)
    assert sorted(Path(feed.state).rglob("*")) == objects

    # What Spark retains stays readable, whatever is asked for.
    collect_garbage(feed.spark, checkpoint=original, batches_retained=1, age_min_s=0)
    first = read_state(feed.spark, checkpoint=original, state="n", batch_id=0)
    assert sorted(map(tuple, first.collect())) == sorted(Counter(FILES[0]).items())

    # The copy is what counts from now on.
    with pytest.raises(InvalidError, match="root="):
        collect_garbage(feed.spark, checkpoint=copy, rolled_back=True)
    assert collect_garbage(feed.spark, checkpoint=copy, root=feed.state, rolled_back=True)
    again = run(feed, [], "copy")
    assert sorted(again) == sorted(set(counted(*FILES)) - set(counted(*FILES[:2])))
    with pytest.raises(NotFoundError, match="nothing was deleted"):
        collect_garbage(feed.spark, checkpoint=original, age_min_s=0)
