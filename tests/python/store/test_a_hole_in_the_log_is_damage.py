"""A log that breaks off is how a death looks in the last log, and damage in every other one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs

WRITER = """
import os, sys
import pyarrow as pa, flintstate as fs
store = fs.Store.open(sys.argv[1], memory="8MB")
key = pa.schema([("k", pa.int64())])
seldom = store.table("seldom", key=key, value=pa.schema([("v", pa.int64())]))
often = store.table("often", key=key, value=pa.schema([("v", pa.binary())]))
for i in range(60):
    seldom.put(pa.table({"k": [i], "v": [i]}))  # keeps every log: it is never flushed
    often.put(pa.table({"k": range(i * 100, i * 100 + 100), "v": [os.urandom(1000)] * 100}))
os._exit(0)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("killed") / "store"
    subprocess.run([sys.executable, "-c", WRITER, str(path)], check=True)
    return path


@pytest.fixture
def store(killed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed, tmp_path / "store"))


def logs(store: Path) -> list[Path]:
    found = sorted(store.glob("*.log"))
    assert len(found) > 3
    return found


def cut(log: Path, bytes_off: int) -> None:
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - bytes_off)


def seldom(store: Path, *, read_only: bool = False) -> list[object]:
    with fs.Store.open(store, read_only=read_only) as opened:
        table = opened.table(
            "seldom", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.int64())])
        )
        return list(table.keys())


def test_logs_as_they_were_left_are_all_read(store: Path) -> None:
    assert seldom(store) == list(range(60))


def test_the_last_log_may_break_off(store: Path) -> None:
    cut(logs(store)[-1], 100)
    found = seldom(store)
    assert found in (list(range(60)), list(range(59)))


@pytest.mark.parametrize("which", [0, 1, -2])
@pytest.mark.parametrize("bytes_off", [3, 5000, 150_000])
@pytest.mark.parametrize("read_only", [False, True])
def test_an_earlier_log_that_breaks_off_is_named(
    store: Path, which: int, bytes_off: int, read_only: bool
) -> None:
    log = logs(store)[which]
    cut(log, bytes_off)
    before = {path.name: path.stat().st_size for path in logs(store)}
    for _ in range(2):
        with pytest.raises(fs.CorruptionError, match=f"{log.name} breaks off.*checkpoint"):
            seldom(store, read_only=read_only)
    assert {path.name: path.stat().st_size for path in logs(store)} == before


def test_an_earlier_log_without_a_byte_is_named(store: Path) -> None:
    log = logs(store)[1]
    log.write_bytes(b"")
    with pytest.raises(fs.CorruptionError, match=f"{log.name} breaks off"):
        seldom(store)


def test_files_that_were_ingested_between_are_no_hole(tmp_path: Path) -> None:
    program = WRITER.replace(
        "    often.put", "    often.ingest(pa.table({'k': [i * 100], 'v': [b'']}))\n    often.put"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "store")], check=True)
    assert seldom(tmp_path / "store") == list(range(60))
