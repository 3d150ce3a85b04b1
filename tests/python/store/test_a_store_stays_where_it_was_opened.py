from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs
from store_tables import KEY, VALUE


def test_a_relative_path_means_the_directory_that_it_named_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with fs.Store.open("store") as store:
        table = store.table("rows", key=KEY, value=VALUE)
        monkeypatch.chdir(tmp_path / "there")
        table.ingest(rows(range(1000)))
        table.put(rows(range(1000, 2000)))
        table.compact()
    assert not list((tmp_path / "there").iterdir())
    with fs.Store.open(tmp_path / "here/store") as again:
        assert len(again.table("rows")) == 2000


def test_two_relative_paths_of_one_name_are_two_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with fs.KeyedBackend.open("state", kind="rocksdb", key=pa.string()) as here:
        monkeypatch.chdir(tmp_path / "there")
        with fs.KeyedBackend.open("state", kind="rocksdb", key=pa.string()) as there:
            for backend in (here, there):
                backend.set_key("ada")
                count = backend.value_state("n", pa.int64(), default=0)
                count.update(count.value() + 1)
                assert count.value() == 1
