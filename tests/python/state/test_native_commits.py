"""Commits of the native backend: segments, versions, what a replay refuses, what a kill leaves."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from flintstate import _core
from flintstate.errors import CorruptionError, FlintError, InvalidError

KEY = pa.schema([("user", pa.int64())])


def opened(directory: Path, *, flush_on_close: bool = True) -> _core.RocksBackend:
    return _core.RocksBackend.open(str(directory), KEY, 128, 0, 127, flush_on_close=flush_on_close)


def version(number: int) -> bytes:
    return number.to_bytes(16, "big")


def filled(home: Path, commits: int) -> list[_core.SegmentInfo]:
    """Commits 1, 2, ...: each sets all of 100 users to its number and appends it to their lists."""
    backend = opened(home / "live")
    last, words = backend.value_state("last", pa.int64()), backend.list_state("all", pa.int64())
    segments = []
    for number in range(1, commits + 1):
        for user in range(100):
            backend.set_key(user)
            last.update(number)
            words.add(number)
        written = backend.commit(
            str(home / f"{number}.log"), version=version(number), parent=version(number - 1)
        )
        assert written is not None
        segments.append(written)
    backend.close()
    return segments


def replayed(backend: _core.RocksBackend, segment: _core.SegmentInfo) -> None:
    backend.replay(
        segment.path,
        size=segment.size,
        checksum=segment.checksum,
        last_sequence=segment.last_sequence,
    )


def check(backend: _core.RocksBackend, commits: int) -> None:
    last, words = backend.value_state("last", pa.int64()), backend.list_state("all", pa.int64())
    for user in range(100):
        backend.set_key(user)
        assert last.value() == commits
        assert words.get() == list(range(1, commits + 1))


def test_what_is_logged_is_as_little_as_it_can_be(tmp_path: Path) -> None:
    backend = opened(tmp_path / "live")
    words = backend.list_state("l", pa.string())
    seen = backend.map_state("m", pa.int64(), pa.string())
    total = backend.reducing_state("r", pa.int64(), "sum")
    longest = backend.reducing_state("p", pa.string(), lambda a, b: max(a, b, key=len))
    events = backend.sorted_state("s", pa.int64(), pa.string())
    numbers = iter(range(1, 99))

    def logged(change: Callable[[], None]) -> tuple[int, int]:
        """How many records, and about how many bytes, besides those of an empty segment."""
        change()
        number = next(numbers)
        segment = backend.commit(
            str(tmp_path / f"{number}.log"), version=version(number), parent=version(number - 1),
            level=-1,
        )  # fmt: skip
        assert segment is not None
        return segment.records, segment.size

    def fill() -> None:
        words.add_all([f"word {i}" for i in range(1000)])
        seen.put_all((i, f"entry {i}") for i in range(1000))
        total.add(1)
        longest.add("x" * 1000)
        for i in range(1000):
            events.add(i, f"event {i}")

    backend.set_key(1)
    assert logged(fill)[0] >= 3002
    changes: list[Callable[[], None]] = [
        lambda: words.add("one"),
        lambda: seen.put(5, "one"),
        lambda: seen.remove(6),
        lambda: total.add(1),
        lambda: events.add(5, "one"),
    ]
    for change in changes:
        records, size = logged(change)
        assert records <= 2  # the change, and for elements the number of the next one
        assert size < 400

    def add_often() -> None:
        for _ in range(50):
            longest.add("yy")

    # The accumulator that the Python function arrived at, once, whatever was added.
    assert logged(add_often)[0] == 1
    backend.close()


def test_segments_bring_another_directory_to_the_same_version(tmp_path: Path) -> None:
    segments = filled(tmp_path, 3)
    copy = opened(tmp_path / "copy")
    for segment in segments:
        replayed(copy, segment)
    assert copy.version == version(3)
    assert copy.last_sequence == segments[-1].last_sequence
    check(copy, 3)


def test_a_segment_that_does_not_follow_is_refused(tmp_path: Path) -> None:
    segments = filled(tmp_path, 2)
    copy = opened(tmp_path / "copy")
    with pytest.raises(InvalidError, match="stands at none"):
        replayed(copy, segments[1])
    replayed(copy, segments[0])
    with pytest.raises(InvalidError, match="follows version none"):
        replayed(copy, segments[0])
    replayed(copy, segments[1])
    check(copy, 2)


@pytest.mark.parametrize("cut", [1, 64, 200])
def test_a_torn_segment_is_refused_and_changes_nothing(tmp_path: Path, cut: int) -> None:
    (segment,) = filled(tmp_path, 1)
    os.truncate(segment.path, segment.size - cut)
    copy = opened(tmp_path / "copy")
    with pytest.raises(CorruptionError, match=r"1\.log"):
        copy.replay(segment.path)
    assert copy.version == bytes(16)


def test_a_segment_other_than_its_handle_says_is_refused(tmp_path: Path) -> None:
    first, second = filled(tmp_path, 2)
    os.replace(second.path, first.path)
    with pytest.raises(FlintError):
        replayed(opened(tmp_path / "copy"), first)


def test_files_without_a_flush_are_brought_forward_by_replay(tmp_path: Path) -> None:
    segments = filled(tmp_path, 2)
    live = opened(tmp_path / "other", flush_on_close=False)
    replayed(live, segments[0])
    live.checkpoint(str(tmp_path / "undo"))
    replayed(live, segments[1])
    live.close()
    again = opened(tmp_path / "other")
    assert again.version == version(1)
    replayed(again, segments[1])
    check(again, 2)
    undone = opened(tmp_path / "undo")
    assert undone.version == version(1)


def test_what_is_not_committed_is_gone_after_close(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    backend = opened(tmp_path / "live")
    backend.set_key(5)
    backend.value_state("last", pa.int64()).update(99)
    backend.close()
    again = opened(tmp_path / "live")
    assert again.version == version(1)
    check(again, 1)


PROGRAM = """
import os, signal, sys
import pyarrow as pa
from flintstate import _core
home = sys.argv[1]
backend = _core.RocksBackend.open(home + "/live", pa.schema([("user", pa.int64())]), 128, 0, 127,
                                  memory_bytes=8 << 20)
last, words = backend.value_state("last", pa.int64()), backend.list_state("all", pa.int64())
for number in range(1, 1000):
    for user in range(100):
        backend.set_key(user)
        last.update(number)
        words.add(number)
    backend.commit(f"{home}/{number}.log", version=number.to_bytes(16, "big"),
                   parent=(number - 1).to_bytes(16, "big"))
    print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 7, 23])
def test_a_killed_process_leaves_one_version_that_replay_brings_forward(
    tmp_path: Path, after: int
) -> None:
    program = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) == after:
                os.kill(child.pid, signal.SIGKILL)
                break
    backend = opened(tmp_path / "live")
    assert backend.version is not None
    stands = int.from_bytes(backend.version, "big")
    for number in range(stands + 1, after + 1):
        backend.replay(str(tmp_path / f"{number}.log"))
    check(backend, max(stands, after))
