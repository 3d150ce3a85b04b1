"""A worker calls a function for several buckets: what it keeps in one is not there in the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from flintstate.process import Context, KeyedProcessFunction
from flintstate.spark.runner import Clock, Pickled, RowRunner
from flintstate.state.rocksdb import RocksDbBackend

USERS = pa.schema([("user", pa.int64())])
OUT = pa.schema([("user", pa.int64()), ("seen", pa.int64()), ("n", pa.int64())])


class Dispatches(KeyedProcessFunction[Any]):
    """Counts rows by a method that it keeps in a table, and all users in a list of its own."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.handlers = {"row": self.count}

    def open(self, ctx: Context) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        return self.handlers["row"](row)

    def count(self, row: Any) -> Iterator[tuple[object, ...]]:
        self.seen.append(row.user)
        self.n.update(self.n.value() + 1)
        yield row.user, len(self.seen), self.n.value()


def call(pickled: Pickled, store: Path, users: list[int]) -> list[tuple[object, ...]]:
    runner = pickled.runner()
    with RocksDbBackend.open(store, key=USERS) as backend:
        runner.begin(backend, Clock(None, 0))
        rows = pa.RecordBatch.from_pydict({"user": users}, USERS)
        return [tuple(row.values()) for out in runner.run(rows) for row in out.to_pylist()]


def test_a_function_finds_in_its_attributes_what_its_own_call_put_there(tmp_path: Path) -> None:
    made = RowRunner(Dispatches(), ("user",), None)
    made.output = OUT
    pickled = cloudpickle.loads(cloudpickle.dumps(Pickled(made)))
    assert call(pickled, tmp_path / "one", [1, 1]) == [(1, 1, 1), (1, 2, 2)]
    assert call(pickled, tmp_path / "other", [2]) == [(2, 1, 1)]
    assert call(pickled, tmp_path / "one", [1]) == [(1, 1, 3)]
