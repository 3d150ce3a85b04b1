"""Segments whose checksums are right and whose content no backend writes: refused, by file and
record, and the directory stays what it was."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import _core, changelog
from flintstate.changelog import DELETE, DELETE_RANGE, MERGE, METADATA, PUT, Operation
from flintstate.errors import CorruptionError, FlintError

Record = tuple[Operation, int, int, bytes, bytes | None]

EVERY_GROUP = 0xFFFF
KEY = pa.schema([("user", pa.int64())])
ONE = struct.pack("<q", 1)


def version(number: int) -> bytes:
    return number.to_bytes(16, "big")


class Scene:
    """A backend with a state of each kind, all with something for one key, committed once."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.copies = 0
        native = self.opened("first")
        native.set_key(7)
        self.fill(native)
        first = native.commit(str(home / "1.log"), version=version(1), parent=version(0))
        assert first is not None
        self.last = first.last_sequence
        native.close()
        table = changelog.Reader(home / "1.log", columns=["op", "table", "group", "key", "value"])
        self.rows = table.read_all().to_pylist()
        self.group = next(row["group"] for row in self.rows if row["table"])

    def opened(self, name: str) -> _core.RocksBackend:
        return _core.RocksBackend.open(
            str(self.home / name), KEY, 128, 0, 127, timer_namespace=pa.string()
        )

    def states(self, native: _core.RocksBackend) -> tuple[Any, ...]:
        return (
            native.value_state("v", pa.int64()),
            native.list_state("l", pa.string()),
            native.map_state("m", pa.string(), pa.int64()),
            native.reducing_state("r", pa.int64(), "sum"),
            native.sorted_state("s", pa.int64(), pa.string()),
        )

    def fill(self, native: _core.RocksBackend) -> None:
        value, words, entries, total, events = self.states(native)
        value.update(1)
        words.add_all(["a", "b"])
        entries.put("x", 1)
        total.add(1)
        events.add(1, "a")
        native.register_timer(5, "n", event_time=True)

    def check(self, native: _core.RocksBackend) -> None:
        value, words, entries, total, events = self.states(native)
        native.set_key(7)
        assert (value.value(), words.get(), total.get()) == (1, ["a", "b"], 1)
        assert (list(entries.items()), events.values_at(1)) == ([("x", 1)], ["a"])

    def key(self, table: int, operation: Operation = PUT) -> bytes:
        """A row key of a state as the backend itself has written it."""
        key: bytes = next(
            r["key"] for r in self.rows if r["table"] == table and r["op"] == operation
        )
        return key

    def segment(self, *records: Record) -> Path:
        path = self.home / f"{random.getrandbits(60)}.log"
        with changelog.Writer(
            path, first_sequence=self.last + 1, version=version(2), parent=version(1)
        ) as log:
            for operation, table, group, key, value in records:
                log.append(operation, table=table, key=key, value=value, group=group)
        return path

    def reopened(self) -> _core.RocksBackend:
        return self.opened(f"copy{self.copies}")

    def replayed(self) -> _core.RocksBackend:
        self.copies += 1
        native = self.reopened()
        native.replay(str(self.home / "1.log"))
        return native


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("segments"))


VALUE, LIST, MAP, SUM, SORTED, TIMERS = 1, 2, 3, 4, 5, 6
PLAIN = b"\x00\x00" + ONE  # tag, row version, the number
OPERAND = b"\x02\x01\x05\x00" + ONE  # tag, sum, int64, row version, the number

