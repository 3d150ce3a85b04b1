"""A notebook's cell is run twice: the store that is open is there to be had."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

import flintstate as fs
from store_tables import KEY, VALUE

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_opening_it_again_says_how_to_get_it(path: Path, store: fs.Store) -> None:
    with pytest.raises(fs.BusyError, match=r"Store\.opened\('.*store'\) gives.*close\(\)"):
        fs.Store.open(path)
    assert fs.Store.opened(path) is store


def test_by_another_way_to_the_same_directory(
    tmp_path: Path, path: Path, store: fs.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(path)
    assert fs.Store.opened("store") is fs.Store.opened("link") is store


def test_while_only_something_of_it_is_held(path: Path) -> None:
    table = fs.Store.open(path).table("rows", key=KEY, value=VALUE)
    gc.collect()
    scan = table.scan()
    del table
    gc.collect()
    fs.Store.opened(path).close()
    with pytest.raises(fs.ClosedError):
        scan.to_table()
    fs.Store.open(path).close()


def test_a_store_that_nobody_holds_is_closed(path: Path) -> None:
    fs.Store.open(path)
    gc.collect()
    fs.Store.open(path).close()


def test_none_is_open_there(tmp_path: Path, path: Path, store: fs.Store) -> None:
    with pytest.raises(fs.NotFoundError, match="other: this process has no store open"):
        fs.Store.opened(tmp_path / "other")
    store.close()
    with pytest.raises(fs.NotFoundError, match="no store open"):
        fs.Store.opened(path)


def test_a_reader_is_not_the_one(path: Path) -> None:
    fs.Store.open(path).close()
    with fs.Store.open(path, read_only=True), pytest.raises(fs.NotFoundError):
        fs.Store.opened(path)


def test_a_forked_child_is_not_told_of_its_parents(path: Path, store: fs.Store) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            fs.Store.open(path)
        except fs.BusyError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reading, 1 << 12).decode()
    assert f"in process {os.getpid()}" in said
    assert "Store.opened" not in said
    assert fs.Store.opened(path) is store
