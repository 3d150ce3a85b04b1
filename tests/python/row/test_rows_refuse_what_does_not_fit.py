"""Errors name the way to the value, what was expected and what came; nothing is rounded."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

import flintstate as fs
from flintstate import _core
from python_objects import POINT, REFUSED, TAKEN, name_of


def cell(type_: pa.DataType, *, nullable: bool = True) -> _core.Rows:
    field = pa.field("v", type_, nullable=nullable)
    return _core.Rows(pa.schema([field]), bare=True, named_tuples=True)


@pytest.mark.parametrize(("type_", "value", "message"), REFUSED, ids=name_of)
def test_a_value_of_another_type_is_refused_by_its_path(
    type_: pa.DataType, value: object, message: str
) -> None:
    rows = cell(type_)
    with pytest.raises(fs.InvalidError, match=re.escape(message)):
        rows.pack(value)
    assert rows.unpack(rows.pack(None)) is None


@pytest.mark.parametrize(("type_", "value", "back"), TAKEN, ids=name_of)
def test_what_stands_for_a_value_is_taken_as_it(
    type_: pa.DataType, value: object, back: object
) -> None:
    rows = cell(type_)
    got = rows.unpack(rows.pack(value))
    assert got == back
    assert isinstance(got, tuple) if isinstance(back, tuple) else type(got) is type(back)


def test_a_null_in_a_column_declared_not_null_is_refused() -> None:
    with pytest.raises(fs.InvalidError, match="column 'v': expected int64, never null, got None"):
        cell(pa.int64(), nullable=False).pack(None)


def test_structs_come_back_as_named_tuples_or_dicts() -> None:
    schema = pa.schema([("p", POINT)])
    named = _core.Rows(schema, bare=True, named_tuples=True)
    point: Any = named.unpack(named.pack((1, 2)))
    assert point._asdict() == {"x": 1, "y": 2}
    table = _core.Rows(schema)
    assert table.unpack(table.pack({"p": (1, 2)})) == {"p": {"x": 1, "y": 2}}


def test_an_unknown_column_is_refused_by_name() -> None:
    rows = _core.Rows(pa.schema([("url", pa.string()), ("ms", pa.int32())]))
    with pytest.raises(fs.InvalidError, match="there is no column 'sm'"):
        rows.pack({"url": "/", "sm": 1})
    with pytest.raises(fs.InvalidError, match="got int 5"):
        rows.pack(5)


class Lazy(Mapping[str, object]):
    def __init__(self, **items: object) -> None:
        self.items_ = items

    def __getitem__(self, name: str) -> object:
        return self.items_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_)

    def __len__(self) -> int:
        return len(self.items_)


def test_any_mapping_is_a_row() -> None:
    rows = _core.Rows(pa.schema([("a", pa.int32()), ("b", pa.int32())]))
    assert rows.unpack(rows.pack(Lazy(a=1))) == {"a": 1, "b": None}
    with pytest.raises(fs.InvalidError, match="there is no column 'c'"):
        rows.pack(Lazy(a=1, c=2))


def test_in_a_table_a_time_may_be_a_count_of_its_unit() -> None:
    rows = _core.Rows(pa.schema([("at", pa.timestamp("us")), ("took", pa.duration("s"))]))
    row: Any = rows.unpack(rows.pack({"at": -1, "took": 90}))
    assert row["at"] == dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
    assert row["took"] == dt.timedelta(seconds=90)
    with pytest.raises(fs.InvalidError, match=r"expected timestamp\[us\], within its range"):
        rows.pack({"at": 2**63})


def test_a_list_that_changes_while_it_is_read_is_refused() -> None:
    class Index:
        def __index__(self) -> int:
            victim.clear()
            return 1

    victim: list[object] = [Index(), 2, 3]
    with pytest.raises(fs.InvalidError, match="stays as it is while it is read"):
        cell(pa.list_(pa.int64())).pack(victim)


def test_columns_of_another_type_are_refused_by_name() -> None:
    rows = _core.Rows(pa.schema([("a", pa.int64())]))
    with pytest.raises(fs.InvalidError, match="column 'a': expected int64, got string"):
        rows.encode(pa.table({"a": ["x"]}))
    with pytest.raises(fs.InvalidError, match="column 'a' is missing"):
        rows.encode(pa.table({"b": [1]}))


def test_a_null_is_refused_by_its_row_at_any_depth() -> None:
    rows = _core.Rows(pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    with pytest.raises(fs.InvalidError, match=r"row 1: column 'a' is declared not null"):
        rows.encode(pa.table({"a": [1, None]}))
    inner = _core.Rows(pa.schema([("l", pa.list_(POINT))]))
    loose = pa.list_(pa.struct([("x", pa.int32()), ("y", pa.int32())]))
    bad = pa.table({"l": pa.array([[], None, [(1, 1), (None, 2)]], loose)})
    with pytest.raises(fs.InvalidError, match=re.escape("row 2: 'l[].x' is declared not null")):
        inner.encode(bad)


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.string()])
def test_any_layout_of_a_type_is_taken(kind: pa.DataType) -> None:
    rows = _core.Rows(pa.schema([("s", pa.string())]))
    texts = ["a", None, "a longer text than a view inlines", "a"]
    expected = [rows.pack({"s": text}) for text in texts]
    plain = pa.array(texts, kind)
    for array in (plain, plain.slice(0, 4), pa.concat_arrays([plain, plain]).slice(4)):
        assert pa.array(rows.encode(pa.table({"s": array}))).to_pylist() == expected
    coded = pa.array(texts).dictionary_encode()
    assert pa.array(rows.encode(pa.table({"s": coded}))).to_pylist() == expected
    nulls = pa.table({"s": pa.nulls(2)})
    assert pa.array(rows.encode(nulls)).to_pylist() == [rows.pack({"s": None})] * 2


def test_values_of_64_mb_and_of_nothing_come_back() -> None:
    rows = _core.Rows(pa.schema([("a", pa.binary()), ("b", pa.string())]))
    big = bytes(range(256)) * (1 << 18)
    for row in ({"a": big, "b": "x"}, {"a": b"", "b": ""}):
        packed = rows.pack(row)
        assert rows.unpack(packed) == row
        back = pa.RecordBatchReader.from_stream(rows.decode(pa.array([packed], pa.large_binary())))
        assert back.read_all().to_pylist() == [row]


def test_a_row_too_long_to_be_read_back_is_refused_before_it_is_made() -> None:
    rows = _core.Rows(pa.schema([("a", pa.list_(pa.binary()))]))
    part = pa.DictionaryArray.from_arrays(pa.array([0] * 32, pa.int8()), pa.array([bytes(1 << 26)]))
    with pytest.raises(fs.InvalidError, match=r"row 1: .*at most 2147483647 can be stored"):
        rows.encode(pa.table({"a": pa.ListArray.from_arrays([0, 0, 32], part)}))
