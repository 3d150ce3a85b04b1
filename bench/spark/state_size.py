"""What a batch costs with little state and with much: same rows, as many distinct keys in it.

    PYTHONPATH=python python bench/spark/state_size.py [small] [large] [rows] [keys] [rounds]

A counting query is fed all keys of its state in five batches, then seven of `rows` rows that belong
to `keys` of them, drawn anew for each batch. Medians of the last six of these, by turns.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import common
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peers import ours
from pyspark.sql import SparkSession

FILLING, MEASURED = 5, 7


def write_users(directory: Path, number: int, users: np.ndarray) -> None:
    count = len(users)
    table = pa.table(
        {
            "user": users,
            "ts": pa.array(np.arange(count), pa.timestamp("us")),
            "amount": np.zeros(count),
        }
    )
    path = directory / f"{number:03d}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_700_000_000 + number,) * 2)


def write_input(directory: Path, state_keys: int, rows: int, keys: int) -> None:
    directory.mkdir(parents=True)
    random = np.random.default_rng(1)
    # The smaller state, too, is filled by batches that get everything compiled.
    filling = random.permutation(np.resize(np.arange(state_keys), max(state_keys, rows)))
    for number, users in enumerate(np.array_split(filling, FILLING)):
        write_users(directory, number, users)
    for number in range(FILLING, FILLING + MEASURED):
        chosen = random.choice(state_keys, keys, replace=False)
        write_users(directory, number, random.permutation(np.resize(chosen, rows)))


def measure(spark: SparkSession, home: Path, state_keys: int, rows: int, keys: int) -> float:
    """Seconds of the median batch."""
    write_input(home / "in", state_keys, rows, keys)
    seconds = common.run(ours(common.read(spark, home / "in"), home), home / "checkpoint")
    shutil.rmtree(home)
    return statistics.median(seconds[FILLING + 1 :])


def main(
    small: int = 50_000, large: int = 5_000_000, rows: int = 200_000, keys: int = 50_000,
    rounds: int = 3,
) -> None:  # fmt: skip
    home = Path(tempfile.mkdtemp())
    spark = common.session()
    try:
        ratios = []
        for i in range(rounds):
            little, much = (
                measure(spark, home / f"{size}-{i}", size, rows, keys) for size in (small, large)
            )
            ratios.append(much / little)
            print(
                f"{small:,} keys {little:.2f} s a batch, {large:,} keys {much:.2f} s, "
                f"{ratios[-1]:.2f}x",
                flush=True,
            )
        print(f"{rows:,} rows of {keys:,} keys a batch: median {statistics.median(ratios):.2f}x")
    finally:
        spark.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
