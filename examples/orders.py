"""A running total for each customer, in a stream that is killed in the middle and started again.

    python examples/orders.py [directory]

Orders come as files. A process function keeps each customer's total in keyed state. Half way, the
query is killed by SIGKILL: the driver, its JVM, its workers, all at once. It is started again, goes
on where Spark's last commit was, and in the end its totals are compared with those of a plain batch
query over the same files.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from flintstate.spark import KeyedProcessFunction, keyed

FILES, ORDERS_A_FILE, CUSTOMERS = 16, 50_000, 20_000
SCHEMA = "order long, customer string, cents long"


class RunningTotal(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.total = ctx.value_state("total", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, int, int]]:
        total = self.total.value() + row.cents
        self.total.update(total)
        yield ctx.current_key, row.order, total


def run(home: str) -> None:
    """The streaming query, until it has seen all files. Says how far it is on standard output."""
    spark = session()
    orders = (
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{home}/orders")
    )
    totals = keyed(orders, "customer", state=f"{home}/state").process(
        RunningTotal(), schema="customer string, order long, total long"
    )
    query = (
        totals.writeStream.format("parquet")
        .option("path", f"{home}/totals")
        .option("checkpointLocation", f"{home}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    batch = -1
    running = True
    while running:
        running = not query.awaitTermination(0.05)
        progress = query.lastProgress
        if progress is not None and progress["batchId"] > batch:
            batch = progress["batchId"]
            print(json.dumps({"batch": batch}), flush=True)


def session() -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", False)
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )


def main(home: Path) -> None:
    say(f"Writing {FILES * ORDERS_A_FILE:,} orders of {CUSTOMERS:,} customers to {home}")
    write_orders(home / "orders")
    say("Starting the stream: a running total for each customer")
    killed_at = watch(home, kill_at=FILES // 2)
    say(f"Killed by SIGKILL after batch {killed_at}: driver, JVM and workers are gone")
    time.sleep(1)
    say("Starting it again")
    watch(home)
    say("Comparing with a plain batch query over the same orders")
    with start(home, "--compare") as child:
        print(child.communicate()[0], end="")
    if child.returncode != 0:
        raise SystemExit(f"the comparison failed: see {home}/stream.log")


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def write_orders(directory: Path) -> None:
    directory.mkdir(parents=True)
    dice = random.Random(2026)
    for i in range(FILES):
        numbers = range(i * ORDERS_A_FILE, (i + 1) * ORDERS_A_FILE)
        table = pa.table(
            {
                "order": list(numbers),
                "customer": [f"customer-{dice.randrange(CUSTOMERS):05d}" for _ in numbers],
                "cents": [dice.randrange(100, 20_000) for _ in numbers],
            }
        )
        pq.write_table(table, directory / f"{i:03d}.parquet")


def start(home: Path, what: str) -> subprocess.Popen[str]:
    """A part of this program, in a process group of its own; Spark's talk goes to a file."""
    with open(home / "stream.log", "a") as log:
        return subprocess.Popen(
            [sys.executable, __file__, what, str(home)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )


def watch(home: Path, kill_at: int | None = None) -> int:
    """Runs the stream and shows how far it is; kills it after batch `kill_at`."""
    child = start(home, "--run")
    assert child.stdout is not None
    begun, batch = time.monotonic(), -1
    for line in child.stdout:
        if not line.startswith("{"):
            continue
        batch = json.loads(line)["batch"]
        show(batch + 1, time.monotonic() - begun)
        if kill_at is not None and batch >= kill_at:
            os.killpg(child.pid, signal.SIGKILL)
            break
    failed = child.wait() != 0
    if kill_at is None and not failed:
        show(FILES, time.monotonic() - begun)
    print()
    if kill_at is None and failed:
        raise SystemExit(f"the stream failed: see {home}/stream.log")
    return batch


def show(done: int, seconds: float) -> None:
    width = 40
    bar = "#" * (width * done // FILES)
    print(
        f"\r   [{bar:<{width}}] {done:>3} of {FILES} batches, "
        f"{done * ORDERS_A_FILE:>9,} orders, {seconds:4.1f} s",
        end="",
        flush=True,
    )


def compare(home: Path) -> None:
    spark = session()
    spent = F.sum("cents").alias("cents"), F.count("*").alias("orders")
    expected = spark.read.schema(SCHEMA).parquet(f"{home}/orders").groupBy("customer").agg(*spent)
    # Spark's sink has a log of what it committed: files of the killed attempt are not read.
    rows = spark.read.parquet(f"{home}/totals")
    seen = F.max("total").alias("total"), F.count_distinct("order").alias("seen")
    found = rows.groupBy("customer").agg(*seen)
    both = expected.join(found, "customer", "full").orderBy("customer").collect()
    written = rows.count()
    spark.stop()
    print(f"   {written:,} rows were written for {FILES * ORDERS_A_FILE:,} orders")
    for row in both[:3]:
        print(f"   {row.customer}: batch {row.cents:>9,} cents, stream {row.total:>9,} cents")
    right = all(row.cents == row.total and row.orders == row.seen for row in both)
    if not right or written != FILES * ORDERS_A_FILE:
        print("   The totals differ!")
        raise SystemExit(1)
    print(f"   All {len(both):,} totals are equal: nothing was lost, nothing was counted twice.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2])
    elif sys.argv[1:2] == ["--compare"]:
        compare(Path(sys.argv[2]))
    elif len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="flintstate-orders-") as directory:
            main(Path(directory))
