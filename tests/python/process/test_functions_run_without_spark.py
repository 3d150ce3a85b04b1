"""flintstate.testing: a KeyedProcessFunction on rows, watermarks and a clock."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError
from flintstate.process import Context, KeyedProcessFunction
from flintstate.testing import Harness, MicroBatch, ProcessingTime, Watermark, run

SCHEMA = pa.schema([("user", pa.string()), ("at", pa.timestamp("us"))])
T0 = dt.datetime(2026, 1, 1)


def at(seconds: float) -> dt.datetime:
    return T0 + dt.timedelta(seconds=seconds)


class Quiet(KeyedProcessFunction[Any]):
    """Says when a user has been silent for five seconds; late rows are put out as such."""

    def open(self, ctx: Context) -> None:
        self.last = ctx.value_state("last", pa.timestamp("us"))

    def process_element(self, row: Any, ctx: Context) -> None:
        if self.last.value() is not None:
            ctx.delete_event_time_timer(self.last.value() + dt.timedelta(seconds=5))
        self.last.update(row.at)
        ctx.register_event_time_timer(row.at + dt.timedelta(seconds=5))

    def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield ctx.current_key, "quiet", self.last.value()

    def on_late(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield ctx.current_key, "late", row.at


class Count(KeyedProcessFunction[Any]):
    def open(self, ctx: Context) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        self.n.update(self.n.value() + 1)
        yield row.user, self.n.value()


def test_rows_are_processed_key_by_key() -> None:
    rows = [{"user": user, "at": None} for user in ("ada", "bob", "ada")]
    assert run(Count(), rows, key="user", schema=SCHEMA) == [("ada", 1), ("bob", 1), ("ada", 2)]


def test_timers_fire_when_the_watermark_passes_them() -> None:
    events = [("ada", at(0)), ("bob", at(1)), Watermark(at(4)), ("ada", at(4)), Watermark(at(6))]
    out = run(Quiet(), events, key="user", schema=SCHEMA, time="at")
    assert out == [("bob", "quiet", at(1))]


def test_rows_below_the_watermark_are_late() -> None:
    events = [Watermark(at(10)), ("ada", at(9.999)), ("ada", at(10)), Watermark(at(15))]
    out = run(Quiet(), events, key="user", schema=SCHEMA, time="at")
    assert out == [("ada", "late", at(9.999)), ("ada", "quiet", at(10))]


def test_late_rows_are_dropped_by_default() -> None:
    events = [Watermark(at(10)), ("ada", at(1)), ("ada", None), ("ada", at(11))]
    out = run(Count(), events, key="user", schema=SCHEMA, time="at")
    assert out == [("ada", 1), ("ada", 2)]


def test_no_row_is_late_without_a_time_column() -> None:
    assert run(Count(), [Watermark(at(10)), ("ada", at(1))], key="user", schema=SCHEMA)


def test_processing_time_goes_as_it_is_told() -> None:
    class Later(KeyedProcessFunction[Any]):
        def process_element(self, row: Any, ctx: Context) -> None:
            ctx.register_processing_time_timer(ctx.current_processing_time + 10)

        def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
            yield ctx.current_key, time, ctx.current_processing_time

    events = [ProcessingTime(5), ("ada", None), ProcessingTime(14), ProcessingTime(20)]
    assert run(Later(), events, key="user", schema=SCHEMA) == [("ada", 15, 20)]


def test_in_the_processing_time_mode_there_is_no_event_time() -> None:
    options: Any = {"key": "user", "schema": SCHEMA, "time_mode": "processing"}
    with pytest.raises(InvalidError, match=r"register_event_time_timer.*time_mode='processing'"):
        run(Quiet(), [("ada", at(0))], **options)
    with pytest.raises(InvalidError, match=r"Watermark.*time_mode='processing'"):
        run(Count(), [Watermark(5)], **options)
    with pytest.raises(InvalidError, match="time='at': no row is late"):
        run(Count(), [], time="at", **options)
    with pytest.raises(InvalidError, match="time_mode='wall'"):
        run(Count(), [], **{**options, "time_mode": "wall"})


def test_in_the_processing_time_mode_timers_fire_by_the_clock_that_is_set() -> None:
    class Later(Count):
        def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
            ctx.register_processing_time_timer(ctx.current_processing_time + 10)
            yield from super().process_element(row, ctx)

        def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
            yield ctx.current_key, "timer", time, self.n.value()

    events = [ProcessingTime(5), ("ada", None), ("bob", None), ProcessingTime(15), ("ada", None)]
    out = run(Later(), events, key="user", schema=SCHEMA, time_mode="processing")
    assert out == [
        ("ada", 1), ("bob", 1), ("ada", "timer", 15, 1), ("bob", "timer", 15, 1), ("ada", 2),
    ]  # fmt: skip


def test_a_timer_may_register_timers() -> None:
    class Tick(KeyedProcessFunction[Any]):
        def process_element(self, row: Any, ctx: Context) -> None:
            ctx.register_event_time_timer(1)

        def on_timer(self, time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
            ctx.register_event_time_timer(time * 2)
            yield (time,)

    events = [("ada", None), Watermark(10)]
    assert run(Tick(), events, key="user", schema=SCHEMA) == [(1,), (2,), (4,), (8,)]


def test_keys_of_several_columns_are_tuples() -> None:
    class Keys(KeyedProcessFunction[Any]):
        def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
            yield (ctx.current_key,)

    out = run(Keys(), [("ada", at(0))], key=["user", "at"], schema=SCHEMA)
    assert out == [(("ada", at(0)),)]


def test_state_can_be_looked_into_between_rows() -> None:
    with Harness(Count(), key="user", schema=SCHEMA) as harness:
        harness.process(("ada", None))
        assert list(harness.backend.keys("n")) == ["ada"]


def test_rows_that_do_not_fit_are_refused() -> None:
    with Harness(Count(), key="user", schema=SCHEMA) as harness:
        with pytest.raises(InvalidError, match="user"):
            harness.process((5, None))
        with pytest.raises(InvalidError, match="who"):
            harness.process({"who": "ada", "user": "ada", "at": None})


def test_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidError, match="'name'"):
        run(Count(), [], key="name", schema=SCHEMA)


def test_no_spark_is_needed() -> None:
    code = "import flintstate.process, flintstate.testing, sys; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_class_in_place_of_a_function_is_told_so() -> None:
    with pytest.raises(InvalidError, match=r"Count is a class.*Count\(\)"):
        run(Count, [], key="user", schema=SCHEMA)  # type: ignore[arg-type]
    with pytest.raises(InvalidError, match="KeyedProcessFunction is expected"):
        run(print, [], key="user", schema=SCHEMA)  # type: ignore[arg-type]


class Puts(KeyedProcessFunction[Any]):
    """Puts out what it was made with."""

    def __init__(self, *rows: Any) -> None:
        self.rows: Any = rows

    def process_element(self, row: Any, ctx: Context) -> Any:
        return self.rows


def put(*rows: Any, output: Any) -> list[tuple[object, ...]]:
    return run(Puts(*rows), [("ada", None)], key="user", schema=SCHEMA, output=output)


def test_what_is_put_out_has_the_output_schemas_form() -> None:
    rows = put(("ada", 1), ["bob", None], output="user string, mean double")
    assert rows == [("ada", 1.0), ("bob", None)]
    assert type(rows[0][1]) is float


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("ada", 2.5), "n"),
        (("ada", 2**40), "n"),
        (("ada",), r"user string, n int32"),
        (("ada", 1, 2), r"user string, n int32"),
        ("ad", "a tuple is expected"),
        ({"user": "ada", "n": 1}, "a tuple is expected"),
        ((1, 1), "user"),
    ],
)
def test_what_does_not_fit_the_output_schema_is_refused_with_its_row(row: Any, told: str) -> None:
    with pytest.raises(InvalidError, match=told) as refused:
        put(row, output=pa.schema([("user", pa.string()), ("n", pa.int32())]))
    assert repr(row) in str(refused.value)


def test_what_timers_and_late_rows_put_out_is_checked_too() -> None:
    for rows in ([("ada", at(0)), Watermark(at(9))], [Watermark(at(9)), ("ada", at(1))]):
        with pytest.raises(InvalidError, match="output row"):
            run(Quiet(), rows, key="user", schema=SCHEMA, time="at", output="user string")


@pytest.mark.parametrize("output", [None, "user string"])
@pytest.mark.parametrize("returned", [5, "ab", {"user": "ada"}])
def test_a_function_that_returns_no_rows_is_told_by_name(returned: Any, output: Any) -> None:
    function = Puts()
    function.rows = returned
    with pytest.raises(InvalidError, match=r"process_element returned .*: yield tuples"):
        run(function, [("ada", None)], key="user", schema=SCHEMA, output=output)


def test_a_row_that_is_no_tuple_is_refused_without_an_output_schema_too() -> None:
    with pytest.raises(InvalidError, match="output row 'ada': a tuple is expected"):
        put("ada", 1, output=None)


def test_two_columns_of_one_name_are_refused() -> None:
    twice = pa.schema([("user", pa.string()), ("user", pa.string())])
    for schema in (twice, "user string, user long"):
        with pytest.raises(InvalidError, match="two columns 'user'"):
            run(Count(), [], key="user", schema=schema)
        with pytest.raises(InvalidError, match="two columns 'user'"):
            put(("ada", 1), output=schema)


def test_a_schema_is_taken_as_text() -> None:
    schema = "user string, at timestamp"
    events = [("ada", at(0).replace(tzinfo=dt.UTC)), Watermark(at(5))]
    assert run(Reads(), events, key="user", schema=schema, time="at") == [("ada", "UTC")]


class Reads(KeyedProcessFunction[Any]):
    def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[object, ...]]:
        yield row.user, str(row.at.tzinfo)


@pytest.mark.parametrize(
    "schema", ["user array<string>", "user", "", "user string,", "user string not null", "u text"]
)
def test_more_of_sparks_ddl_than_is_known_is_refused_with_what_to_write(schema: str) -> None:
    with pytest.raises(InvalidError, match=r"schema=.*give a pyarrow.Schema"):
        run(Count(), [], key="user", schema=schema)
    with pytest.raises(InvalidError, match=r"give a pyarrow.Schema"):
        run(Count(), [], key="user", schema=[("user", pa.string())])


def test_a_row_a_microsecond_below_the_watermark_is_late() -> None:
    events = [Watermark(at(10)), ("ada", at(9.999999))]
    out = run(Quiet(), events, key="user", schema=SCHEMA, time="at")
    assert out == [("ada", "late", at(9.999999))]


@pytest.mark.parametrize(
    ("given", "way"),
    [
        (pa.table({"user": ["ada"], "at": [T0]}), "to_pylist"),
        (MicroBatch([("ada", T0)]), r"run\(function, \[batch\]\)"),
        ({"user": "ada", "at": T0}, "a list of rows"),
        (None, "a list of rows"),
    ],
    ids=["table", "batch", "row", "nothing"],
)
def test_what_is_no_list_of_rows_is_refused(given: Any, way: str) -> None:
    with pytest.raises(InvalidError, match=way):
        run(Count(), given, key="user", schema=SCHEMA)
    with Harness(Count(), key="user", schema=SCHEMA) as harness, pytest.raises(InvalidError):
        harness.process_batch(given)
