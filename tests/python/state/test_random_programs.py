"""Random programs over all kinds of state, several keys and namespaces, against a plain model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from rounds import ROUNDS

NAMES = st.sampled_from(["value", "list", "map", "sum", "join", "text", "sorted"])
KEYS = st.sampled_from(["", "a", "a\0", "ab", "b", "é", None])
SPACES = st.sampled_from([None, "", "w", "w\0", "x"])
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
FEW = st.integers(-2, 2)
TEXTS = st.text(max_size=3)
TIMES = st.integers(0, 30)


def wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


class Text:
    """Joins texts; its accumulator is changed in place."""

    def create_accumulator(self) -> list[str]:
        return []

    def add(self, value: str, acc: list[str]) -> list[str]:
        acc.append(value)
        return acc

    def get_result(self, acc: list[str]) -> str:
        return "".join(acc)

    def merge(self, a: list[str], b: list[str]) -> list[str]:
        a.extend(b)
        return a


class Together:
    """Several things that are called as one, and must answer alike."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            answers = [getattr(part, name)(*args, **options) for part in self.parts]
            if name.endswith("_state"):
                return Together(answers)
            answers = [list(one) if hasattr(one, "__next__") else one for one in answers]
            for answer in answers[1:]:
                assert answer == answers[0], name
            return answers[0]

        return call


