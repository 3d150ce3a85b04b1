"""Paths that a stream is given are checked, and made whole, before anything is sent to workers."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from flintstate.errors import InvalidError
from flintstate.spark import collect_garbage, keyed, read_state

NOWHERE: Any = None  # neither a stream nor a session is looked at


@pytest.mark.parametrize("path", ["hdfs:/x", "s3://b/x", "dbfs:/x", "", b"/x", "/a\0b"])
def test_a_path_that_no_worker_could_open_is_refused_at_once(path: Any) -> None:
    with pytest.raises(InvalidError, match="state="):
        keyed(NOWHERE, "user", state=path)
    with pytest.raises(InvalidError, match="local_dir="):
        keyed(NOWHERE, "user", state="/data/state", local_dir=path)


@pytest.mark.parametrize("path", ["", " ", None, b"/x", "/a\0b"])
def test_a_checkpoint_that_is_no_path_is_refused_at_once(path: Any) -> None:
    with pytest.raises(InvalidError, match="checkpoint="):
        read_state(NOWHERE, checkpoint=path, state="n")
    with pytest.raises(InvalidError, match="checkpoint="):
        collect_garbage(NOWHERE, checkpoint=path)


def test_relative_paths_are_those_of_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    stream = keyed(spark.range(1), "id", state="state", local_dir=Path("~/local"))
    assert (stream.state, stream.local_dir) == (str(tmp_path / "state"), str(tmp_path / "local"))
