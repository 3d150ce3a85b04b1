from __future__ import annotations

import threading

import pyarrow as pa
import pytest

import flintstate as fs
from store_tables import KEY, VALUE

WAYS = ["put", "ingest", "merge"]
NUMBER = pa.schema([("n", pa.int64())])


@pytest.mark.parametrize("way", WAYS)
def test_an_empty_batch_writes_nothing(table: fs.Table, rows, way: str) -> None:
    getattr(table, way)(rows([]))
    assert len(table) == 0
    assert not table
    assert table.get_many(rows([]).select(["id"])).num_rows == 0
    table.delete(rows([]).select(["id"]))


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_of_one(table: fs.Table, rows, way: str) -> None:
    getattr(table, way)(rows([7]))
    assert table[7] == {"text": "t7", "n": 7}
    assert len(table) == 1
    assert table


@pytest.mark.parametrize("way", WAYS)
def test_of_equal_keys_in_a_batch_the_last_wins(table: fs.Table, rows, way: str) -> None:
    ids = [3, 1] * 20_000
    getattr(table, way)(rows(ids, n=range(len(ids))))
    assert [row["n"] for row in table.values()] == [len(ids) - 1, len(ids) - 2]


def test_an_ingestion_larger_than_its_memory(path, rows) -> None:
    ids = [(i * 7919) % 200_000 for i in range(200_000)]
    told = []
    with fs.Store.open(path, memory="4MB", durability="none") as store:
        table = store.table(
            "rows",
            key=pa.schema([pa.field("id", pa.int64(), nullable=False)]),
            value=pa.schema([("text", pa.string()), ("n", pa.int64())]),
        )
        first = rows(ids, text=["first"] * len(ids))
        second = rows(ids[:1000], text=["second"] * 1000)
        assert table.ingest(pa.concat_tables([first, second]), progress=told.append) == 201_000
        found = table.scan().to_table()
        assert found["id"].to_pylist() == list(range(200_000))
        assert found["text"].to_pylist().count("second") == 1000
        assert told[-1] == fs.store.IngestProgress(rows_sorted=201_000, rows_written=200_000)
        assert len(told) > 10
    assert not list(path.glob("ingest-*"))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("beginning", ["", "the same in all keys, and long: 40 bytes"])
def test_an_ingestion_keeps_the_last_of_equal_keys(path, threads: int, beginning: str) -> None:
    ids = [(i * 7919) % 30_000 for i in range(60_000)]  # each twice, in different runs
    with fs.Store.open(path, memory="4MB", durability="none", threads=threads) as store:
        table = store.table("t", key=pa.schema([("k", pa.string())]), value=NUMBER)
        table[f"{beginning}00007"] = {"n": -1}
        keys = [f"{beginning}{i:05}" for i in ids]
        assert table.ingest(pa.table({"k": keys, "n": range(60_000)})) == 60_000
        found = table.scan().to_table()
        assert found["k"].to_pylist() == sorted(set(keys))
        last = dict(zip(keys, range(60_000), strict=True))
        assert found["n"].to_pylist() == [last[key] for key in found["k"].to_pylist()]


def test_progress_is_told_by_the_thread_that_ingests_and_may_end_it_late(path, rows) -> None:
    tellers = set()

    def tell(progress: fs.store.IngestProgress) -> None:
        tellers.add(threading.get_ident())
        if progress.rows_written > 0:
            raise RuntimeError("enough")

    with fs.Store.open(path, memory="4MB", durability="none", threads=4) as store:
        table = store.table("t", key=KEY, value=VALUE)
        with pytest.raises(RuntimeError, match="enough"):
            table.ingest(rows(range(60_000)), progress=tell)
        assert len(table) == 0
        assert tellers == {threading.get_ident()}
        assert not list(path.glob("ingest-*"))


def test_an_ingestion_that_its_caller_ends_writes_nothing(table: fs.Table, rows) -> None:
    def refuse(progress: fs.store.IngestProgress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        table.ingest(rows(range(1000)), progress=refuse)
    assert len(table) == 0


def test_keys_of_no_bytes_and_of_64_kilobytes(store: fs.Store) -> None:
    table = store.table(
        "t",
        key=pa.schema([pa.field("k", pa.binary(), nullable=False)]),
        value=pa.schema([("n", pa.int64())]),
    )
    long = b"\0" * (64 << 10)
    table.put(pa.table({"k": pa.array([long, b""], pa.binary()), "n": [1, 0]}))
    table[long + b"!"] = {"n": 2}
    store.flush()
    assert [table[key]["n"] for key in (b"", long, long + b"!")] == [0, 1, 2]
    assert list(table.keys()) == [b"", long, long + b"!"]
    table.delete_range()
    assert list(table.keys()) == []


def test_values_of_no_bytes_and_of_64_megabytes(store: fs.Store) -> None:
    table = store.table(
        "t", key=pa.schema([("k", pa.int32())]), value=pa.schema([("v", pa.binary())])
    )
    large = b"\0x" * (32 << 20)
    table.put(
        pa.table({"k": pa.array([1, 2], pa.int32()), "v": pa.array([b"", large], pa.binary())})
    )
    table[3] = {"v": large}
    store.flush()
    assert table[1] == {"v": b""}
    assert table[2]["v"] == large
    assert table[3]["v"] == large
    batches = list(table.scan())
    assert [batch.num_rows for batch in batches] == [2, 1]  # a batch is bounded by its bytes too
    assert (
        sum(pa.compute.sum(pa.compute.binary_length(b["v"])).as_py() for b in batches) == 128 << 20
    )


def test_a_table_without_value_columns_is_a_set(store: fs.Store) -> None:
    table = store.table("t", key=pa.schema([("k", pa.string())]), value=pa.schema([]))
    table.put(pa.table({"k": ["b", "a", None]}))
    table["c"] = {}
    assert list(table) == [None, "a", "b", "c"]
    assert table["a"] == {}
    assert "x" not in table
