"""A harness's micro-batches and what Spark's workers run: the same calls, in the same order."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T  # noqa: N812

from flintstate import Context, KeyedBackend, KeyedProcessFunction
from flintstate.ddl import to_schema
from flintstate.spark.runner import Clock, RowRunner
from flintstate.spark.schemas import arrow_schema
from flintstate.state.backend import BackendKind
from flintstate.testing import Harness

UTC = dt.UTC
T0 = dt.datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = "user string, shard long, at timestamp, n int"
OUTPUT = "what string, user string, shard long, n long"
DELAY = dt.timedelta(seconds=3)


class Says(KeyedProcessFunction[Any]):
    """Puts out each call; rows set timers of both kinds, before and behind now."""

    def open(self, ctx: Context) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        self.n.update(self.n.value() + 1)
        yield "row", row.user, row.shard, row.n
        if row.at is not None:
            ctx.register_event_time_timer(row.at + dt.timedelta(seconds=row.n % 9 - 4))
        ctx.register_processing_time_timer(ctx.current_processing_time + row.n % 5)

    def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield "timer", *ctx.current_key, self.n.value()  # type: ignore[misc]

    def on_late(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield "late", row.user, row.shard, row.n


def batches(seed: int) -> Iterator[list[tuple[object, ...]]]:
    dice = random.Random(seed)
    for second in range(0, 40, 4):
        yield [
            (
                dice.choice(["ada", "bob", "cyd", None]),
                dice.randrange(4),
                T0 + dt.timedelta(microseconds=dice.randrange(10_000_000) + second * 1_000_000)
                if dice.random() < 0.95 else None,
                dice.randrange(100),
            )
            for _ in range(dice.choice([0, 1, 30]))
        ]  # fmt: skip


def in_a_worker(path: Path, seed: int) -> Iterator[list[tuple[object, ...]]]:
    """What the function of Spark's workers does, which is given each batch's watermark."""
    schema = to_schema(SCHEMA, "schema")
    key = pa.schema([schema.field("user"), schema.field("shard")])
    seen: list[Any] = []
    with KeyedBackend.open(path, key=key) as backend:
        for i, rows in enumerate(batches(seed)):
            runner = RowRunner(Says(), ("user", "shard"), "at", "event")
            runner.output = to_schema(OUTPUT, "output")
            watermark = int((max(seen) - DELAY).timestamp() * 1000) if seen else None
            runner.begin(backend, Clock(watermark, i))  # type: ignore[arg-type]
            given = [dict(zip(schema.names, row, strict=True)) for row in rows]
            parts = [*runner.fire()]
            if rows:
                parts += runner.run(pa.RecordBatch.from_pylist(given, schema))
            parts += runner.fire()
            yield [tuple(row.values()) for part in parts for row in part.to_pylist()]
            seen += [row[2] for row in rows if row[2] is not None]


@pytest.mark.parametrize("kind", ["heap", "rocksdb"])
def test_the_calls_are_those_that_a_worker_makes(kind: BackendKind, tmp_path: Path) -> None:
    worker = list(in_a_worker(tmp_path / "worker", seed=7))
    with Harness(
        Says(), key=["user", "shard"], schema=SCHEMA, output=OUTPUT, time="at", delay=DELAY,
        kind=kind, path=tmp_path / "harness",
    ) as harness:  # fmt: skip
        made = [harness.process_batch(rows, processing_time=i) for i, rows in enumerate(batches(7))]
    assert made == worker
    assert {row[0] for out in made for row in out} == {"row", "timer", "late"}


ATOMIC = [
    T.BooleanType(), T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType(), T.FloatType(),
    T.DoubleType(), T.StringType(), T.BinaryType(), T.DateType(), T.TimestampType(),
    T.TimestampNTZType(), T.DecimalType(12, 3),
]  # fmt: skip


def test_the_types_of_a_schema_in_text_are_sparks() -> None:
    spark = T.StructType([T.StructField(f"c{i}", kind) for i, kind in enumerate(ATOMIC)])
    for names in ([t.simpleString() for t in ATOMIC], [t.typeName() for t in ATOMIC]):
        names[-1] = "decimal(12, 3)"
        text = ", ".join(f"c{i} {name.upper()}" for i, name in enumerate(names))
        assert to_schema(text, "schema") == arrow_schema(spark, "schema")
