"""The bare road (packing and carrier, no state) against mapInArrow after a repartition.

    PYTHONPATH=python python bench/spark/bare_road.py [rows a batch] [repeats]

Both read the same files, shuffle by key, pass each row through Python and put out two columns.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import common
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from flintstate.spark.carrier import _in_order
from flintstate.spark.frames import carried_schema, frame, unfolded
from flintstate.spark.labels import choose_labels
from flintstate.spark.packing import PACKED_SPARK, Packer, unpack
from flintstate.spark.schemas import arrow_schema

OUTPUT = "user long, amount double"
BATCHES = 4


def forward(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(["user", "amount"])


def carry(
    key: tuple[int], frames: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    for payload in _in_order(frames):
        yield frame(pa.concat_batches(unpack(payload)).select(["user", "amount"]))
    state.update((b"handle" * 50,))


def plain(df: DataFrame) -> DataFrame:
    return df.repartition(2, "user").mapInArrow(forward, OUTPUT)


def road(df: DataFrame) -> DataFrame:
    packer = Packer(("user",), tuple(choose_labels(2, 2)), 128, arrow_schema(df.schema, "input"))
    carried = (
        df.mapInArrow(packer, PACKED_SPARK)
        .groupBy("bucket")
        .applyInPandasWithState(
            carry,
            carried_schema(T.StructType.fromDDL(OUTPUT)),
            "handle binary",
            "append",
            GroupStateTimeout.NoTimeout,
        )
    )
    return unfolded(carried)


def main(rows: int = 2_000_000, repeats: int = 3) -> None:
    home = Path(tempfile.mkdtemp())
    try:
        common.write_input(home / "in", rows * BATCHES, rows // 2, BATCHES)
        spark = common.session()
        ratios = []
        for i in range(repeats):
            rates = []
            for job in (plain, road):
                seconds = common.run(
                    job(common.read(spark, home / "in")), home / f"{job.__name__}-{i}"
                )
                rates.append(common.rate(rows, seconds))
            ratios.append(rates[1] / rates[0])
            print(
                f"mapInArrow {rates[0]:,.0f} rows/s, road {rates[1]:,.0f} rows/s, "
                f"{ratios[-1]:.2f}x",
                flush=True,
            )
        print(f"{rows:,} rows a batch: median {statistics.median(ratios):.2f}x")
        spark.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
