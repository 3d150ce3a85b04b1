import errno
import os
from pathlib import Path

import pytest

from flintstate.checkpoint.storage import LocalStorage, open_storage
from flintstate.errors import InvalidError, NotFoundError, StorageError


def test_an_object_reads_as_it_was_published(tmp_path: Path) -> None:
    storage = open_storage(tmp_path)
    storage.publish("a/b", b"content")
    assert storage.read("a/b") == b"content"
    assert [(o.name, o.size) for o in storage.list("")] == [("a/b", 7)]


def test_a_name_is_written_once(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.publish("name", b"first")
    with pytest.raises(InvalidError, match=r"name.*written once"):
        storage.publish("name", b"second")
    assert storage.read("name") == b"first"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)

    def fail() -> None:
        with storage.writable("name") as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(storage.list("")) == []
    assert list(tmp_path.iterdir()) == []


def test_a_missing_object_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="gone/object"):
        LocalStorage(tmp_path).read("gone/object")


def test_a_name_can_not_leave_the_root(tmp_path: Path) -> None:
    for name in ("../x", "a/../../x", "/x", ""):
        with pytest.raises(InvalidError, match="no object's name"):
            LocalStorage(tmp_path / "root").publish(name, b"")


def test_a_root_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        LocalStorage(tmp_path / "file").publish("a/b", b"")


def test_an_unknown_scheme_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="ftp"):
        open_storage("ftp://host/path")


def test_a_published_file_is_moved_or_copied_where_it_can_not_be_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"x" * 3_000_000
    source = tmp_path / "source"
    storage = LocalStorage(tmp_path / "root")

    def publish(name: str) -> None:
        source.write_bytes(content)
        storage.publish_file(name, str(source))
        assert not source.exists()

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    publish("linked")
    monkeypatch.setattr("os.link", refuse)
    publish("copied")
    assert storage.read("linked") == storage.read("copied") == content
    with pytest.raises(InvalidError, match="exists already; a name is written once"):
        publish("copied")


def test_the_names_of_new_directories_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = set[int](), os.fsync

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr("os.fsync", noted)
    storage = LocalStorage(tmp_path / "new" / "root")
    storage.publish("a/b/object", b"content")
    staged = Path(storage.staging_path("c/d/object"))
    staged.write_bytes(b"content")
    storage.publish_file("c/d/object", str(staged))
    everything = [tmp_path, *(tmp_path / "new").rglob("*"), tmp_path / "new"]
    assert {path.stat().st_ino for path in everything} <= synced


def test_what_is_staged_is_no_object_yet(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    staged = Path(storage.staging_path("log/object"))
    staged.write_bytes(b"con")
    with pytest.raises(NotFoundError):
        storage.read("log/object")
    staged.write_bytes(b"content")
    storage.publish_file("log/object", str(staged))
    assert [(found.name, found.size) for found in storage.list("")] == [("log/object", 7)]


def test_a_directory_that_can_not_be_listed_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    assert list(storage.list("groups/")) == []
    (tmp_path / "groups").symlink_to("groups")
    with pytest.raises(StorageError, match="groups"):
        list(storage.list("groups/"))


def test_a_file_that_could_not_be_synced_is_not_copied_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source").write_bytes(b"what the disk may have lost")
    storage = LocalStorage(tmp_path / "root")
    storage.publish("log/other", b"")

    def fail_once(descriptor: int) -> None:
        monkeypatch.undo()
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail_once)
    with pytest.raises(StorageError, match="Input/output error"):
        storage.publish_file("log/name", str(tmp_path / "source"))
    assert [info.name for info in storage.list("")] == ["log/other"]
