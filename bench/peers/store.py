"""The store against rocksdict and against RocksDB in C++, with the same RocksDB options.

    PYTHONPATH=python python bench/peers/store.py [--rows 1000000] [--rounds 5] [--only WORD]
        [--threads N] [--peer same|defaults]

Keys are random 64-bit integers (8 bytes), values 100 bytes: for us an int64, a float64 and a string
of 83 bytes (a row has a byte of its own), for the peers 100 raw bytes. One thread calls; a call of
ours may use as many as Store.open gives it, or --threads. --peer defaults leaves rocksdict as it
comes, but for raw bytes and the write-ahead log, which is off for everyone. See
docs/benchmarking.md for the traps.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import rocksdict
from alternating import HEADER, compare, seconds

import flintstate as fs

BATCH = 10_000
LOOKUP = 1_000
PUT = "put, batches of 10,000 random keys"
MEMORY = 512 << 20
MEMTABLE = 64 << 20
FLOOR = Path(__file__).resolve().parents[2] / "build/release/store_bench"

KEY = pa.schema([pa.field("id", pa.int64(), nullable=False)])
VALUE = pa.schema(
    [
        pa.field("count", pa.int64(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)


class Data:
    """The same rows for everyone, made before anything is measured."""

    def __init__(self, rows: int) -> None:
        random = np.random.default_rng(42)
        self.rows = rows
        ids = random.integers(-(2**63), 2**63 - 1, rows, dtype=np.int64)
        letters = random.integers(97, 123, (rows + 1) * 83, dtype=np.uint8).tobytes()
        text = pa.Array.from_buffers(
            pa.string(),
            rows,
            [
                None,
                pa.py_buffer(np.arange(0, 83 * (rows + 1), 83, dtype=np.int32)),
                pa.py_buffer(letters),
            ],
        )
        self.ids = ids
        self.table = pa.table(
            {
                "id": ids,
                "count": random.integers(0, 1000, rows),
                "score": random.random(rows),
                "text": text,
            },
            pa.schema([*KEY, *VALUE]),
        )
        raw = ids.byteswap().tobytes()
        self.keys = [raw[i : i + 8] for i in range(0, len(raw), 8)]
        self.values = [letters[i * 83 : i * 83 + 100] for i in range(rows)]
        self.lookups = random.integers(0, rows, 200 * LOOKUP)

    def batches(self) -> list[pa.RecordBatch]:
        return self.table.to_batches(max_chunksize=BATCH)


@contextmanager
def directory() -> Iterator[str]:
    path = tempfile.mkdtemp(prefix="bench-store-")
    try:
        yield path
    finally:
        shutil.rmtree(path)


@dataclass
class Setting:
    """What the command line says of the two sides."""

    threads: int | None = None
    same_options: bool = True


SETTING = Setting()


@contextmanager
def our_table(path: str) -> Iterator[tuple[fs.Store, fs.Table]]:
    with fs.Store.open(
        f"{path}/ours", memory=MEMORY, durability="none", threads=SETTING.threads
    ) as store:
        yield store, store.table("rows", key=KEY, value=VALUE)


def their_options() -> rocksdict.Options:
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    if not SETTING.same_options:
        return options
    blocks = rocksdict.BlockBasedOptions()
    blocks.set_block_cache(rocksdict.Cache.new_hyper_clock_cache(MEMORY, 0))
    blocks.set_bloom_filter(10, False)
    blocks.set_format_version(6)
    blocks.set_block_size(16 << 10)
    blocks.set_data_block_index_type(rocksdict.DataBlockIndexType.binary_and_hash())
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options.set_block_based_table_factory(blocks)
    options.set_write_buffer_size(MEMTABLE)
    options.set_max_write_buffer_number(3)
    options.set_compression_type(rocksdict.DBCompressionType.lz4())
    options.set_max_background_jobs(2)
    return options


@contextmanager
def their_table(path: str) -> Iterator[rocksdict.Rdict]:
    table = rocksdict.Rdict(f"{path}/theirs", their_options())
    no_log = rocksdict.WriteOptions()
    no_log.disable_wal = True
    table.set_write_options(no_log)
    try:
        yield table
    finally:
        table.close()


def their_batches(table: rocksdict.Rdict, data: Data) -> None:
    no_log = rocksdict.WriteOptions()
    no_log.disable_wal = True
    for start in range(0, data.rows, BATCH):
        batch = rocksdict.WriteBatch(raw_mode=True)
        pairs = zip(
            data.keys[start : start + BATCH], data.values[start : start + BATCH], strict=True
        )
        for key, value in pairs:
            batch.put(key, value)
        table.write(batch, no_log)


def floor(name: str, rows: int, store: str | None = None) -> Callable[[], float]:
    """Seconds of a benchmark of build/release/store_bench: RocksDB in C++, without Python.

    Those that read do so in `store`, a checkpoint of ours: the same files.
    """
    environment = {**os.environ, "FLINT_BENCH_ROWS": str(rows)}
    if store is not None:
        environment["FLINT_BENCH_STORE"] = store

    def run() -> float:
        out = subprocess.run(
            [FLOOR, f"--benchmark_filter=^{name}/", "--benchmark_format=json"],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        measured = json.loads(out.stdout)["benchmarks"][0]
        return (
            float(measured["real_time"])
            * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[measured["time_unit"]]
        )

    return run


def our_puts(data: Data) -> Callable[[], float]:
    batches = data.batches()

    def run() -> float:
        with directory() as path, our_table(path) as (_, table):
            return seconds(lambda: [table.put(batch) for batch in batches])

    return run


def put_batches(data: Data, rounds: int) -> None:
    def theirs() -> float:
        with directory() as path, their_table(path) as table:
            return seconds(lambda: their_batches(table, data))

    compare(PUT, "rocksdict WriteBatch", our_puts(data), theirs, amount=data.rows, rounds=rounds)


def put_floors(data: Data, rounds: int) -> None:
    if not FLOOR.exists():
        return
    ours = our_puts(data)
    for name in ("RocksDbPut", "RocksDbPutSorted"):
        compare(PUT, name, ours, floor(name, data.rows), amount=data.rows, rounds=rounds)


def ingest(data: Data, rounds: int) -> None:
    def ours() -> float:
        with directory() as path, our_table(path) as (_, table):
            return seconds(lambda: table.ingest(data.table))

    def theirs() -> float:
        def work() -> None:
            their_batches(table, data)
            table.flush()

        with directory() as path, their_table(path) as table:
            return seconds(work)

    compare(
        "ingest, unsorted rows",
        "rocksdict WriteBatch and flush",
        ours,
        theirs,
        amount=data.rows,
        rounds=rounds,
    )


def reads(data: Data, rounds: int) -> None:
    with directory() as path, our_table(path) as (store, ours), their_table(path) as theirs:
        for batch in data.batches():
            ours.put(batch)
        store.flush()
        ours.compact()
        their_batches(theirs, data)
        theirs.flush()
        theirs.compact_range(None, None)
        store.checkpoint(f"{path}/floor", sync_linked_files=False)
        # The floor reads what was there at the checkpoint: whatever writes comes last.
        get_many(data, ours, theirs, f"{path}/floor", rounds)
        scan(data, ours, theirs, f"{path}/floor", rounds)
        single_rows(data, ours, theirs, rounds)


def get_many(
    data: Data, table: fs.Table, theirs: rocksdict.Rdict, checkpoint: str, rounds: int
) -> None:
    wanted = data.lookups.reshape(-1, LOOKUP)
    columns = [pa.table({"id": data.ids[part]}, KEY) for part in wanted]
    lists = [[data.keys[i] for i in part] for part in wanted]

    def ours() -> float:
        return seconds(lambda: [table.get_many(keys) for keys in columns])

    def rocksdict_lists() -> float:
        return seconds(lambda: [theirs.get(keys) for keys in lists])

    ours(), rocksdict_lists()  # into the caches
    work, amount = "get_many of 1,000 random keys", len(data.lookups)
    compare(work, "rocksdict lists", ours, rocksdict_lists, amount=amount, rounds=rounds)
    if FLOOR.exists():
        run = floor("RocksDbMultiGet", data.rows, checkpoint)
        compare(work, "RocksDbMultiGet", ours, run, amount=amount, rounds=rounds)


def single_rows(data: Data, table: fs.Table, theirs: rocksdict.Rdict, rounds: int) -> None:
    wanted = data.lookups[:50_000]
    ids = [int(data.ids[i]) for i in wanted]
    keys = [data.keys[i] for i in wanted]
    rows = data.table.select(VALUE.names).take(pa.array(wanted)).to_pylist()
    values = [data.values[i] for i in wanted]

    def ours_get() -> float:
        return seconds(lambda: [table[key] for key in ids])

    def theirs_get() -> float:
        return seconds(lambda: [theirs[key] for key in keys])

    def ours_put() -> float:
        def work() -> None:
            for key, row in zip(ids, rows, strict=True):
                table[key] = row

        return seconds(work)

    def theirs_put() -> float:
        def work() -> None:
            for key, value in zip(keys, values, strict=True):
                theirs[key] = value

        return seconds(work)

    amount = len(wanted)
    compare("table[key]", "rocksdict raw bytes", ours_get, theirs_get, amount=amount, rounds=rounds)
    compare(
        "table[key] = row",
        "rocksdict raw bytes",
        ours_put,
        theirs_put,
        amount=amount,
        rounds=rounds,
    )


def scan(
    data: Data, table: fs.Table, theirs: rocksdict.Rdict, checkpoint: str, rounds: int
) -> None:
    def ours() -> float:
        return seconds(lambda: [batch.num_rows for batch in table.scan()])

    def rocksdict_items() -> float:
        def work() -> None:
            for _ in theirs.items():
                pass

        return seconds(work)

    total = sum(pc.sum(batch.column("count")).as_py() for batch in table.scan())
    assert total > 0
    work = "scan to Arrow, all columns"
    compare(work, "rocksdict items()", ours, rocksdict_items, amount=data.rows, rounds=rounds)
    if FLOOR.exists():
        run = floor("RocksDbScan", data.rows, checkpoint)
        compare(work, "RocksDbScan", ours, run, amount=data.rows, rounds=rounds)


def checkpoint(rounds: int) -> None:
    """200 files, linked files not synced again, against RocksDB's own Checkpoint."""
    if not FLOOR.exists():
        return
    work = "checkpoint, 200 files, not synced again"
    ours, theirs = floor("OurCheckpoint", 0), floor("RocksDbCheckpoint", 0)
    compare(work, "RocksDbCheckpoint", ours, theirs, amount=1, units="/s", rounds=rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="run the parts whose name begins so")
    parser.add_argument("--threads", type=int, help="of ours; as Store.open has it if not given")
    parser.add_argument("--peer", choices=["same", "defaults"], default="same")
    arguments = parser.parse_args()
    SETTING.threads = arguments.threads
    SETTING.same_options = arguments.peer == "same"
    data = Data(arguments.rows)
    print(f"{arguments.rows:,} rows, {arguments.rounds} rounds\n\n{HEADER}")
    parts: list[tuple[str, Callable[[], None]]] = [
        ("put", lambda: put_batches(data, arguments.rounds)),
        ("floor of put", lambda: put_floors(data, arguments.rounds)),
        ("ingest", lambda: ingest(data, arguments.rounds)),
        ("reads", lambda: reads(data, arguments.rounds)),
        ("checkpoint", lambda: checkpoint(arguments.rounds)),
    ]
    for name, part in parts:
        if name.startswith(arguments.only):
            part()


if __name__ == "__main__":
    main()
