"""What functions put out is taken by the rule by which a state takes a value: exactly, or not."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
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
        (pa.array([[1, 2], [3]], pa.list_view(pa.int32())), pa.list_(pa.int64())),
        (pa.array([[1], [2]], pa.list_view(pa.int64()))[1:], pa.list_(pa.int64())),
        (pa.array([1, 2]), pa.decimal128(10, 2)),
        (pa.array([float("inf"), 1.0]).dictionary_encode(), pa.float32()),
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
    ],
    ids=name_of,
)
def test_batches_that_would_be_changed_are_refused(given: pa.Array, kind: pa.DataType) -> None:
    with pytest.raises(InvalidError, match=r"column 'v' is .*, the schema has"):
        fitted(pa.record_batch([given], ["v"]), one_column(kind))


INF = float("inf")
BARS = pa.map_(pa.string(), pa.float64())
WHOLE = pa.field("x", pa.int64(), nullable=False)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.array([[("a", INF)], [("b", 2.0)]], BARS)[1:], pa.map_(pa.string(), pa.float32())),
        (
            pa.array([[("a", None)], [("b", 2.0)], None], BARS)[1:],
            pa.map_(pa.string(), pa.field("value", pa.float64(), nullable=False)),
        ),
        (pa.array([None, {"x": 1}]), pa.struct([WHOLE])),
        (pa.array([[None, {"x": 1}], None]), pa.list_(pa.struct([WHOLE]))),
        (
            pa.array(
                [[("a", None), ("b", {"x": 1})]], pa.map_(pa.string(), pa.struct([("x", "i4")]))
            ),
            pa.map_(pa.string(), pa.struct([WHOLE])),
        ),
    ],
    ids=name_of,
)
def test_what_no_row_of_a_batch_shows_is_no_obstacle(given: pa.Array, kind: pa.DataType) -> None:
    column = fitted(pa.record_batch([given], ["v"]), one_column(kind)).column("v")
    column.validate(full=True)
    assert column.type == kind
    assert column.to_pylist() == given.to_pylist()


def test_a_null_that_a_dictionary_holds_is_a_null() -> None:
    given = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", None]))
    schema = pa.schema([pa.field("v", pa.string(), nullable=False)])
    with pytest.raises(InvalidError, match="never null: there is a null"):
        fitted(pa.record_batch([given], ["v"]), schema)


def test_columns_of_any_depth_and_layout_come_out_the_same() -> None:
    dice = random.Random(3)
    for _ in range(300):
        wanted, given = kinds(dice, depth=3)
        values = [value(dice, wanted, nullable=True) for _ in range(6)]
        column = pa.array([value(dice, given, nullable=True), *values], given)[1:]
        got = fitted(pa.record_batch([column], ["v"]), one_column(wanted)).column("v")
        got.validate(full=True)
        assert got.type == wanted
        assert got.to_pylist() == pa.array(values, wanted).to_pylist()


def kinds(dice: random.Random, depth: int) -> tuple[pa.DataType, pa.DataType]:
    """A type, of which some fields are never null, and another of the same values."""
    shape = dice.choice(["flat", "struct", "list", "map"] if depth else ["flat"])
    if shape == "flat":
        wanted = dice.choice([pa.int64(), pa.float64(), pa.decimal128(12, 2)])
        return wanted, dice.choice([pa.int8(), pa.uint32(), wanted])
    wanted, given = kinds(dice, depth - 1)
    field = pa.field("value" if shape == "map" else "item", wanted, dice.random() < 0.7)
    if shape == "struct":
        return pa.struct([field]), pa.struct([pa.field("item", given)])
    if shape == "map":
        return pa.map_(pa.string(), field), pa.map_(pa.string(), given)
    layouts = (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)
    return pa.list_(field), dice.choice(layouts)(given)


def value(dice: random.Random, kind: pa.DataType, *, nullable: bool) -> object:
    if nullable and dice.random() < 0.25:
        return None
    if not pa.types.is_nested(kind):
        return dice.randrange(100)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    if pa.types.is_struct(kind):
        return {f.name: value(dice, f.type, nullable=f.nullable) for f in fields}
    if pa.types.is_map(kind):
        item = kind.item_field
        items = [value(dice, item.type, nullable=item.nullable) for _ in range(dice.randrange(3))]
        return [(str(i), item) for i, item in enumerate(items)]
    nullable = fields[0].nullable
    return [value(dice, fields[0].type, nullable=nullable) for _ in range(dice.randrange(4))]
