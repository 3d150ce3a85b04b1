"""Segments that earlier versions wrote, kept as they were, are read as they were meant."""

from pathlib import Path

from flintstate import changelog

FIXTURES = Path(__file__).parents[2] / "fixtures/changelog"


def test_format_1_closed() -> None:
    reader = changelog.Reader(FIXTURES / "format1_closed.log", columns=["group", "key", "value"])
    assert not reader.torn
    segment = reader.segment
    assert (segment.version, segment.parent) == (b"version of these", b"version before..")
    assert (segment.first_sequence, segment.last_sequence) == (1000, 1499)
    table = reader.read_all()
    assert table["group"].to_pylist() == [n % 3 for n in range(500)]
    assert table["key"].to_pylist() == [b"key %d" % n for n in range(500)]
    assert table["value"].to_pylist() == [b"value %d" % (n // 10) for n in range(500)]


def test_format_1_torn() -> None:
    reader = changelog.Reader(FIXTURES / "format1_torn.log")
    assert reader.torn
    operations = list(changelog.Operation)
    assert reader.read_all()["op"].to_pylist() == [operations[n % 5] for n in range(20)]
