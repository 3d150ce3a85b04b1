"""Where the milliseconds of a batch go, on our side of the border: one bucket, without Spark.

    PYTHONPATH=python python bench/spark/one_batch.py [rows] [keys] [batches] [keep]

Packs `rows` rows, then does with a bucket's half of them what the carrier does in each call: opens
the store, groups by key, reads, runs a counting function, writes, closes. With `keep` the store
stays open from batch to batch, as it does for calls that come to the same worker.
Medians over the batches, of the processor's time in all threads and of the clock's.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flintstate.checkpoint.handle import Groups, new_state_id
from flintstate.checkpoint.storage import open_storage
from flintstate.process import KeyedProcessFunction
from flintstate.spark.bucket import Bucket, empty_handle
from flintstate.spark.packing import Packer, unpack
from flintstate.spark.runner import Clock, RowRunner
from flintstate.state.rocksdb import RocksDbBackend
from flintstate.state.times import system_clock

SCHEMA = pa.schema([("user", pa.int64()), ("ts", pa.timestamp("us")), ("amount", pa.float64())])
SPENT: dict[str, list[tuple[float, float]]] = defaultdict(list)


class Count(KeyedProcessFunction[Any]):
    def open(self, ctx: Any) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        n = self.n.value() + 1
        self.n.update(n)
        yield row.user, n


@contextmanager
def timed(what: str) -> Iterator[None]:
    begun = time.process_time(), time.perf_counter()
    yield
    SPENT[what].append((time.process_time() - begun[0], time.perf_counter() - begun[1]))


def rows_of(seed: int, rows: int, keys: int) -> list[pa.RecordBatch]:
    random = np.random.default_rng(seed)
    batch = pa.record_batch(
        [
            random.integers(0, keys, rows),
            pa.array(np.arange(rows), pa.timestamp("us")),
            random.random(rows),
        ],
        schema=SCHEMA,
    )
    return [batch[i : i + 10_000] for i in range(0, rows, 10_000)]  # as Spark hands them over


def main(rows: int = 500_000, keys: int = 250_000, batches: int = 7, keep: bool = False) -> None:
    with tempfile.TemporaryDirectory() as home:
        storage = open_storage(f"{home}/state")
        handle = empty_handle(new_state_id(), storage, Groups(128, 0, 63))
        packer = Packer(("user",), (0, 1), 128, SCHEMA)
        bucket: Bucket | None = None
        for batch in range(batches):
            with timed("pack (both buckets)"):
                packed = list(packer(rows_of(batch, rows, keys)))
            payloads = [
                row["payload"] for p in packed for row in p.to_pylist() if not row["bucket"]
            ]
            with timed("open"):
                if bucket is None:
                    bucket = Bucket(storage, Path(home) / "local", SCHEMA_OF_KEY, handle)
                elif not bucket.resume(handle, system_clock):
                    raise AssertionError("the store that was kept is not used")
            with timed("group, read, run, put out"):
                runner = RowRunner(Count(), ("user",), None)
                runner.output = pa.schema([("user", pa.int64()), ("n", pa.int64())])
                backend = RocksDbBackend(bucket.backend, 128, range(64))
                runner.begin(backend, Clock(None, 0))
                whole = pa.concat_batches([b for payload in payloads for b in unpack(payload)])
                for _ in runner.run(whole):
                    pass
            with timed("commit"):
                handle = bucket.commit(batch)
            with timed("close"):
                if not keep or not bucket.rest():
                    bucket.close()
                    bucket = None
        for what, spent in SPENT.items():
            cpu, clock = (statistics.median(s) * 1000 for s in zip(*spent[1:], strict=True))
            print(f"{what:<28} {cpu:7.1f} ms of processor, {clock:7.1f} ms")


SCHEMA_OF_KEY = pa.schema([SCHEMA.field("user")])

if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    main(*numbers, keep="keep" in sys.argv)
