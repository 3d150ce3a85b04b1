"""A path that a user gives is one of the local file system, or refused with what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import flintstate as fs
from flintstate import InvalidError, changelog
from flintstate.checkpoint.storage import open_storage
from flintstate.paths import absolute_path, local_path, path_text

OTHERS = [
    "hdfs:/x", "hdfs://name/x", "dbfs:/x", "S3A:/b", "s3:/b", "s3://b", "wasbs://c@a/x", "C:\\x",
    "abfss:x", "s3:b", Path("s3://bucket/x"),
]  # fmt: skip
NO_PATHS: list[Any] = ["", " ", b"/x", None, 5, "/a\0b", "~no-such-user/x"]
BAD_FILES = ["file:", "file:x", "file://host/x", "file://", "file:////x", "file:///a%20b"]


DOORS: dict[str, Callable[[Any], Any]] = {
    "storage": open_storage,
    "store": fs.Store.open,
    "heap": lambda path: fs.KeyedBackend.open(path, kind="heap", key=pa.string()),
    "rocksdb": lambda path: fs.KeyedBackend.open(path, kind="rocksdb", key=pa.string()),
    "writer": changelog.Writer,
    "reader": changelog.Reader,
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_made_for_what_is_no_path_here(door: str, here: Path) -> None:
    for path in [*OTHERS, *NO_PATHS, *BAD_FILES]:
        if path is None and door == "heap":
            continue  # which keeps nothing anywhere
        with pytest.raises(InvalidError) as refused:
            DOORS[door](path)
        assert str(refused.value).count("\n") == 0
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("path", OTHERS, ids=str)
def test_a_scheme_that_is_not_known_is_named(path: Any) -> None:
    scheme = str(path).partition(":")[0]
    with pytest.raises(InvalidError, match=f"state=.*no storage for '{scheme}:'.*mounted"):
        local_path(path, "state")


def test_a_file_whose_name_has_a_colon_is_reached_from_its_directory(here: Path) -> None:
    assert local_path("./s3:b", "path") == "./s3:b"
    assert local_path("2026-01-01T12:00", "path") == "2026-01-01T12:00"
    with fs.Store.open("./run:1") as store:
        assert store.path == "./run:1"
    assert (here / "run:1").is_dir()


@pytest.mark.parametrize(
    "path", ["file:/a b", "file:///a b", "FILE:///a b", "file://localhost/a b"]
)
def test_a_file_scheme_leads_to_the_path_behind_it(path: str) -> None:
    assert local_path(path, "path") == "/a b"


def test_the_percent_signs_of_an_address_are_not_guessed_at() -> None:
    with pytest.raises(InvalidError, match="without 'file:'"):
        local_path("file:///a%20b", "path")
    assert local_path("/a%20b", "path") == "/a%20b"


def test_another_machines_file_is_not_taken_for_one_of_this() -> None:
    with pytest.raises(InvalidError, match="of this machine"):
        local_path("file://host/x", "path")


def test_a_tilde_is_the_home_directory(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    assert local_path("~/x", "path") == str(here / "x")
    with fs.Store.open("~/store"):
        assert (here / "store").is_dir()
    assert not (here / "~").exists()


def test_what_goes_to_other_processes_does_not_depend_on_the_working_directory(here: Path) -> None:
    assert absolute_path("state", "state") == str(here / "state")
    assert open_storage("state").root == str(here / "state")


def test_a_name_that_is_no_utf8_is_a_path_like_any_other(here: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    with fs.Store.open(name), changelog.Writer(f"{name}.log"):
        assert Path(name).is_dir()
    with fs.KeyedBackend.open(f"{name}-state", key=pa.string()):
        assert Path(f"{name}-state").is_dir()


def test_sparks_own_checkpoint_may_be_anywhere_that_spark_reaches() -> None:
    assert path_text("hdfs://name/checkpoint", "checkpoint") == "hdfs://name/checkpoint"
    for path in NO_PATHS[:-1]:
        with pytest.raises(InvalidError, match="checkpoint="):
            path_text(path, "checkpoint")


@pytest.mark.parametrize("path", ["s3:/x", "", b"/x", "file://host/x"])
def test_what_goes_on_elsewhere_goes_to_a_path_too(path: Any, here: Path) -> None:
    with fs.Store.open("store") as store, pytest.raises(InvalidError, match="path="):
        store.checkpoint(path)
    with changelog.Writer("1.log") as log:
        with pytest.raises(InvalidError, match="path="):
            log.roll(path)
        log.append(changelog.PUT, table=1, key=b"k", value=b"v")
    assert sorted(os.listdir(here)) == ["1.log", "store"]