WRONG: dict[str, tuple[Operation, int, bytes, bytes | None, str]] = {
    "an operand of nothing": (MERGE, SUM, b"", b"", "operand"),
    "an operand of two bytes": (MERGE, SUM, b"", b"\x02\x01", "operand"),
    "an operand without its row": (MERGE, SUM, b"", b"\x02\x01\x05", "operand"),
    "an operand of no function": (MERGE, SUM, b"", b"\x02\x7f\x05\x00" + ONE, "operand"),
    "an operand of another type": (MERGE, SUM, b"", b"\x02\x01\x09\x00" + ONE, "operand"),
    "an operand that is too long": (MERGE, SUM, b"", OPERAND + b"x", "operand"),
    "a merge into a value": (MERGE, VALUE, b"", OPERAND, "no operation 2"),
    "a merge into a list": (MERGE, LIST, b"", OPERAND, "no operation 2"),
    "a range of a value": (DELETE_RANGE, VALUE, b"", b"\xff", "no operation 3"),
    "a range of timers": (DELETE_RANGE, TIMERS, b"", b"\xff", "no operation 3"),
    "metadata of a state": (METADATA, VALUE, b"", b"", "no operation 4"),
    "a value of nothing": (PUT, VALUE, b"", b"", "no row"),
    "a value of a tag": (PUT, VALUE, b"", b"\x00", "no row"),
    "a value of an unknown tag": (PUT, VALUE, b"", b"\x09" + PLAIN, "no row"),
    "a value of seven bytes": (PUT, VALUE, b"", PLAIN[:-1], "damaged"),
    "a value of nine bytes": (PUT, VALUE, b"", PLAIN + b"\x00", "damaged"),
    "a value of another schema": (PUT, VALUE, b"", b"\x00\x05" + ONE, "damaged"),
    "a stamp without a value": (PUT, VALUE, b"", b"\x01" + ONE, "no row"),
    "an operand as a value": (PUT, VALUE, b"", OPERAND, "operand"),
    "a string that is not UTF-8": (PUT, LIST, b"", b"\x00\x00\xff\xfe", "UTF-8"),
    "a timer with a value": (PUT, TIMERS, b"", PLAIN, "no value"),
    "a key with more behind it": (PUT, VALUE, b"x", PLAIN, "follow its key"),
    "a timer with more behind it": (DELETE, TIMERS, b"x", None, "follow its key"),
    "an element number of nine bytes": (PUT, LIST, b"x", b"\x00\x00a", "element number"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_no_backend_writes_is_refused(scene: Scene, what: str) -> None:
    operation, table, behind, value, message = WRONG[what]
    used = MERGE if table == SUM else PUT
    key = scene.key(table, used) + behind
    refused(scene, [(operation, table, scene.group, key, value)], message)


def test_a_key_of_another_group_than_its_record_is_refused(scene: Scene) -> None:
    key = scene.key(VALUE)
    moved = (scene.group + 1) % 128
    refused(scene, [(PUT, VALUE, moved, key, PLAIN)], "key group")
    refused(scene, [(PUT, VALUE, moved, bytes([moved]) + key[1:], PLAIN)], "belongs to key group")


@pytest.mark.parametrize("key", [b"", b"\x01", b"\x01\x02", b"\x7f" + b"\xff" * 29])
@pytest.mark.parametrize("table", [VALUE, LIST, MAP, SUM, SORTED, TIMERS])
def test_a_key_that_is_none_is_refused(scene: Scene, table: int, key: bytes) -> None:
    group = key[0] if key else 0
    refused(scene, [(DELETE, table, group, key, None)], f"record {scene.last + 1}")


def test_an_element_number_that_was_not_given_is_refused(scene: Scene) -> None:
    key = scene.key(LIST)[:-8] + struct.pack(">Q", 1 << 40)
    refused(scene, [(PUT, LIST, scene.group, key, b"\x00\x00a")], "was not given")


def test_a_range_that_leaves_its_key_is_refused(scene: Scene) -> None:
    key = scene.key(LIST)
    for end, message in ((key[:-9], "before it begins"), (b"\xff", "behind the rows")):
        refused(scene, [(DELETE_RANGE, LIST, scene.group, key, end)], message)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (b"backend", b"", "neither"),
        (b"commit", b"\x00" * 32, "neither"),
        (b"", b"", "neither"),
        (b"state/", b"", "neither"),
        (b"elements", b"\x01", "next element"),
        (b"elements", b"\x00" * 8, "next element"),
        (b"elements", b"\xff" * 8, "next element"),
        (b"state/\x00\x00\x00\x09", b"", "catalogue entry"),
        (b"state/\x00\x00\x00\x09", b"\x01\x01\x01x\x00\x00\x00\x00\x00\x00", "columns"),
        (b"state/\x00\x00\x00\x09", b"\x01\x01\x01x" + b"\xff" * 9 + b"\x01", "catalogue entry"),
        (b"state/\x00\x00\x00\x00", None, "no state has the number 0"),
        (b"state/\x00\x00\x00\x02", None, "can't be opened as"),
        (b"state/\x00\x00\x00\x09", None, "described twice"),
    ],
)
def test_metadata_that_is_not_on_the_list_is_refused(
    scene: Scene, key: bytes, value: bytes | None, message: str
) -> None:
    first = next(row["value"] for row in scene.rows if row["key"] == b"state/\x00\x00\x00\x01")
    if message.startswith("no state"):
        first = first.replace(b"\x01v", b"\x01w", 1)
    refused(scene, [(METADATA, 0, EVERY_GROUP, key, first if value is None else value)], message)


