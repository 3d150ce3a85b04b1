from __future__ import annotations

import pyarrow as pa
import pytest

import flintstate as fs
from store_tables import KEY, VALUE


@pytest.fixture
def other(store: fs.Store) -> fs.Table:
    return store.table("other", key=KEY, value=VALUE, merge={"n": "sum"})


def test_over_several_tables(store: fs.Store, table, other, rows) -> None:
    table.put(rows([1, 2, 3]))
    with store.batch() as batch:
        batch.put(other, rows([7]))
        batch.merge(other, rows([7]))
        batch.delete(table, rows([1]).select(["id"]))
        batch.delete_range(table, lower=(3,))
        batch.put(table, rows([9]))
        assert len(other) == 0  # nobody sees it yet
        assert list(table) == [1, 2, 3]
    assert other[7]["n"] == 14
    assert list(table) == [2, 9]
    with pytest.raises(fs.ClosedError, match="committed"):
        batch.commit()


def test_an_exception_drops_all_of_it(store: fs.Store, table, other, rows) -> None:
    with pytest.raises(RuntimeError), store.batch() as batch:  # noqa: PT012
        batch.put(table, rows([1]))
        batch.put(other, rows([1]))
        raise RuntimeError
    assert not table
    assert not other


def test_a_table_of_another_store_is_refused(store: fs.Store, tmp_path, rows) -> None:
    with fs.Store.open(tmp_path / "elsewhere") as elsewhere:
        foreign = elsewhere.table("t", key=KEY, value=VALUE)
        with pytest.raises(fs.InvalidError, match="another store"):
            store.batch().put(foreign, rows([1]))
        with store.snapshot() as snapshot, pytest.raises(fs.InvalidError, match="another store"):
            foreign.scan(snapshot=snapshot)


def test_several_batches_are_one_write_each(store: fs.Store, table, rows) -> None:
    before = store.statistics()["sequence"]
    reader = pa.RecordBatchReader.from_batches(
        rows([1]).schema, rows(range(100)).to_batches(max_chunksize=10)
    )
    table.put(reader)
    assert store.statistics()["sequence"] == before + 100
