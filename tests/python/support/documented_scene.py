"""The names that documented examples speak of without making them: a store, a backend, ..."""

import contextlib
import datetime
import struct
from collections import namedtuple
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

import flintstate
import flintstate.testing
from flintstate import KeyedBackend, Store

MIDNIGHT = datetime.datetime(2026, 1, 1)
KEY = pa.schema([pa.field("user", pa.int64(), nullable=False)])
COUNTS = pa.schema([("n", pa.int64())])


class Count(flintstate.testing.KeyedProcessFunction[Any]):
    """How often each key was seen."""

    def open(self, ctx: Any) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        self.n.update(self.n.value() + 1)
        yield ctx.current_key, self.n.value()


class Quiet(flintstate.testing.KeyedProcessFunction[Any]):
    """Says which key was silent for five seconds."""

    def process_element(self, row: Any, ctx: Any) -> Iterable[tuple[object, ...]]:
        ctx.register_event_time_timer(row.at + datetime.timedelta(seconds=5))
        return ()

    def on_timer(self, time: int, ctx: Any) -> Iterator[tuple[object, ...]]:
        yield ctx.current_key, "quiet"


class Mean:
    """An aggregate function."""

    def create_accumulator(self) -> tuple[float, int]:
        return 0.0, 0

    def add(self, value: float, acc: Any) -> tuple[float, int]:
        return acc[0] + value, acc[1] + 1

    def get_result(self, acc: Any) -> float:
        return float(acc[0] / acc[1])

    def merge(self, a: Any, b: Any) -> tuple[float, int]:
        return a[0] + b[0], a[1] + b[1]


def at(second: int) -> datetime.datetime:
    return MIDNIGHT + datetime.timedelta(seconds=second)


def scene(stack: contextlib.ExitStack) -> dict[str, object]:
    """The names; what they open is closed with the stack."""
    store = stack.enter_context(Store.open("shop"))
    backend = stack.enter_context(KeyedBackend.open("keyed", kind="heap", key=pa.string()))
    backend.set_key("ada")
    click = pa.schema([*KEY, pa.field("at", pa.timestamp("us"), nullable=False)])
    visit = pa.schema([("url", pa.string()), ("ms", pa.int64())])
    clicks = store.table("clicks", key=click, value=visit)
    counts = pa.table({"user": [1, 2], "n": [1, 1]}, schema=pa.schema([*KEY, *COUNTS]))
    one = {"user": [1], "at": [at(1)], "url": ["/"], "ms": [3]}
    clicked = pa.table(one, schema=pa.schema([*click, *visit]))
    return {
        "at": at, "backend": backend, "batches": clicked.to_batches(),
        "carts": store.table("carts", key=KEY, value=COUNTS), "clicks": clicks, "Count": Count,
        "datetime": datetime, "flintstate": flintstate, "fs": flintstate, "key": KEY,
        "Mean": Mean, "morning": at(0), "new_orders": counts, "noon": at(9),
        "old_carts": counts.select(["user"]), "pa": pa,
        "orders": store.table("orders", key=KEY, value=COUNTS),
        "path": "by-path", "Point": namedtuple("Point", "x y"), "Quiet": Quiet,
        "rows": counts, "schema": pa.schema([("user", pa.string()), ("at", pa.timestamp("us"))]),
        "store": store, "struct": struct, "value": COUNTS, "when": at(1),
    }  # fmt: skip