class Program(RuleBasedStateMachine):
    """Each rule does the same to all backends and to `model`: {state: {(key, namespace): cell}}."""

    def __init__(self, ways: list[Any]) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        home = Path(self.directory.name)
        options = {"key": pa.string(), "timer_namespace": pa.string()}
        self.backend = Together([way.open(home / str(way), options) for way in ways])
        spaced = {"namespace": pa.string()}
        self.states: dict[str, Any] = {
            "value": self.backend.value_state("value", pa.int64(), default=0, **spaced),
            "list": self.backend.list_state("list", pa.string(), **spaced),
            "map": self.backend.map_state("map", pa.int64(), pa.string(), **spaced),
            "sum": self.backend.reducing_state("sum", pa.int64(), "sum", **spaced),
            "join": self.backend.reducing_state("join", pa.string(), lambda a, b: a + b, **spaced),
            "text": self.backend.aggregating_state(
                "text", Text(), accumulator=pa.list_(pa.string()), **spaced
            ),
            "sorted": self.backend.sorted_state("sorted", pa.int64(), pa.string(), **spaced),
        }
        self.model: dict[str, dict[tuple[Any, Any], Any]] = {name: {} for name in self.states}
        self.timers: set[tuple[int, Any, Any]] = set()
        self.watermark = -1
        self.key: Any = "a"
        self.space: Any = None
        self.backend.set_key("a")

    @property
    def at(self) -> tuple[Any, Any]:
        return self.key, self.space

    def cell(self, name: str, empty: Any) -> Any:
        return self.model[name].get(self.at, empty)

    def keep(self, name: str, cell: Any) -> None:
        """An empty cell is none."""
        if cell in (None, [], {}):
            self.model[name].pop(self.at, None)
        else:
            self.model[name][self.at] = cell

    # -- Places ------------------------------------------------------------------------------------

    @rule(key=KEYS)
    def set_key(self, key: Any) -> None:
        self.key = key
        self.backend.set_key(key)

    @rule(space=SPACES)
    def set_namespace(self, space: Any) -> None:
        self.space = space
        for state in self.states.values():
            state.set_namespace(space)

    @rule(name=NAMES)
    def clear(self, name: str) -> None:
        self.states[name].clear()
        self.keep(name, None)

    @rule(name=NAMES, keys=st.lists(KEYS, max_size=3))
    def clear_many(self, name: str, keys: list[Any]) -> None:
        self.states[name].clear_many(pa.array(keys, pa.string()))
        for key in keys:
            self.model[name].pop((key, self.space), None)

    @invariant()
    def everything_here_is_as_in_the_model(self) -> None:
        states = self.states
        assert states["value"].value() == self.cell("value", 0)
        assert states["list"].get() == self.cell("list", [])
        assert list(states["map"].items()) == sorted(self.cell("map", {}).items())
        assert states["sum"].get() == self.cell("sum", None)
        assert states["join"].get() == self.cell("join", None)
        assert states["text"].get() == self.cell("text", None)
        for low in range(-2, 3):
            for inclusive in (False, True):
                expected = self.in_range(low, 1, inclusive)
                assert list(states["sorted"].read_range(low, 1, inclusive)) == expected

    # -- Value -------------------------------------------------------------------------------------

    @rule(value=NUMBERS)
    def update_value(self, value: int) -> None:
        self.states["value"].update(value)
        self.model["value"][self.at] = value

    @rule(keys=st.lists(KEYS, max_size=4), data=st.data())
    def put_many_values(self, keys: list[Any], data: st.DataObject) -> None:
        values = [data.draw(st.none() | NUMBERS) for _ in keys]
        self.states["value"].put_many(pa.array(keys, pa.string()), pa.array(values, pa.int64()))
        for key, value in zip(keys, values, strict=True):
            self.model["value"].pop((key, self.space), None)
            if value is not None:
                self.model["value"][key, self.space] = value
        got = self.states["value"].get_many(pa.array(keys, pa.string())).to_pylist()
        assert got == [self.model["value"].get((key, self.space), 0) for key in keys]

    # -- List --------------------------------------------------------------------------------------

    @rule(values=st.lists(TEXTS, max_size=3))
    def add_to_list(self, values: list[str]) -> None:
        for value in values[:1]:
            self.states["list"].add(value)
        self.states["list"].add_all(values[1:])
        self.keep("list", [*self.cell("list", []), *values])

    @rule(values=st.lists(TEXTS, max_size=3))
    def update_list(self, values: list[str]) -> None:
        self.states["list"].update(values)
        self.keep("list", values)

    # -- Map ---------------------------------------------------------------------------------------

    @rule(entries=st.dictionaries(FEW, st.none() | TEXTS, max_size=3))
    def put_into_map(self, entries: dict[int, Any]) -> None:
        self.states["map"].put_all(entries)
        self.keep("map", {**self.cell("map", {}), **entries})

    @rule(key=FEW)
    def remove_from_map(self, key: int) -> None:
        self.states["map"].remove(key)
        self.keep("map", {k: v for k, v in self.cell("map", {}).items() if k != key})

    @rule(key=FEW)
    def read_map(self, key: int) -> None:
        cell = self.cell("map", {})
        assert self.states["map"].get(key, "none") == cell.get(key, "none")
        assert self.states["map"].contains(key) == (key in cell)
        assert self.states["map"].is_empty() == (not cell)

    @rule(divisor=st.integers(1, 3))
    def change_map_while_walking(self, divisor: int) -> None:
        for state in self.states["map"].parts:
            entries = state.items()
            seen, left = [], {}
            for key, value in entries:
                seen.append((key, value))
                if key % divisor == 0:
                    entries.remove()
                elif key % divisor == 1:
                    entries.set_value("set")
                    left[key] = "set"
                else:
                    left[key] = value
            del entries
            assert seen == sorted(self.cell("map", {}).items())
        self.keep("map", left)

    # -- Reducing ----------------------------------------------------------------------------------

    @rule(number=NUMBERS, text=TEXTS)
    def add_to_reducing(self, number: int, text: str) -> None:
        self.states["sum"].add(number)
        self.states["join"].add(text)
        self.states["text"].add(text)
        self.model["sum"][self.at] = wrapped(self.cell("sum", 0) + number)
        self.model["join"][self.at] = self.cell("join", "") + text
        self.model["text"][self.at] = self.cell("text", "") + text

    # -- Batches -----------------------------------------------------------------------------------

    @rule(rows=st.lists(st.tuples(KEYS, FEW, TEXTS), max_size=4))
    def add_many(self, rows: list[tuple[Any, int, str]]) -> None:
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        keys, numbers, texts = (
            pa.array(column, type_)
            for column, type_ in zip(columns, (pa.string(), pa.int64(), pa.string()), strict=True)
        )
        self.states["list"].add_many(keys, texts)
        self.states["sum"].add_many(keys, numbers)
        self.states["join"].add_many(keys, texts)
        self.states["map"].put_many(keys, numbers, texts)
        self.states["sorted"].add_many(keys, numbers, texts)
        model = self.model
        for key, number, text in rows:
            at = (key, self.space)
            model["list"].setdefault(at, [])
            model["list"][at] = [*model["list"][at], text]
            model["sum"][at] = wrapped(model["sum"].get(at, 0) + number)
            model["join"][at] = model["join"].get(at, "") + text
            model["map"][at] = {**model["map"].get(at, {}), number: text}
            cell = model["sorted"].get(at, {})
            model["sorted"][at] = {**cell, number: [*cell.get(number, []), text]}
        got = self.states["list"].get_many(keys).to_pylist()
        assert got == [model["list"][key, self.space] for key, _, _ in rows]
        assert self.states["sum"].get_many(keys).to_pylist() == [
            model["sum"][key, self.space] for key, _, _ in rows
        ]

    # -- Merging -----------------------------------------------------------------------------------

    @rule(into=SPACES, sources=st.lists(SPACES, max_size=3))
    def merge(self, into: Any, sources: list[Any]) -> None:
        for name, merged in (
            ("list", lambda a, b: a + b), ("sum", lambda a, b: wrapped(a + b)),
            ("join", lambda a, b: a + b), ("text", lambda a, b: a + b),
        ):  # fmt: skip
            self.states[name].merge_namespaces(into, sources)
            model = self.model[name]
            for source in dict.fromkeys(sources):
                if source != into and (self.key, source) in model:
                    moved = model.pop((self.key, source))
                    before = model.get((self.key, into))
                    model[self.key, into] = moved if before is None else merged(before, moved)

    # -- Sorted ------------------------------------------------------------------------------------

    @rule(key=FEW, value=TEXTS)
    def add_to_sorted(self, key: int, value: str) -> None:
        self.states["sorted"].add(key, value)
        cell = self.cell("sorted", {})
        self.keep("sorted", {**cell, key: [*cell.get(key, []), value]})

    @rule(key=FEW, values=st.lists(TEXTS, max_size=2))
    def put_into_sorted(self, key: int, values: list[str]) -> None:
        self.states["sorted"].put(key, values)
        rest = {k: v for k, v in self.cell("sorted", {}).items() if k != key}
        self.keep("sorted", {**rest, key: values} if values else rest)

    @rule(low=st.none() | FEW, high=st.none() | FEW, inclusive=st.booleans())
    def clear_range_of_sorted(self, low: Any, high: Any, inclusive: bool) -> None:
        state = self.states["sorted"]
        if low is None and high is None:
            return
        if high is None:
            state.clear_range_from(low)
        elif low is None:
            state.clear_range_until(high, inclusive)
        else:
            state.clear_range(low, high, inclusive)
        gone = dict(self.in_range(low, high, inclusive))
        self.keep("sorted", {k: v for k, v in self.cell("sorted", {}).items() if k not in gone})

    @rule(
        low=FEW, high=FEW, inclusive=st.booleans(), reverse=st.booleans(),
        limit=st.none() | st.integers(0, 3),
    )  # fmt: skip
    def read_sorted(
        self, low: int, high: int, inclusive: bool, reverse: bool, limit: int | None
    ) -> None:
        state = self.states["sorted"]
        options = {"reverse": reverse, "limit": limit}
        for read, expected in (
            (state.read_range(low, high, inclusive, **options), (low, high, inclusive)),
            (state.read_range_until(high, inclusive, **options), (None, high, inclusive)),
            (state.read_range_from(low, **options), (low, None, False)),
        ):
            entries = self.in_range(*expected)
            assert list(read) == (entries[::-1] if reverse else entries)[:limit]
        assert state.first_entry(low) == next(iter(self.in_range(low, None, False)), None)
        assert state.last_entry(high) == next(iter(self.in_range(None, high, True)[::-1]), None)
        assert state.values_at(low) == self.cell("sorted", {}).get(low)

    def in_range(self, low: Any, high: Any, inclusive: bool) -> list[tuple[int, list[str]]]:
        return [
            (key, values)
            for key, values in sorted(self.cell("sorted", {}).items())
            if (low is None or key >= low)
            and (high is None or key < high or (inclusive and key == high))
        ]

    # -- Timers ------------------------------------------------------------------------------------

    @rule(time=TIMES)
    def register_timer(self, time: int) -> None:
        self.backend.register_event_time_timer(time, self.space)
        self.timers.add((time, *self.at))

    @rule(time=TIMES)
    def delete_timer(self, time: int) -> None:
        self.backend.delete_event_time_timer(time, self.space)
        self.timers.discard((time, *self.at))

    @rule(time=TIMES)
    def advance_watermark(self, time: int) -> None:
        self.watermark = max(self.watermark, time)
        fired = [tuple(timer) for timer in self.backend.advance_watermark(time)]
        due = {timer for timer in self.timers if timer[0] <= self.watermark}
        assert [timer[0] for timer in fired] == sorted(timer[0] for timer in due)
        assert set(fired) == due
        self.timers -= due
        if fired:
            self.key = fired[-1][1]

    # -- All of it ---------------------------------------------------------------------------------

    def teardown(self) -> None:
        for name, model in self.model.items():
            for space in {space for _, space in model}:
                keys = list(self.backend.keys(name, space))
                assert len(keys) == len(set(keys))
                assert set(keys) == {key for key, other in model if other == space}
            for backend in self.backend.parts:
                rows = pa.RecordBatchReader.from_stream(backend.entries(name)).read_all()
                assert rows.num_rows == sum(self.rows_of(name, cell) for cell in model.values())
        self.backend.close()
        self.directory.cleanup()

    def rows_of(self, name: str, cell: Any) -> int:
        if name == "sorted":
            return sum(map(len, cell.values()))
        return len(cell) if name in ("list", "map") else 1


@pytest.mark.parametrize("restored", [False, True], ids=["side by side", "restored"])
def test_random_programs_do_what_the_model_does(all_ways: list[Any], restored: bool) -> None:
    ways = [way for way in all_ways if bool(way.restored) == restored]
    run_state_machine_as_test(
        lambda: Program(ways),
        settings=settings(
            max_examples=(8 if restored else 60) * ROUNDS,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
