"""Spark sessions for tests, and streams that a test feeds file by file."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
PACKAGES = HERE.parents[1] / "python"
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(PACKAGES), str(HERE), os.environ.get("PYTHONPATH", "")]
)
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
# A test's JVM lives for seconds: compiling thoroughly, or collecting beside it, would not pay.
os.environ["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def make_session(master: str = "local[2]", **config: object) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("flintstate-tests")
    settings: dict[str, object] = {
        "spark.ui.enabled": False,
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": False,
        "spark.driver.memory": "1g",
        **config,
    }
    for key, value in settings.items():
        builder = builder.config(key, str(value))
    return builder.getOrCreate()


def write_file(directory: Path, number: int, **columns: Any) -> None:
    """A file of a stream's input. Spark takes them in the order of their numbers."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{number:04d}.parquet"
    pq.write_table(pa.table(columns), path)
    os.utime(path, (1_700_000_000 + number,) * 2)


def counted(*files: list[int]) -> list[tuple[int, int]]:
    """What `Count` puts out for files of users, sorted."""
    seen: Counter[int] = Counter()
    rows = []
    for user in itertools.chain(*files):
        seen[user] += 1
        rows.append((user, seen[user]))
    return sorted(rows)


class Feed:
    """A directory of files, each of which is one batch of a stream."""

    def __init__(self, spark: SparkSession, home: Path, schema: str) -> None:
        self.spark, self.home, self.schema = spark, home, schema
        self.directory = home / "in"
        self.directory.mkdir(parents=True, exist_ok=True)
        self.files = 0

    def add(self, **columns: Any) -> None:
        write_file(self.directory, self.files, **columns)
        self.files += 1

    def stream(self) -> DataFrame:
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.directory))

    @property
    def state(self) -> str:
        return str(self.home / "state")

    def drain(self, out: DataFrame, checkpoint: str = "checkpoint") -> list[tuple[Any, ...]]:
        """Runs all that is there to run; the rows of each batch, batch after batch."""
        rows: list[tuple[Any, ...]] = []
        query = (
            out.writeStream.foreachBatch(lambda batch, _: rows.extend(map(tuple, batch.collect())))
            .option("checkpointLocation", str(self.home / checkpoint))
            .outputMode("append")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return rows

    def run_until(
        self, out: DataFrame, enough: Callable[[list[tuple[Any, ...]]], bool]
    ) -> list[tuple[Any, ...]]:
        """Runs a batch every fifth of a second until those that are committed gave enough.

        Needs a query in which batches go on without rows: a batch is known to be committed when
        the next one comes.
        """
        committed: list[tuple[Any, ...]] = []
        latest: list[tuple[Any, ...]] = []

        def gather(batch: DataFrame, number: int) -> None:
            committed.extend(latest)
            latest[:] = map(tuple, batch.collect())

        query = (
            out.writeStream.foreachBatch(gather)
            .option("checkpointLocation", str(self.home / "checkpoint"))
            .outputMode("append")
            .trigger(processingTime="200 milliseconds")
            .start()
        )
        deadline = time.monotonic() + 120
        try:
            while not enough(committed) and not query.awaitTermination(0.1):
                assert time.monotonic() < deadline, f"all that came are {committed}"
        finally:
            query.stop()
        return committed


@contextlib.contextmanager
def two_hosts(home: Path) -> Iterator[str]:
    """A cluster whose two workers Spark takes for two machines: its address.

    Of a task's two attempts Spark never starts both on one host, so `local-cluster` has no twins.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    deploy, url = "org.apache.spark.deploy", f"spark://127.0.0.1:{port}"
    ports = ["--webui-port", "0"]
    commands = [[f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), *ports]]
    for host in ("127.0.0.1", "127.0.0.2"):
        limits = ["--cores", "1", "--memory", "1g", "--work-dir", str(home / host)]
        commands.append([f"{deploy}.worker.Worker", "--host", host, *limits, *ports, url])
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m"}
    with open(home / "cluster.log", "a") as log:
        daemons = [
            subprocess.Popen([str(script), *command], stdout=log, stderr=log, env=environment)
            for command in commands
        ]
    try:
        yield url
    finally:
        for daemon in daemons:
            daemon.terminate()
        for daemon in daemons:
            daemon.wait()
