"""Keys against DuckDB's `create_sort_key`, one thread each.

    PYTHONPATH=python python bench/peers/keys.py [--rows 5000000] [--rounds 7]

Two pairs for each kind of key:
- *in batches*: keys are made and dropped again, batch by batch, as a pipeline does. DuckDB makes
  2,048 at a time and sums their lengths, which it can't know without making them; we make 65,536.
- *kept*: all keys end up in one Arrow column in memory.
CPU seconds, not wall time: neither side waits for anything, and the machine may have other work.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
from alternating import HEADER, compare

import flintstate as fs

BATCH = 65_536

# Our columns, those of them that descend, and what DuckDB is asked for.
KINDS: dict[str, tuple[list[str], list[str], str]] = {
    "int64": (["i"], [], "i, 'ASC NULLS FIRST'"),
    "string of 13 bytes": (["s"], [], "s, 'ASC NULLS FIRST'"),
    "int64, double descending, string": (
        ["i", "d", "s"],
        ["d"],
        "i, 'ASC NULLS FIRST', d, 'DESC NULLS FIRST', s, 'ASC NULLS FIRST'",
    ),
}


def make_table(rows: int) -> pa.Table:
    """Random rows, every column nullable (as DuckDB's always are) but without nulls."""
    random = np.random.default_rng(42)
    digits = random.integers(48, 58, rows * 13, dtype=np.uint8)
    digits[::13] = ord("k")
    offsets = np.arange(0, 13 * (rows + 1), 13, dtype=np.int32)
    strings = pa.Array.from_buffers(
        pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(digits.tobytes())]
    )
    integers = random.integers(-(2**63), 2**63 - 1, rows, dtype=np.int64)
    return pa.table({"i": integers, "d": random.standard_normal(rows), "s": strings})


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def encode_batches(batches: list[pa.RecordBatch], descending: list[str]) -> None:
    for batch in batches:
        fs.encode_keys(batch, descending=descending)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    table = make_table(arguments.rows)
    duck = duckdb.connect(config={"threads": 1})
    duck.register("arrow", table)
    duck.execute("CREATE TABLE rows AS SELECT * FROM arrow")
    measure = partial(
        compare, peer="DuckDB", amount=arguments.rows, units="keys/s", rounds=arguments.rounds
    )
    print(HEADER)
    for kind, (columns, descending, asked) in KINDS.items():
        ours = table.select(columns)
        batches = ours.to_batches(max_chunksize=BATCH)
        keys = f"SELECT create_sort_key({asked}) AS key FROM rows"
        lengths = f"SELECT sum(octet_length(key)) FROM ({keys})"
        measure(
            f"{kind}, in batches",
            ours=partial(cpu_seconds, partial(encode_batches, batches, descending)),
            theirs=partial(cpu_seconds, lambda sql=lengths: duck.execute(sql).fetchall()),
        )
        measure(
            f"{kind}, kept",
            ours=partial(cpu_seconds, partial(fs.encode_keys, ours, descending=descending)),
            theirs=partial(cpu_seconds, lambda sql=keys: duck.sql(sql).to_arrow_table()),
        )


if __name__ == "__main__":
    main()
