"""A base's upload may die at any moment: another process goes on, and repeats nothing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from flintstate.checkpoint.base import Manifest, restore_base
from flintstate.checkpoint.handle import Base, Groups, Handle, new_id, new_state_id
from flintstate.checkpoint.locking import FileLock
from flintstate.checkpoint.storage import LocalStorage
from flintstate.checkpoint.upload import Upload
from flintstate.errors import CorruptionError, NotFoundError

GROUPS = Groups(128, 0, 127)
FILES = {"000007.part": b"s" * 3_000_000, "000009.part": b"", "CURRENT": b"MANIFEST-000005\n"}


class Dying(LocalStorage):
    """A storage whose process dies when it has written so many files."""

    def __init__(self, root: Path, files: int) -> None:
        super().__init__(root)
        self.left = files

    @contextmanager
    def writable(self, name: str) -> Iterator[IO[bytes]]:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        with super().writable(name) as file:
            yield file


def begin(directory: Path, handle: Handle, files: dict[str, bytes]) -> Upload:
    (directory / "files").mkdir(parents=True)
    for name, content in files.items():
        (directory / "files" / name).write_bytes(content)
    return Upload.begin(directory, handle)


def uploaded(upload: Upload, storage: LocalStorage) -> Base:
    """The base, as the next commit adopts it."""
    assert upload.run(storage)
    base = upload.adopt(storage, upload.handle, upload.handle.batch + 1)
    assert base is not None
    return base


def first_handle() -> Handle:
    return Handle(
        state_id=new_state_id(), root="/r", groups=GROUPS, batch=4, version=new_id(4),
        last_sequence=40,
    )  # fmt: skip


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def again(directory: Path) -> Upload:
    """The upload that another process finds there."""
    (upload,) = Upload.all(directory.parent)
    return upload


@pytest.mark.parametrize("written", range(5))
def test_an_upload_that_died_is_finished_by_the_next(tmp_path: Path, written: int) -> None:
    handle = first_handle()
    upload = begin(tmp_path / "local" / "up", handle, FILES)
    dying = Dying(tmp_path / "root", written)
    if written < 4:  # a pin, and three files
        with pytest.raises(KeyboardInterrupt):
            upload.run(dying)
        assert not upload.done()
    storage = LocalStorage(tmp_path / "root")
    base = uploaded(again(tmp_path / "local" / "up"), storage)
    assert (base.version, base.last_sequence) == (handle.version, 40)
    assert len(list(storage.list(GROUPS.prefix + "file/"))) == len(FILES)
    restored = handle.with_base(storage, base, 5)
    restore_base(storage, restored, tmp_path / "restored")
    assert content(tmp_path / "restored") == FILES


def test_a_step_that_was_cut_short_is_repeated(tmp_path: Path) -> None:
    upload = begin(tmp_path / "up", first_handle(), FILES)
    with pytest.raises(KeyboardInterrupt):
        upload.run(Dying(tmp_path / "root", 3))
    steps = tmp_path / "up" / "steps"
    steps.write_bytes(steps.read_bytes()[:-7])
    assert upload.run(LocalStorage(tmp_path / "root"))


def test_two_processes_do_not_upload_the_same_base(tmp_path: Path) -> None:
    upload = begin(tmp_path / "up", first_handle(), FILES)
    with FileLock(tmp_path / "up" / "lock").held(0.0):
        assert not upload.run(LocalStorage(tmp_path / "root"))


def test_files_of_the_base_before_are_not_uploaded_again(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "root")
    handle = first_handle()
    first = uploaded(begin(tmp_path / "one", handle, FILES), storage)
    handle = handle.with_base(storage, first, 5)
    # A file number that came back after a rollback, with another content of the same size.
    changed = FILES | {"000007.part": b"t" * 3_000_000, "000011.part": b"new"}
    second = uploaded(begin(tmp_path / "two", handle, changed), storage)
    assert len(list(storage.list(GROUPS.prefix + "file/"))) == len(FILES) + 2
    restore_base(storage, handle.with_base(storage, second, 6), tmp_path / "restored")
    assert content(tmp_path / "restored") == changed
    assert Manifest.read(storage, GROUPS, second).previous == handle


def test_an_upload_is_of_use_on_its_chain_and_over_its_base_alone(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "root")
    handle = first_handle()
    upload = begin(tmp_path / "one", handle, FILES)
    assert upload.continues(handle, {handle.version, new_id(5)})
    assert not upload.continues(handle, {new_id(4)})
    # Files that it shares with the base before may be deleted once another one is committed.
    other = uploaded(begin(tmp_path / "two", handle, FILES), storage)
    assert not upload.continues(handle.with_base(storage, other, 5), {handle.version})


def test_a_damaged_or_missing_file_is_refused_by_name_and_leaves_nothing(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "root")
    base = uploaded(begin(tmp_path / "up", first_handle(), FILES), storage)
    handle = first_handle().with_base(storage, base, 5)
    stored = Manifest.read(storage, GROUPS, base).files[0]
    path = tmp_path / "root" / GROUPS.file_name(stored.object)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:50] + b"?" + whole[51:], b""):
        path.write_bytes(damaged)
        with pytest.raises(CorruptionError, match=stored.object):
            restore_base(storage, handle, tmp_path / "restored")
    path.unlink()
    with pytest.raises(NotFoundError, match=stored.object):
        restore_base(storage, handle, tmp_path / "restored")
    assert not list(tmp_path.glob("restored*"))


def test_a_manifest_that_names_a_path_is_refused(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "root")
    base = uploaded(begin(tmp_path / "up", first_handle(), {"CURRENT": b"x"}), storage)
    manifest = Manifest.read(storage, GROUPS, base)
    evil = json.loads(json.dumps(vars(manifest.files[0]) | {"name": "../escaped"}))
    bad = Manifest(manifest.version, 0, (type(manifest.files[0])(**evil),), manifest.previous)
    handle = first_handle().with_base(storage, bad.publish(storage, GROUPS, 5), 5)
    with pytest.raises(CorruptionError, match="escaped"):
        restore_base(storage, handle, tmp_path / "restored")
    assert not (tmp_path / "escaped").exists()
