"""What goes into the changelog comes out, as Arrow, whole or in part."""

from pathlib import Path

import pyarrow as pa
import pytest

from flintstate import changelog


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed segment: ten puts of group n % 4, a delete, a merge."""
    path = tmp_path / "000001.log"
    with changelog.Writer(path, version=b"v" * 16, parent=b"p" * 16, written_by="tests") as log:
        for n in range(10):
            log.append(changelog.PUT, table=1, key=b"k%d" % n, value=b"v%d" % n, group=n % 4)
        log.append(changelog.DELETE, table=1, key=b"k0")
        log.append(changelog.MERGE, table=2, key=b"sum", value=b"+1", group=3)
    return path


def test_all_records_in_order(path: Path) -> None:
    table = changelog.Reader(path).read_all()
    assert table.column_names == ["sequence", "op", "table", "key", "value"]
    assert table["sequence"].to_pylist() == list(range(1, 13))
    assert table["op"].to_pylist() == [changelog.PUT] * 10 + [changelog.DELETE, changelog.MERGE]
    assert table["table"].to_pylist() == [1] * 11 + [2]
    assert table["key"].to_pylist()[9:] == [b"k9", b"k0", b"sum"]
    assert table["value"].to_pylist()[9:] == [b"v9", None, b"+1"]


def test_any_library_may_take_the_stream(path: Path) -> None:
    reader = changelog.Reader(path)
    assert pa.RecordBatchReader.from_stream(reader).read_all() == reader.read_all()
    assert pa.table(reader).schema == reader.schema


def test_a_reader_may_be_read_again(path: Path) -> None:
    reader = changelog.Reader(path)
    assert reader.read_all() == reader.read_all()
    assert sum(batch.num_rows for batch in reader) == 12


def test_from_a_sequence_number(path: Path) -> None:
    assert changelog.Reader(path, from_sequence=11).read_all()["sequence"].to_pylist() == [11, 12]
    assert changelog.Reader(path, from_sequence=99).read_all().num_rows == 0


def test_only_given_key_groups(path: Path) -> None:
    reader = changelog.Reader(path, groups=range(2, 4), columns=["group", "sequence"])
    assert reader.read_all().to_pydict() == {
        "group": [2, 3, 2, 3, 3],
        "sequence": [3, 4, 7, 8, 12],
    }


def test_the_columns_asked_for_in_their_order(path: Path) -> None:
    reader = changelog.Reader(path, columns=["value", "op"])
    assert reader.schema.names == ["value", "op"]
    assert reader.read_all().column_names == ["value", "op"]


def test_append_many_takes_strings_views_chunks_and_groups(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with changelog.Writer(path) as log:
        log.append_many(changelog.DELETE, table=1, keys=pa.array(["a", "b"]))
        log.append_many(
            changelog.PUT,
            table=1,
            keys=pa.chunked_array([[b"c"], [b"d"]]),
            values=pa.array([b"0", b"1", b"2"], pa.large_binary())[1:],
            group=pa.array([7, 8], pa.uint16()),
        )
        last = log.append_many(
            changelog.MERGE,
            table=1,
            keys=pa.array([b"e"], pa.binary_view()),
            values=pa.array(["a string too long to be inlined in a view"], pa.string_view()),
            group=9,
        )
        assert last == 5
        assert log.append_many(changelog.DELETE, table=1, keys=pa.array([], pa.binary())) == 5
    table = changelog.Reader(path, columns=["key", "value", "group"]).read_all()
    assert table["key"].to_pylist() == [b"a", b"b", b"c", b"d", b"e"]
    assert table["value"].to_pylist()[:4] == [None, None, b"1", b"2"]
    assert table["group"].to_pylist() == [0, 0, 7, 8, 9]


def test_what_close_returns_names_the_content(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = changelog.Writer(path, first_sequence=100, version=b"v" * 16)
    log.append(changelog.PUT, table=1, key=b"k", value=b"v", group=5)
    segment = log.close(sync=False)
    assert segment.path == str(path)
    assert segment.length == path.stat().st_size
    assert (segment.first_sequence, segment.last_sequence, segment.records) == (100, 100, 1)
    assert (segment.version, segment.parent) == (b"v" * 16, None)
    assert segment.groups == range(5, 6)
    assert changelog.Reader(path, expected=segment).segment == segment


def test_who_wrote_it(path: Path) -> None:
    reader = changelog.Reader(path)
    assert reader.written_by == "tests"
    assert (reader.segment.version, reader.segment.parent) == (b"v" * 16, b"p" * 16)


def test_roll_goes_on_in_the_next_segment(tmp_path: Path) -> None:
    with changelog.Writer(tmp_path / "1", version=b"1" * 16) as log:
        log.append(changelog.PUT, table=1, key=b"a", value=b"")
        first = log.roll(tmp_path / "2", version=b"2" * 16, parent=b"1" * 16)
        assert log.append(changelog.PUT, table=1, key=b"b", value=b"") == 2
        assert log.path == str(tmp_path / "2")
    assert changelog.Reader(tmp_path / "1", expected=first).segment.last_sequence == 1
    second = changelog.Reader(tmp_path / "2").segment
    assert (second.first_sequence, second.parent) == (2, b"1" * 16)
