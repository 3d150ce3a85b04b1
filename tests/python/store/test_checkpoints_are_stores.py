from __future__ import annotations

import os
from pathlib import Path

import pytest

import flintstate as fs


@pytest.mark.parametrize("sync", [True, False])
def test_of_their_own(store: fs.Store, table: fs.Table, rows, tmp_path: Path, sync: bool) -> None:
    table.put(rows(range(100)))
    store.checkpoint(tmp_path / "copies" / "one", sync_linked_files=sync)
    table.delete_range()
    assert not (tmp_path / "copies" / "one.partial").exists()
    with fs.Store.open(tmp_path / "copies" / "one") as copy:
        assert len(copy.table("rows")) == 100
        copy.table("rows").put(rows([1000]))
    assert len(table) == 0


def test_share_their_files_with_the_store(store: fs.Store, table, rows, tmp_path: Path) -> None:
    table.put(rows(range(10_000)))
    store.checkpoint(tmp_path / "copy")
    files = list((tmp_path / "copy").glob("*.sst"))
    assert files
    assert all(file.stat().st_nlink == 2 for file in files)


def test_are_copied_where_links_cannot_go(store: fs.Store, table, rows, tmp_path: Path) -> None:
    other = Path("/dev/shm")
    assert other.stat().st_dev != tmp_path.stat().st_dev
    copy = other / f"flint-checkpoint-{os.getpid()}"
    table.put(rows(range(10_000)))
    try:
        store.checkpoint(copy)
        with fs.Store.open(copy, read_only=True) as opened:
            assert len(opened.table("rows")) == 10_000
    finally:
        for file in copy.iterdir():
            file.unlink()
        copy.rmdir()


def test_never_overwrite(store: fs.Store, table, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(fs.InvalidError, match="exists already"):
        store.checkpoint(tmp_path / "there")