def test_only_metadata_stands_outside_of_the_key_groups(scene: Scene) -> None:
    refused(scene, [(PUT, 0, EVERY_GROUP, b"commit", b"x")], "only metadata")
    refused(scene, [(PUT, VALUE, EVERY_GROUP, scene.key(VALUE), PLAIN)], "only metadata")
    refused(scene, [(METADATA, 0, scene.group, b"elements", ONE)], "never described")
    refused(scene, [(PUT, 77, scene.group, scene.key(VALUE), PLAIN)], "never described")


def test_good_records_before_a_wrong_one_are_not_applied(scene: Scene) -> None:
    good = (PUT, VALUE, scene.group, scene.key(VALUE), b"\x00\x00" + struct.pack("<q", 99))
    bad = (PUT, VALUE, scene.group, scene.key(VALUE), b"")
    refused(scene, [good] * 3 + [bad], f"record {scene.last + 4}")


def test_of_a_segment_that_is_written_in_parts_nothing_is_applied_either(scene: Scene) -> None:
    key = scene.key(LIST)[:-8]
    long = b"\x00\x00" + b"x" * (1 << 20)
    good = [(PUT, LIST, scene.group, key + struct.pack(">Q", 1), long)] * 40
    refused(scene, [*good, (PUT, VALUE, scene.group, scene.key(VALUE), b"")], "record")


def test_a_segment_as_it_should_be_is_taken(scene: Scene) -> None:
    native = scene.replayed()
    good = (PUT, VALUE, scene.group, scene.key(VALUE), b"\x00\x00" + struct.pack("<q", 99))
    native.replay(
        str(scene.segment(good, (MERGE, SUM, scene.group, scene.key(SUM, MERGE), OPERAND)))
    )
    value, _, _, total, _ = scene.states(native)
    native.set_key(7)
    assert (value.value(), total.get()) == (99, 2)
    native.discard()


def refused(scene: Scene, records: list[Record], message: str) -> None:
    """The replay names file and record, and what was there before is there after it."""
    native = scene.replayed()
    path = scene.segment(*records)
    with pytest.raises(CorruptionError, match=message) as error:
        native.replay(str(path))
    assert str(path) in str(error.value)
    assert "record " in str(error.value)
    native.close()
    native = scene.reopened()
    assert native.version == version(1)
    scene.check(native)
    native.discard()


def test_no_change_of_a_segments_records_crashes_a_replay_or_a_later_reader(scene: Scene) -> None:
    source = random.Random(random.getrandbits(40))
    for _ in range(60):
        records = []
        for row in scene.rows:
            mangled = {name: mangle(source, row[name]) for name in ("key", "value")}
            operation = Operation(source.choice([row["op"], row["op"], source.randrange(5)]))
            value = None if operation == DELETE else mangled["value"] or b""
            records.append((operation, row["table"], row["group"], mangled["key"] or b"", value))
        native = scene.replayed()
        try:
            native.replay(str(scene.segment(*records)))
        except FlintError:
            native.close()
            native = scene.reopened()
        read_all(native, scene)
        native.discard()


def mangle(source: random.Random, data: bytes | None) -> bytes | None:
    if data is None or source.random() < 0.9:
        return data
    at = source.randrange(len(data) + 1)
    return source.choice(
        [data[:at], data[:at] + source.randbytes(2) + data[at + 2 :], data + b"\x00"]
    )


def read_all(native: _core.RocksBackend, scene: Scene) -> None:
    try:
        native.set_key(7)
        value, words, entries, total, events = scene.states(native)
        value.value(), words.get(), total.get(), list(entries.items()), events.values_at(1)
        for state in (value, words, entries, total, events):
            list(native.keys(state, None))
        native.take_timer(100, event_time=True)
    except FlintError:
        pass
