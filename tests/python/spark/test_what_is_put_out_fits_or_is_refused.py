"""What functions put out is taken by the rule by which a state takes a value: exactly, or not."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from typing import Any

import pyarrow as pa
import pytest

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.spark.rows import fitted
from flintstate.state.times import from_millis
from python_objects import REFUSED, TAKEN, name_of

UTC = pa.timestamp("us", "UTC")
PLACE = pa.struct([("x", pa.int64()), ("tags", pa.list_(pa.string()))])


def process_element(*rows: object) -> None:
    """The function whose results are taken here."""


def put_out(schema: pa.Schema, *results: object) -> pa.RecordBatch:
    out = _core.PutOut(schema)
    for result in results:
        out.take_all(result, process_element)
    made = out.finish()
    return pa.record_batch(made)


def one_column(kind: pa.DataType) -> pa.Schema:
    return pa.schema([("v", kind)])


@pytest.mark.parametrize(("kind", "value", "message"), REFUSED, ids=name_of)
def test_what_a_state_refuses_is_refused_with_row_column_and_value(
    kind: pa.DataType, value: object, message: str
) -> None:
    with pytest.raises(InvalidError, match=re.escape(message)) as caught:
        put_out(one_column(kind), [(value,)])
    assert re.match(r"output row \(.*: column 'v", str(caught.value), re.S)


@pytest.mark.parametrize(("kind", "value", "back"), TAKEN, ids=name_of)
def test_what_a_state_takes_is_taken_as_the_same(
    kind: pa.DataType, value: object, back: object
) -> None:
    rows = _core.Rows(one_column(kind))
    packed = pa.array([rows.pack((value,))], pa.large_binary())
    stored = pa.RecordBatchReader.from_stream(rows.decode(packed)).read_all()
    assert (
        put_out(one_column(kind), [(value,)])
        .column("v")
        .equals(stored.column("v").combine_chunks())
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), 2.5),
        (pa.int64(), 3.0),
        (pa.float32(), 1e300),
        (UTC, 3),
        (UTC, dt.datetime(2026, 1, 1)),
        (pa.timestamp("us"), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        (pa.date32(), 3),
        (pa.duration("us"), 3),
        (pa.decimal128(10, 2), decimal.Decimal("1.005")),
        (pa.decimal128(10, 2), 0.5),
        (pa.string(), 3),
        (PLACE, {"x": 1, "y": 2}),
        (PLACE, {"x": 1.5}),
        (pa.list_(pa.int8()), [1, 300]),
        (pa.map_(pa.string(), pa.int32()), {"a": 2.5}),
    ],
    ids=name_of,
)
def test_nothing_is_changed_to_fit(kind: pa.DataType, value: object) -> None:
    rows = _core.Rows(one_column(kind), bare=True, named_tuples=True)
    with pytest.raises(InvalidError, match=r"column 'v"):
        rows.pack(value)
    with pytest.raises(InvalidError, match=r"column 'v"):
        put_out(one_column(kind), [(value,)])


def test_rows_of_nested_and_flat_columns_come_back() -> None:
    schema = pa.schema([("n", pa.int64()), ("place", PLACE), ("s", pa.string())])
    rows = [(i, {"x": i, "tags": ["a"] * (i % 3)} if i % 2 else None, str(i)) for i in range(99)]
    got = put_out(schema, rows[:50], None, iter(rows[50:]))
    assert got.schema == schema
    assert [tuple(row.values()) for row in got.to_pylist()] == rows


def test_a_row_that_was_refused_leaves_nothing_behind() -> None:
    schema = pa.schema([("tags", pa.list_(pa.string())), ("n", pa.int64())])
    out = _core.PutOut(schema)
    out.take_all([(["a"], 1)], process_element)
    with pytest.raises(InvalidError, match=r"output row \(\['b'\], 'x'\): column 'n'"):
        out.take_all([(["b"], "x")], process_element)
    out.take_all([(["c"], 2)], process_element)
    made: Any = out.finish()
    assert pa.record_batch(made).to_pylist() == [{"tags": ["a"], "n": 1}, {"tags": ["c"], "n": 2}]
    assert out.finish() is None


def test_a_column_declared_not_null_takes_no_none() -> None:
    whole = pa.field("item", pa.int64(), nullable=False)
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), ("l", pa.list_(whole))])
    with pytest.raises(InvalidError, match=r"column 'n': expected int64, never null, got None"):
        put_out(schema, [(None, [])])
    with pytest.raises(InvalidError, match=r"column 'l\[\]': expected int64, never null"):
        put_out(schema, [(1, [None])])
    loose = pa.record_batch({"n": [1], "l": pa.array([[None]], pa.list_(pa.int64()))})
    with pytest.raises(InvalidError, match=r"column 'l'.*never null"):
        fitted(loose, schema)
    named = pa.DictionaryArray.from_arrays([0, 1], pa.array([None, 1]))
    with pytest.raises(InvalidError, match=r"column 'n'.*never null"):
        fitted(pa.record_batch([named], ["n"]), schema.remove(1))


@pytest.mark.parametrize("result", [3, "ab", b"ab", {"n": 1}, 2.5], ids=repr)
def test_a_result_that_is_not_rows_is_shown(result: object) -> None:
    message = "process_element: expected tuples that are yielded, or a list of them, got "
    with pytest.raises(InvalidError, match=message + type(result).__name__):
        put_out(one_column(pa.int64()), result)


def test_what_is_no_tuple_is_shown_with_what_is_expected() -> None:
    schema = pa.schema([("user", pa.int64()), ("n", pa.int64())])
    wanted = r"output row: expected a tuple of \(user: int64, n: int64\), got "
    for row in ("ab", 3, {"user": 1, "n": 2}):
        with pytest.raises(InvalidError, match=wanted + type(row).__name__):
            put_out(schema, [row])
    with pytest.raises(InvalidError, match=wanted + "int 3"):
        put_out(schema, (3, 4))
    with pytest.raises(InvalidError, match=r"output row \(1,\): 1 values, the schema has 2"):
        put_out(schema, [(1,)])


def test_a_timers_time_becomes_a_datetime_by_a_call() -> None:
    at = dt.datetime(2026, 1, 2, 3, 4, 5, 678_000, dt.UTC)
    millis = round(at.timestamp() * 1000)
    assert put_out(one_column(UTC), [(from_millis(millis),)]).to_pylist() == [{"v": at}]
    assert from_millis(-1) == dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, dt.UTC)
    with pytest.raises(InvalidError, match="the years 1 to 9999"):
        from_millis(2**62)


FLOATS = pa.map_(pa.string(), pa.float32())
DOUBLES = pa.map_(pa.string(), pa.float64())
DOUBLES_NOT_NULL = pa.map_(pa.string(), pa.field("value", pa.float64(), nullable=False))


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.array([1, None], pa.int8()), pa.int64()),
        (pa.array([1, 2], pa.int64()), pa.int8()),
        (pa.array([1, 2]), pa.float64()),
        (pa.array([1.5]), pa.float32()),
        (pa.array(["a"], pa.large_string()), pa.string()),
        (pa.array(["a", "a"]).dictionary_encode(), pa.string()),
        (pa.array([1000], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.nulls(2), pa.map_(pa.string(), pa.int32())),
        (pa.array([[1, 2]], pa.large_list(pa.int32())), pa.list_(pa.int64())),
        (pa.array([math.inf]).dictionary_encode(), pa.float64()),
        (pa.array([[("a", math.inf)], [("b", 1.0)]], FLOATS)[1:], DOUBLES),
        (pa.array([[("a", math.inf)], None, [("b", -math.inf)]], FLOATS), DOUBLES),
        (pa.array([[("a", None)], [("b", 1.0)]], FLOATS)[1:], DOUBLES_NOT_NULL),
    ],
    ids=name_of,
)
def test_batches_of_other_layouts_and_widths_are_taken(given: pa.Array, kind: pa.DataType) -> None:
    got = fitted(pa.record_batch([given], ["v"]), one_column(kind))
    assert got.column("v").type == kind
    got.validate(full=True)
    assert got.column("v").cast(pa.string() if kind == pa.string() else kind).null_count == (
        given.null_count
    )


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.array([2.0]), pa.int64()),
        (pa.array([300]), pa.int8()),
        (pa.array([2**53 + 1]), pa.float64()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([[1e300]]), pa.list_(pa.float32())),
        (pa.array([3]), UTC),
        (pa.array([dt.datetime(2026, 1, 1)]), UTC),
        (pa.array([1], pa.timestamp("ns", "UTC")), UTC),
        (pa.array(["3"]), pa.int64()),
        (pa.array([3]), pa.string()),
        (pa.array([True]), pa.int64()),
        (pa.array([b"a"]), pa.string()),
        (pa.array([{"x": 1, "y": 2}]), pa.struct([("x", pa.int64())])),
        (pa.array([decimal.Decimal("1.005")]), pa.decimal128(10, 2)),
        (pa.array([[1], [2]], pa.list_view(pa.int64()))[1:], pa.list_(pa.int64())),
    ],
    ids=name_of,
)
def test_batches_that_would_be_changed_are_refused(given: pa.Array, kind: pa.DataType) -> None:
    with pytest.raises(InvalidError, match=r"column 'v' is .*, the schema has"):
        fitted(pa.record_batch([given], ["v"]), one_column(kind))
