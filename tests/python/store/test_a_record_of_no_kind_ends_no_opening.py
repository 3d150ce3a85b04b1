"""A record of a kind that is never written, in a log or manifest, is damage: not read for ever."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import flintstate as fs

WRITER = """
import os, sys
import pyarrow as pa, flintstate as fs
store = fs.Store.open(sys.argv[1])
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.int64())]))
for i in range(4):
    table.put(pa.table({"k": [i], "v": [i]}))
os._exit(0)
"""
OPENER = """
import sys, flintstate as fs
try:
    store = fs.Store.open(sys.argv[1], create=False, read_only=sys.argv[2] == "True")
    print(len(store.table("t")))
except fs.CorruptionError as error:
    print(error)
"""
TYPE_AT, HEADER = 6, 7


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("killed") / "store"
    subprocess.run([sys.executable, "-c", WRITER, str(path)], check=True)
    return path


def with_second_record_of_kind(file: Path, kind: int) -> None:
    data = bytearray(file.read_bytes())
    second = HEADER + struct.unpack_from("<H", data, 4)[0]
    data[second + TYPE_AT] = kind
    file.write_bytes(data)


def opened(store: Path, *, read_only: bool) -> str:
    command = [sys.executable, "-c", OPENER, os.fspath(store), str(read_only)]
    return subprocess.run(command, timeout=60, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("pattern", ["*.log", "MANIFEST-*"])
@pytest.mark.parametrize("read_only", [False, True])
def test_it_is_refused_by_the_files_name(
    killed: Path, tmp_path: Path, pattern: str, read_only: bool
) -> None:
    store = Path(shutil.copytree(killed, tmp_path / "store"))
    file = max(store.glob(pattern))
    with_second_record_of_kind(file, 5)
    said = opened(store, read_only=read_only)
    assert file.name in said
    assert "of a kind that is never written" in said


def test_whole_logs_are_opened(killed: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(killed, tmp_path / "store"))
    with fs.Store.open(store, create=False) as whole:
        assert len(whole.table("t")) == 4
