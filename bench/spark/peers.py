"""Count per key against Spark's own stateful operators: same job, same files, same sink.

    PYTHONPATH=python python bench/spark/peers.py [rows] [keys] [batches] [name ...]

Names: ours, applyInPandasWithState, transformWithStateInPandas, transformWithState. Rates are of
all batches together, as Spark counts their time, after a small stream that starts processes.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import common
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from flintstate.spark import KeyedProcessFunction, keyed

OUTPUT = "user long, n long"


class Count(KeyedProcessFunction[Any]):
    def open(self, ctx: Any) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        n = self.n.value() + 1
        self.n.update(n)
        yield row.user, n


class CountInPandas(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(  # noqa: N802
        self, key: Any, rows: Any, timers: Any
    ) -> Iterator[pd.DataFrame]:
        n = self.n.get()[0] if self.n.exists() else 0
        count = sum(len(frame) for frame in rows)
        self.n.update((n + count,))
        yield pd.DataFrame({"user": [key[0]] * count, "n": range(n + 1, n + count + 1)})

    def close(self) -> None:
        pass


class CountRows(StatefulProcessor):
    def init(self, handle: Any) -> None:
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Row]:  # noqa: N802
        n = self.n.get()[0] if self.n.exists() else 0
        for _ in rows:
            n += 1
            yield Row(user=key[0], n=n)
        self.n.update((n,))

    def close(self) -> None:
        pass


def count_group(
    key: tuple[int], frames: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    n = state.get[0] if state.exists else 0
    count = sum(len(frame) for frame in frames)
    state.update((n + count,))
    yield pd.DataFrame({"user": [key[0]] * count, "n": range(n + 1, n + count + 1)})


def ours(df: DataFrame, home: Path) -> DataFrame:
    return keyed(df, "user", state=home / "state", local_dir=str(home / "local")).process(
        Count(), schema=OUTPUT
    )


def apply_in_pandas(df: DataFrame, home: Path) -> DataFrame:
    return df.groupBy("user").applyInPandasWithState(
        count_group, OUTPUT, "n long", "append", GroupStateTimeout.NoTimeout
    )


def transform_in_pandas(df: DataFrame, home: Path) -> DataFrame:
    return df.groupBy("user").transformWithStateInPandas(CountInPandas(), OUTPUT, "Append", "None")


def transform_rows(df: DataFrame, home: Path) -> DataFrame:
    return df.groupBy("user").transformWithState(CountRows(), OUTPUT, "Append", "None")


JOBS: dict[str, Callable[[DataFrame, Path], DataFrame]] = {
    "ours": ours,
    "applyInPandasWithState": apply_in_pandas,
    "transformWithStateInPandas": transform_in_pandas,
    "transformWithState": transform_rows,
}


def main(rows: int, keys: int, batches: int, names: list[str]) -> None:
    home = Path(tempfile.mkdtemp())
    spark = common.session(
        **{
            "spark.sql.streaming.stateStore.providerClass": (
                "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
            ),
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
        }
    )
    try:
        common.write_input(home / "warm", 2_000, 100, 2)
        common.write_input(home / "in", rows, keys, batches)
        rates: dict[str, float] = {}
        for name in names:
            job = JOBS[name]
            warm = job(common.read(spark, home / "warm"), home / f"warm-{name}")
            common.run(warm, home / f"warm-{name}-checkpoint")
            seconds = common.run(
                job(common.read(spark, home / "in"), home / name), home / f"c-{name}"
            )
            rates[name] = rows / sum(seconds)
            ratio = f", ours {rates['ours'] / rates[name]:.1f}x" if "ours" in rates else ""
            each = ", ".join(f"{s:.2f}" for s in seconds)
            print(f"{name}: {rates[name]:,.0f} rows/s ({each} s){ratio}", flush=True)
    finally:
        spark.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sizes = [int(a) for a in arguments if a.isdigit()]
    main(*(sizes or [200_000, 50_000, 4]), [a for a in arguments if not a.isdigit()] or list(JOBS))
