"""Retention over a made-up history of commits and bases, against the set that handles reach."""

from dataclasses import replace
from pathlib import Path

import pytest

from flintstate.checkpoint.base import Manifest
from flintstate.checkpoint.handle import Groups, Handle, Segment, new_id
from flintstate.checkpoint.retention import collect_orphans, delete_superseded
from flintstate.checkpoint.storage import LocalStorage
from flintstate.checkpoint.upload import Upload

GROUPS = Groups(128, 0, 127)


class History:
    """A bucket that commits each batch, and takes a base now and then, adopted a while later."""

    def __init__(self, home: Path, *, base_every: int, adopted_after: int) -> None:
        self.home = home
        self.storage = LocalStorage(home / "root")
        self.base_every, self.adopted_after = base_every, adopted_after
        self.handles: list[Handle] = []
        self.uploads: dict[int, Upload] = {}

    def run(self, batches: int) -> None:
        handle = Handle(
            state_id=bytes(16), root="/r", groups=GROUPS, batch=-1, version=bytes(16),
            last_sequence=0,
        ) if not self.handles else self.handles[-1]  # fmt: skip
        for batch in range(len(self.handles), len(self.handles) + batches):
            handle = self.commit(handle, batch)
            if batch - self.adopted_after in self.uploads:
                handle = self.adopt(handle, batch, self.uploads[batch - self.adopted_after])
            if batch - self.adopted_after - 1 in self.uploads:  # adopted, and committed
                self.uploads[batch - self.adopted_after - 1].remove(self.storage)
            self.handles.append(handle)
            if batch % self.base_every == 0:
                self.uploads[batch] = self.upload(handle, batch)

    def commit(self, handle: Handle, batch: int) -> Handle:
        version = new_id(batch)
        self.storage.publish(GROUPS.name("log", version), b"segment")
        return handle.with_segment(self.storage, Segment(version, 7, 0, batch), batch)

    def upload(self, handle: Handle, batch: int) -> Upload:
        directory = self.home / f"upload-{batch}"
        (directory / "files").mkdir(parents=True)
        (directory / "files" / "old.part").write_bytes(b"never changes")
        (directory / "files" / "new.part").write_bytes(b"%d" % batch)
        upload = Upload.begin(directory, handle)
        assert upload.run(self.storage)
        return upload

    def adopt(self, handle: Handle, batch: int, upload: Upload) -> Handle:
        base = upload.adopt(self.storage, handle, batch)
        assert base is not None
        return handle.with_base(self.storage, base, batch)

    def missing(self, handle: Handle) -> list[str]:
        """What a restore of the handle would not find."""
        there = {found.name for found in self.storage.list("")}
        names = {GROUPS.name("log", s.version) for s in handle.segments(self.storage)}
        if handle.base is not None:
            manifest = Manifest.read(self.storage, GROUPS, handle.base)
            names |= manifest.file_names(GROUPS)
        return sorted(names - there)


@pytest.mark.parametrize(("base_every", "adopted_after"), [(4, 1), (7, 5), (12, 11)])
@pytest.mark.parametrize("retained", [3, 12])
def test_what_retained_handles_name_stays(
    tmp_path: Path, base_every: int, adopted_after: int, retained: int
) -> None:
    history = History(tmp_path, base_every=base_every, adopted_after=adopted_after)
    for _ in range(10):
        history.run(4)
        delete_superseded(history.storage, history.handles[-1], retained)
        collect_orphans(
            history.storage, history.handles[-1:], last_batch=len(history.handles) - 1,
            epoch_seen=len(history.handles) - 1,
            batches_retained=retained, age_min_s=3600,
        )  # fmt: skip
        for handle in history.handles[-retained - 1 :]:
            assert history.missing(handle) == []


def test_a_long_history_does_not_pile_up(tmp_path: Path) -> None:
    history = History(tmp_path, base_every=10, adopted_after=2)
    counts = []
    for _ in range(8):
        history.run(25)
        delete_superseded(history.storage, history.handles[-1], 20)
        counts.append(len(list(history.storage.list(""))))
    assert max(counts[3:]) <= counts[2] + 10


def test_bases_adopted_by_batches_without_changes_are_told_apart(tmp_path: Path) -> None:
    history = History(tmp_path, base_every=1000, adopted_after=1000)
    history.run(3)
    before = history.handles[-1]
    after = history.adopt(before, 50, history.upload(before, 2))
    delete_superseded(history.storage, after, 20)
    assert history.missing(before) == []


def test_orphans_go_when_they_are_old_enough(tmp_path: Path) -> None:
    history = History(tmp_path, base_every=4, adopted_after=1)
    history.run(25)
    lost = new_id(24)
    history.storage.publish(GROUPS.name("log", lost), b"an attempt that lost")
    last = history.handles[-1]

    def collect(age_min_s: float) -> list[str]:
        return collect_orphans(
            history.storage,
            [last],
            last_batch=24,
            epoch_seen=24,
            batches_retained=100,
            age_min_s=age_min_s,
        )

    assert collect(60.0) == []
    orphans = collect(0.0)
    assert GROUPS.name("log", lost) in orphans
    # Uploaded, and to be adopted yet: batch 24's base.
    assert history.missing(history.adopt(last, 25, history.uploads[24])) == []
    assert collect(0.0) == []
    for handle in history.handles:
        assert history.missing(handle) == []


def test_a_handle_of_another_root_reads_the_same(tmp_path: Path) -> None:
    history = History(tmp_path, base_every=4, adopted_after=1)
    history.run(12)
    moved = tmp_path / "moved"
    (tmp_path / "root").rename(moved)
    history.storage = LocalStorage(moved)
    assert history.missing(replace(history.handles[-1], root="/elsewhere")) == []
