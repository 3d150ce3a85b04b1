"""Columns are added, dropped, moved and widened without a stored row being touched."""

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounds import ROUNDS

import arrow_strategies as arrow
import flintstate as fs
from flintstate import _core

S = pa.schema

# Every widening that keeps all values, from the narrowest on.
CHAINS = [
    [pa.int8(), pa.int16(), pa.int32(), pa.int64()],
    [pa.int32(), pa.float64()],
    [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()],
    [pa.uint8(), pa.int16(), pa.float32(), pa.float64()],
    [pa.uint32(), pa.int64()],
    [pa.uint32(), pa.float64()],
    [pa.int16(), pa.float32()],
    [pa.float16(), pa.float32(), pa.float64()],
    [pa.decimal128(9, 2), pa.decimal128(38, 2), pa.decimal256(76, 2)],
    [pa.string(), pa.large_string()],
    [pa.binary(), pa.large_binary()],
    [pa.list_(pa.int16()), pa.large_list(pa.int16())],
    [pa.null(), pa.int64()],
    [pa.null(), pa.list_(pa.string())],
]
WIDENINGS = [
    (chain[i], chain[j])
    for chain in CHAINS
    for i in range(len(chain))
    for j in range(i + 1, len(chain))
]


def decoded(rows: _core.Rows, packed: list[bytes]) -> list[dict[str, Any]]:
    stream = rows.decode(pa.array(packed, pa.binary()))
    return pa.RecordBatchReader.from_stream(stream).read_all().to_pylist()


@pytest.mark.parametrize(("narrow", "wide"), WIDENINGS, ids=str)
def test_a_widened_column_reads_what_was_written_narrow(
    narrow: pa.DataType, wide: pa.DataType
) -> None:
    @settings(max_examples=30 * ROUNDS, deadline=None)
    @given(st.lists(st.none() | arrow.plain_values(narrow), max_size=5))
    def check(values: list[object]) -> None:
        old = _core.Rows(S([("pad", pa.int8()), ("v", narrow)]))
        packed = [old.pack({"v": v}) for v in values]
        new = old.evolve(S([("v", wide), ("pad", pa.int8())]))
        rows = [{"v": v, "pad": None} for v in values]
        assert [new.unpack(row) for row in packed] == rows
        assert decoded(new, packed) == rows

    check()


EXTREMES = [
    (pa.int8(), pa.int64(), [-128, 127]),
    (pa.uint8(), pa.int16(), [0, 255]),
    (pa.uint32(), pa.int64(), [0, 2**32 - 1]),
    (pa.uint32(), pa.float64(), [0, 2**32 - 1]),
    (pa.int32(), pa.float64(), [-(2**31), 2**31 - 1]),
    (pa.int16(), pa.float32(), [-(2**15), 2**15 - 1]),
    (pa.float16(), pa.float64(), [65504.0, -6e-8, 6.1e-5, -0.0, float("inf"), float("-inf")]),
    (pa.float32(), pa.float64(), [3.4028234663852886e38, 1e-45, float("-inf")]),
]


@pytest.mark.parametrize(("narrow", "wide", "values"), EXTREMES, ids=str)
def test_extremes_are_widened_exactly(
    narrow: pa.DataType, wide: pa.DataType, values: list[Any]
) -> None:
    old = _core.Rows(S([("v", narrow)]), bare=True)
    packed = [old.pack(value) for value in values]
    kept = [old.unpack(row) for row in packed]
    new = old.evolve(S([("v", wide)]), bare=True)
    assert arrow.same([new.unpack(row) for row in packed], [type_of(wide)(v) for v in kept])
    assert arrow.same([row["v"] for row in decoded(new, packed)], [type_of(wide)(v) for v in kept])


def type_of(wide: pa.DataType) -> type:
    return float if pa.types.is_floating(wide) else int


def test_an_added_column_reads_its_default_or_null_in_older_rows() -> None:
    old = _core.Rows(S([("a", pa.int64())]))
    packed = [old.pack({"a": 1})]
    fields = [
        ("a", pa.int64()),
        ("b", pa.string()),
        pa.field("c", pa.list_(pa.int32()), nullable=False),
        ("d", pa.int32()),
    ]
    new = old.evolve(S(fields), defaults={"c": [1, 2], "d": 7})
    packed.append(new.pack({"a": 2, "c": []}))
    rows = [{"a": 1, "b": None, "c": [1, 2], "d": 7}, {"a": 2, "b": None, "c": [], "d": None}]
    assert [new.unpack(row) for row in packed] == rows
    assert decoded(new, packed) == rows


def test_a_default_is_widened_with_its_column() -> None:
    old = _core.Rows(S([("a", pa.int64())]))
    packed = [old.pack({"a": 1})]
    added = old.evolve(S([("a", pa.int64()), ("b", pa.int8())]), defaults={"b": -3})
    wide = added.evolve(S([("a", pa.int64()), ("b", pa.int64())]))
    assert wide.unpack(packed[0]) == {"a": 1, "b": -3}
    assert decoded(wide, packed) == [{"a": 1, "b": -3}]


