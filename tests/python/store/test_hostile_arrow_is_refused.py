"""Arrays that lead outside of themselves, and strings that are none, never reach a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs
from flintstate import changelog
from hostile_arrow import LISTS, STRINGS, batch

REFUSED = r"malformed|not UTF-8|not binary or string"
GOOD = pa.array(["x", "y"])
Call = Callable[[fs.Store, fs.Table, pa.Array], object]


def in_batch(store: fs.Store, table: fs.Table, rows: pa.Array) -> None:
    with store.batch() as together:
        together.put(table, rows)


WRITES: dict[str, Call] = {
    "put": lambda store, table, rows: table.put(rows),
    "merge": lambda store, table, rows: table.merge(rows),
    "ingest": lambda store, table, rows: table.ingest(rows),
    "batch": in_batch,
}
KEYED: dict[str, Call] = {
    "get_many": lambda store, table, rows: table.get_many(rows),
    "delete": lambda store, table, rows: table.delete(rows),
}


@pytest.fixture
def words(store: fs.Store) -> Iterator[fs.Table]:
    text = pa.schema([("v", pa.string())])
    table = store.table("words", key=pa.schema([("k", pa.string())]), value=text)
    table.put(pa.table({"k": ["here"], "v": ["before"]}))
    yield table
    assert list(table.keys()) == ["here"]  # whatever was refused, nothing of it was taken


@pytest.mark.parametrize("wrong", STRINGS)
def test_a_key_column_that_can_not_be_read_is_refused(
    store: fs.Store, words: fs.Table, wrong: str
) -> None:
    bad = STRINGS[wrong]()
    for call in WRITES.values():
        with pytest.raises(fs.InvalidError, match=REFUSED):
            call(store, words, batch(k=bad, v=GOOD))
    for call in KEYED.values():
        with pytest.raises(fs.InvalidError, match=REFUSED):
            call(store, words, batch(k=bad))


@pytest.mark.parametrize("wrong", STRINGS)
def test_a_value_column_that_can_not_be_read_is_refused(
    store: fs.Store, words: fs.Table, wrong: str
) -> None:
    for call in WRITES.values():
        with pytest.raises(fs.InvalidError, match=REFUSED):
            call(store, words, batch(k=GOOD, v=STRINGS[wrong]()))


@pytest.mark.parametrize("wrong", LISTS)
def test_a_list_column_that_can_not_be_read_is_refused(store: fs.Store, wrong: str) -> None:
    column = LISTS[wrong]()
    table = store.table(
        "lists", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", column.type)])
    )
    with pytest.raises(fs.InvalidError, match=REFUSED):
        table.put(batch(k=pa.array([1, 2]), v=column))
    assert len(table) == 0


def test_what_is_not_utf8_is_named_by_its_row(words: fs.Table) -> None:
    with pytest.raises(fs.InvalidError, match=r"row 1 .*not UTF-8.*binary"):
        words.put(pa.table({"k": ["x", "y"], "v": STRINGS["bytes that are not UTF-8"]()}))


@pytest.mark.parametrize("letters", [b"\xc3\xa9", "é".encode() * 40, b"x" * 70 + b"\xe2\x82\xac"])
def test_a_letter_that_two_rows_share_is_in_neither(words: fs.Table, letters: bytes) -> None:
    ends = pa.array([0, len(letters) - 1, len(letters)], pa.int32()).buffers()[1]
    column = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(letters)])
    with pytest.raises(fs.InvalidError, match=r"row 0 .*not UTF-8"):
        words.put(pa.table({"k": ["x", "y"], "v": column}))


def test_what_lies_under_nulls_is_not_looked_at(words: fs.Table) -> None:
    under = STRINGS["bytes that are not UTF-8"]()
    masked = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\x01"), *under.buffers()[1:]], null_count=1
    )
    words.put(pa.table({"k": ["x", "y"], "v": masked}))
    assert words["x"] == {"v": "ab"}
    assert words["y"] == {"v": None}
    words.delete(pa.table({"k": ["x", "y"]}))


def test_a_slice_is_not_refused_for_what_is_outside_of_it(words: fs.Table) -> None:
    column = STRINGS["bytes that are not UTF-8"]()
    words.put(pa.table({"k": ["x"], "v": column.slice(0, 1)}))
    assert words["x"] == {"v": "ab"}
    words.delete(pa.table({"k": ["x"]}))


@pytest.mark.parametrize("wrong", STRINGS)
def test_keys_of_what_can_not_be_read_are_not_encoded(wrong: str) -> None:
    with pytest.raises(fs.InvalidError, match=REFUSED):
        fs.encode_keys(batch(k=STRINGS[wrong]()))


@pytest.mark.parametrize("wrong", STRINGS)
def test_a_changelog_takes_no_column_that_can_not_be_read(wrong: str, tmp_path: Path) -> None:
    with changelog.Writer(tmp_path / "log") as log:
        for keys, values in ((STRINGS[wrong](), GOOD), (GOOD, STRINGS[wrong]())):
            with pytest.raises(fs.InvalidError, match=REFUSED):
                log.append_many(changelog.PUT, table=1, keys=keys, values=values)
        assert log.last_sequence == 0
