"""Any sequence of operations, reopening among them, leaves what it leaves in a sorted dict."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from rounds import ROUNDS

import flintstate as fs

KEY = pa.schema([pa.field("a", pa.int8(), nullable=False), ("b", pa.string())])
VALUE = pa.schema([("v", pa.int64()), ("s", pa.string())])
ALL = pa.schema([*KEY, *VALUE])

firsts = st.integers(-3, 3)
seconds = st.none() | st.text(st.sampled_from("a\0b"), max_size=3)
keys = st.tuples(firsts, seconds)
values = st.tuples(st.none() | st.integers(-5, 5), st.none() | st.text(max_size=4))
pairs = st.lists(st.tuples(keys, values), max_size=12)

Key = tuple[int, str | None]


def order(key: Key) -> tuple[int, bool, bytes]:
    first, second = key
    return first, second is not None, (second or "").encode()


def as_table(rows: list[tuple[Key, tuple[int | None, str | None]]]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(ALL.names, (*key, *value), strict=True)) for key, value in rows], ALL
    )


class StoreMachine(RuleBasedStateMachine):
    @initialize(durability=st.sampled_from(["none", "process"]))
    def begin(self, durability: str) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.durability = durability
        self.model: dict[Key, tuple[int | None, str | None]] = {}
        self.snapshot: fs.Snapshot | None = None
        self.open()

    def open(self) -> None:
        self.store = fs.Store.open(self.home / "store", durability=self.durability)
        self.table = self.store.table("t", key=KEY, value=VALUE, merge={"v": "sum"})

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.snapshot = None
        self.open()

    @rule(rows=pairs)
    def put(self, rows: list) -> None:
        self.table.put(as_table(rows))
        self.model.update(rows)

    @rule(rows=pairs)
    def ingest(self, rows: list) -> None:
        assert self.table.ingest(as_table(rows)) == len(rows)
        self.model.update(rows)

    @rule(key=keys, value=values)
    def set_one(self, key: Key, value: tuple) -> None:
        self.table[key] = dict(zip(VALUE.names, value, strict=True))
        self.model[key] = value

    @rule(rows=pairs)
    def merge(self, rows: list) -> None:
        self.table.merge(as_table(rows))
        for key, (v, s) in rows:
            old = self.model.get(key, (None, None))[0]
            total = v if old is None else old if v is None else old + v
            self.model[key] = (total, s)

    @rule(gone=st.lists(keys, max_size=6))
    def delete(self, gone: list[Key]) -> None:
        self.table.delete(as_table([(key, (None, None)) for key in gone]).select(KEY.names))
        for key in gone:
            self.model.pop(key, None)

    @rule(key=keys)
    def delete_one(self, key: Key) -> None:
        with contextlib.nullcontext() if key in self.model else pytest.raises(KeyError):
            del self.table[key]
        self.model.pop(key, None)

    @rule(prefix=firsts, lower=st.none() | seconds, inclusive=st.booleans())
    def delete_range(self, prefix: int, lower: str | None, inclusive: bool) -> None:
        bound = {} if lower is None else {"lower": (lower,), "inclusive_lower": inclusive}
        self.table.delete_range(prefix=(prefix,), **bound)
        for key in self.inside(prefix, lower, None, inclusive, False):
            del self.model[key]

    def inside(
        self,
        prefix: int,
        lower: str | None,
        upper: str | None,
        inclusive_lower: bool,
        inclusive_upper: bool,
    ) -> list[Key]:
        low, high = order((prefix, lower)), order((prefix, upper))

        def is_inside(key: Key) -> bool:
            at = order(key)
            above = lower is None or at > low or (at == low and inclusive_lower)
            below = upper is None or at < high or (at == high and inclusive_upper)
            return key[0] == prefix and above and below

        return [key for key in sorted(self.model, key=order) if is_inside(key)]

    @rule(
        prefix=firsts,
        lower=st.none() | seconds,
        upper=st.none() | seconds,
        inclusive_lower=st.booleans(),
        inclusive_upper=st.booleans(),
        reverse=st.booleans(),
        limit=st.none() | st.integers(0, 4),
        batch_rows=st.integers(1, 3),
    )
    def scan_range(
        self,
        prefix: int,
        lower: str | None,
        upper: str | None,
        inclusive_lower: bool,
        inclusive_upper: bool,
        reverse: bool,
        limit: int | None,
        batch_rows: int,
    ) -> None:
        wanted = self.inside(prefix, lower, upper, inclusive_lower, inclusive_upper)
        wanted = (wanted[::-1] if reverse else wanted)[:limit]
        scan = self.table.scan(
            prefix=(prefix,),
            lower=None if lower is None else (lower,),
            upper=None if upper is None else (upper,),
            inclusive_lower=inclusive_lower,
            inclusive_upper=inclusive_upper,
            reverse=reverse,
            limit=limit,
            columns=["v", "b"],
            batch_rows=batch_rows,
        )
        found = scan.to_table().to_pylist()
        assert found == [{"v": self.model[key][0], "b": key[1]} for key in wanted]

    @rule(wanted=st.lists(keys, max_size=8))
    def get_many(self, wanted: list[Key]) -> None:
        asked = as_table([(key, (None, None)) for key in wanted]).select(KEY.names)
        found = self.table.get_many(asked, found="there")
        none = (None, None)
        assert found.to_pylist() == [
            {
                "a": key[0],
                "b": key[1],
                "v": self.model.get(key, none)[0],
                "s": self.model.get(key, none)[1],
                "there": key in self.model,
            }
            for key in wanted
        ]

    @rule(key=keys)
    def get_one(self, key: Key) -> None:
        assert (key in self.table) == (key in self.model)
        row = self.table.get(key)
        assert (None if row is None else (row["v"], row["s"])) == self.model.get(key)

    @rule()
    def take_snapshot(self) -> None:
        self.snapshot = self.store.snapshot()
        self.then = dict(self.model)

    @precondition(lambda self: self.snapshot is not None)
    @rule()
    def the_snapshot_has_not_changed(self) -> None:
        found = self.table.scan(snapshot=self.snapshot).to_table()
        assert found.to_pylist() == self.expected(self.then)

    @rule()
    def compact(self) -> None:
        self.store.flush()
        self.table.compact()

    @invariant()
    def all_rows_are_there(self) -> None:
        if hasattr(self, "table"):
            assert self.table.scan().to_table().to_pylist() == self.expected(self.model)

    def expected(self, model: dict) -> list[dict[str, object]]:
        return [
            dict(zip(ALL.names, (*key, *model[key]), strict=True))
            for key in sorted(model, key=order)
        ]

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.home)


StoreMachine.TestCase.settings = settings(
    max_examples=40 * ROUNDS,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestStore = StoreMachine.TestCase
