"""What the Spark benchmarks share: input, a session, and the time of each batch."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

INPUT = "user long, ts timestamp_ntz, amount double"


def session(**config: object) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Workers find the functions of these programs in their modules.
    here = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    builder = SparkSession.builder.master("local[2]").appName("flintstate-bench")
    for key, value in {
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.enabled": False,
        "spark.driver.memory": "3g",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": False,
        **config,
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def write_input(directory: Path, rows: int, keys: int, files: int) -> None:
    """`rows` rows of `keys` keys, uniformly at random, in that many files: a batch each."""
    directory.mkdir(parents=True)
    for i in range(files):
        random = np.random.default_rng(i)
        count = rows // files
        table = pa.table(
            {
                "user": random.integers(0, keys, count),
                "ts": pa.array(np.arange(i * count, (i + 1) * count) * 1000, pa.timestamp("us")),
                "amount": random.random(count),
            }
        )
        path = directory / f"{i:03d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + i,) * 2)  # Spark takes files in this order


def read(spark: SparkSession, directory: Path) -> DataFrame:
    reader = spark.readStream.schema(INPUT).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(directory))


def run(out: DataFrame, checkpoint: Path) -> list[float]:
    """Seconds of each batch with rows, as Spark counts them, into a sink that drops all rows."""
    query = (
        out.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    return [p["durationMs"]["triggerExecution"] / 1000 for p in progress]


def rate(rows_per_batch: int, seconds: list[float], skip: int = 1) -> float:
    """Rows a second of the median batch; the first `skip` batches start processes and classes."""
    return rows_per_batch / statistics.median(seconds[skip:])
