from pathlib import Path

import pytest

from flintstate.checkpoint.handle import (
    EMPTY_VERSION,
    Base,
    Groups,
    Handle,
    ObjectName,
    Reference,
    Segment,
    epoch_of,
    new_id,
    new_state_id,
)
from flintstate.checkpoint.storage import LocalStorage
from flintstate.errors import CorruptionError, InvalidError

GROUPS = Groups(128, 0, 63)


def handle(root: str = "/data/state") -> Handle:
    return Handle(
        state_id=new_state_id(), root=root, groups=GROUPS, batch=-1, version=EMPTY_VERSION,
        last_sequence=0,
    )  # fmt: skip


def grown(storage: LocalStorage, commits: int) -> tuple[Handle, list[Segment]]:
    current, segments = handle(), []
    for i in range(commits):
        segments.append(Segment(new_id(i), 100 + i, i, i * 10))
        current = current.with_segment(storage, segments[-1], batch=i)
    return current, segments


def test_a_handle_reads_as_it_was_written(tmp_path: Path) -> None:
    current, _ = grown(LocalStorage(tmp_path), 15)
    base = Base(Reference(new_id(0), 5, 6), new_id(0), 7, 8)
    for one in (handle(), current, current.with_base(LocalStorage(tmp_path), base, 20)):
        assert Handle.from_bytes(one.to_bytes()) == one


def test_the_largest_handle_fits_in_a_kilobyte(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    current = handle("/" + "r" * 383)
    current = current.with_base(storage, Base(Reference(new_id(0), 5, 6), b"b" * 16, 7, 8), 0)
    for i in range(20):
        current = current.with_segment(storage, Segment(new_id(i), 1, 2, 3), i)
    assert current.index is not None
    assert len(current.recent) == 10
    assert len(current.to_bytes()) <= 1024


def test_a_longer_root_is_refused() -> None:
    with pytest.raises(InvalidError, match="384"):
        handle("/" + "r" * 384).to_bytes()


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    data = grown(LocalStorage(tmp_path), 3)[0].to_bytes()
    for at in range(len(data)):
        for bit in range(8):
            bad = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            with pytest.raises((CorruptionError, InvalidError)):
                Handle.from_bytes(bad)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    data = grown(LocalStorage(tmp_path), 3)[0].to_bytes()
    for size in range(len(data)):
        with pytest.raises(CorruptionError):
            Handle.from_bytes(data[:size])


def test_segments_beyond_ten_are_found_through_the_index(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    for commits in (0, 1, 10, 11, 20, 21, 35):
        current, segments = grown(storage, commits)
        assert current.segments(storage) == segments


def test_a_new_base_drops_the_segments_up_to_its_version(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    current, segments = grown(storage, 25)
    for at in (0, 9, 10, 20, 24):
        base = Base(Reference(new_id(0), 1, 2), segments[at].version, 3, 4)
        rebased = current.with_base(storage, base, 99)
        assert rebased.segments(storage) == segments[at + 1 :]
        assert (rebased.version, rebased.batch) == (current.version, 99)


def test_a_damaged_index_is_refused_by_name(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    current, _ = grown(storage, 11)
    assert current.index is not None
    path = tmp_path / GROUPS.name("index", current.index.id)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptionError, match=current.index.id.hex()):
        current.segments(storage)


def test_an_id_tells_the_epoch_of_its_attempt() -> None:
    for epoch in (0, 7, 300, 1 << 40):
        assert epoch_of(new_id(epoch)) == epoch
        assert new_id(epoch) != new_id(epoch)


def test_the_name_of_an_object_tells_what_it_is() -> None:
    one = new_id(7)
    for name in (GROUPS.name("log", one), GROUPS.file_name(f"{one.hex()}-0123456789abcdef")):
        parsed = ObjectName.parse(name)
        assert parsed is not None
        assert (parsed.prefix, parsed.id, parsed.epoch) == (GROUPS.prefix, one, 7)
    for strange in ("claim", GROUPS.name("log", one) + "x", GROUPS.name("tmp", one), ".writing-0"):
        assert ObjectName.parse(strange) is None
