from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs
from store_tables import KEY, VALUE


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(path: Path) -> Iterator[fs.Store]:
    with fs.Store.open(path) as opened:
        yield opened


@pytest.fixture
def table(store: fs.Store) -> fs.Table:
    return store.table("rows", key=KEY, value=VALUE)


@pytest.fixture
def rows() -> Callable[..., pa.Table]:
    """Makes rows of `table`: rows(range(3)), or rows([1, 2], text=["a", "b"])."""

    def make(ids: object, text: object = None, n: object = None) -> pa.Table:
        ids = list(ids)
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "text": pa.array([f"t{i}" for i in ids] if text is None else text, pa.string()),
                "n": pa.array(ids if n is None else n, pa.int64()),
            }
        )

    return make