def test_a_column_dropped_and_added_anew_does_not_find_its_old_values() -> None:
    first = _core.Rows(S([("a", pa.int64()), ("b", pa.string())]))
    packed = [first.pack({"a": 1, "b": "old"})]
    second = first.evolve(S([("a", pa.int64())]))
    packed.append(second.pack({"a": 2}))
    third = second.evolve(S([("b", pa.string()), ("a", pa.int64())]))
    packed.append(third.pack({"a": 3, "b": "new"}))
    rows = [{"b": None, "a": 1}, {"b": None, "a": 2}, {"b": "new", "a": 3}]
    assert [third.unpack(row) for row in packed] == rows
    assert decoded(third, packed) == rows


REFUSED = [
    (pa.int64(), pa.int32()),
    (pa.int64(), pa.float64()),
    (pa.int32(), pa.float32()),
    (pa.float64(), pa.float32()),
    (pa.uint64(), pa.int64()),
    (pa.int32(), pa.uint64()),
    (pa.int32(), pa.string()),
    (pa.string(), pa.binary()),
    (pa.large_string(), pa.string()),
    (pa.timestamp("us"), pa.timestamp("ns")),
    (pa.date32(), pa.timestamp("us")),
    (pa.int64(), pa.timestamp("us")),
    (pa.decimal128(9, 2), pa.decimal128(9, 3)),
    (pa.decimal128(9, 2), pa.decimal128(8, 2)),
    (pa.list_(pa.int32()), pa.list_(pa.int64())),
    (pa.list_(pa.int32()), pa.list_(pa.field("item", pa.int32(), nullable=False))),
    (pa.struct([("a", pa.int32())]), pa.struct([("b", pa.int32())])),
]


@pytest.mark.parametrize(("stored", "wanted"), REFUSED, ids=str)
def test_a_change_that_could_lose_something_is_refused_by_name(
    stored: pa.DataType, wanted: pa.DataType
) -> None:
    rows = _core.Rows(S([("ms", stored)]))
    with pytest.raises(fs.InvalidError) as error:
        rows.evolve(S([("ms", wanted)]))
    assert f"column 'ms' is stored as {stored}" in str(error.value)
    assert f"can't become {wanted}" in str(error.value)


def test_nulls_may_be_allowed_but_never_forbidden_later() -> None:
    strict = S([pa.field("a", pa.int64(), nullable=False)])
    rows = _core.Rows(strict)
    loose = rows.evolve(S([("a", pa.int64())]))
    assert loose.unpack(rows.pack({"a": 1})) == {"a": 1}
    with pytest.raises(fs.InvalidError, match="can't become int64 not null"):
        loose.evolve(strict)
    with pytest.raises(fs.InvalidError, match=r"column 'b' .* is new: .* need a default"):
        rows.evolve(S([*strict, pa.field("b", pa.int64(), nullable=False)]))


def test_a_history_ends_after_256_versions() -> None:
    rows = _core.Rows(S([("a", pa.int64())]))
    for i in range(255):
        rows = rows.evolve(S([("a", pa.int64()), (f"b{i}", pa.int8())]))
    assert _core.Rows.from_history(rows.history).unpack(rows.pack({"a": 1}))
    with pytest.raises(fs.InvalidError, match="changed 255 times"):
        rows.evolve(S([("a", pa.int64())]))


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(fs.InvalidError, match="two columns are called 'a'"):
        _core.Rows(pa.schema([("a", pa.int64()), ("a", pa.int64())]))


@settings(max_examples=150 * ROUNDS, deadline=None)
@given(arrow.schemas(), st.binary(min_size=1, max_size=8), st.integers(0, 2**32))
def test_a_history_comes_back_and_its_damage_is_seen(
    schema: pa.Schema, noise: bytes, seed: int
) -> None:
    rows = _core.Rows(schema)
    history = rows.history
    assert _core.Rows.from_history(history).history == history
    assert _core.Rows.from_history(history).schema == schema
    chance = random.Random(seed)
    at = chance.randrange(len(history))
    damaged = history[:at] + noise + history[at + len(noise) :]
    for bad in (damaged, history[:at]):
        if bad != history:
            with pytest.raises(fs.CorruptionError, match="schema history of a table is damaged"):
                _core.Rows.from_history(bad)


@settings(max_examples=100 * ROUNDS, deadline=None)
@given(st.data())
def test_rows_of_every_version_are_read_as_the_newest(data: st.DataObject) -> None:
    """Columns come and go at random; a model keeps what each row holds by (name, incarnation)."""
    types = {"a": pa.int64(), "b": pa.string(), "c": pa.bool_(), "d": pa.list_(pa.int16())}
    live = data.draw(st.lists(st.sampled_from("abcd"), unique=True))
    birth = dict.fromkeys(live, 0)
    rows = _core.Rows(S([(name, types[name]) for name in live]))
    packed: list[bytes] = []
    model: list[dict[tuple[str, int], object]] = []
    for version in range(data.draw(st.integers(1, 6))):
        if version > 0:
            live = data.draw(st.lists(st.sampled_from("abcd"), unique=True))
            birth = {name: birth.get(name, version) for name in live}
            rows = rows.evolve(S([(name, types[name]) for name in live]))
            rows = _core.Rows.from_history(rows.history)
        row = data.draw(arrow.rows(S([(name, types[name]) for name in live])))
        packed.append(rows.pack(row))
        model.append({(name, birth[name]): row[name] for name in live})
    expected = [{name: old.get((name, birth[name])) for name in live} for old in model]
    assert [rows.unpack(row) for row in packed] == expected
    if live:
        order = data.draw(st.permutations(range(len(packed))))
        assert decoded(rows, [packed[i] for i in order]) == [expected[i] for i in order]
