from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs
from store_tables import KEY, VALUE


def test_a_wrong_column_is_named(table: fs.Table, rows) -> None:
    with pytest.raises(fs.InvalidError, match=r"'rows'.*'n' is missing"):
        table.put(rows([1]).drop_columns("n"))
    with pytest.raises(fs.InvalidError, match="'extra'"):
        table.put(rows([1]).append_column("extra", pa.array([1])))
    with pytest.raises(fs.InvalidError, match="id"):
        table.put(rows([1]).drop_columns("id"))
    with pytest.raises(fs.InvalidError, match="there is no column 'x'"):
        table.scan(columns=["x"])
    with pytest.raises(fs.InvalidError, match="twice 'n'"):
        table.scan(columns=["n", "n"])
    with pytest.raises(fs.InvalidError, match="no value column 'x'"):
        table.get_many(rows([1]), columns=["x"])
    with pytest.raises(fs.InvalidError, match="found='n'"):
        table.get_many(rows([1]), found="n")
    assert len(table) == 0


def test_a_wrong_type_is_named(table: fs.Table, rows) -> None:
    wrong = rows([1]).set_column(2, "n", pa.array(["x"]))
    with pytest.raises(fs.InvalidError, match=r"'n'.*int64.*string"):
        table.put(wrong)
    with pytest.raises(fs.InvalidError, match=r"'id'"):
        table.delete(pa.table({"id": ["x"]}))
    with pytest.raises(fs.InvalidError, match="'n'"):
        table[1] = {"text": "a", "n": "b"}
    with pytest.raises(fs.InvalidError, match="'id'"):
        table["x"]
    with pytest.raises(fs.InvalidError, match="expected"):
        table.put([1, 2, 3])


def test_a_null_in_a_key_that_refuses_it_is_named(table: fs.Table, rows) -> None:
    with pytest.raises(fs.InvalidError, match="'id'"):
        table.put(rows([1, None], text=["a", "b"], n=[1, 2]))
    with pytest.raises(fs.InvalidError, match="'id'"):
        table[None] = {"text": "", "n": 0}
    assert len(table) == 0


def test_an_unknown_type_is_named(store: fs.Store) -> None:
    month = pa.schema([("m", pa.month_day_nano_interval())])
    with pytest.raises(fs.InvalidError, match="m"):
        store.table("t", key=KEY, value=month)
    with pytest.raises(fs.InvalidError, match="m"):
        store.table("t", key=pa.schema([("m", pa.map_(pa.string(), pa.string()))]), value=VALUE)
    with pytest.raises(fs.InvalidError, match="key"):
        store.table("t", key=pa.schema([]), value=VALUE)
    with pytest.raises(fs.InvalidError, match="'id' is in the key and in the value"):
        store.table("t", key=KEY, value=KEY)
    assert store.tables() == []


def test_words_and_sizes_that_mean_nothing(path: Path, store: fs.Store) -> None:
    with pytest.raises(fs.InvalidError, match=r"durability.*'process'"):
        fs.Store.open(path / "x", durability="disk")
    with pytest.raises(fs.InvalidError, match="compression"):
        fs.Store.open(path / "x", compression="gzip")
    with pytest.raises(fs.InvalidError, match=r'memory.*"64MB"'):
        fs.Store.open(path / "x", memory="lots")
    with pytest.raises(fs.InvalidError, match="merge function"):
        store.table("t", key=KEY, value=VALUE, merge={"n": "average"})
    with pytest.raises(fs.InvalidError, match="column 'text' is string: sum merges"):
        store.table("t", key=KEY, value=VALUE, merge={"text": "sum"})
    with pytest.raises(fs.InvalidError, match="no value column 'm'"):
        store.table("t", key=KEY, value=VALUE, merge={"m": "sum"})
    with pytest.raises(fs.InvalidError, match=r"descending.*'x'"):
        store.table("t", key=KEY, value=VALUE, descending=["x"])


def test_a_table_that_is_not_there(store: fs.Store, table: fs.Table) -> None:
    with pytest.raises(fs.NotFoundError, match="no table 'x', but rows"):
        store.table("x")
    with pytest.raises(fs.NotFoundError, match="no table 'x'"):
        store.drop_table("x")
    with pytest.raises(fs.InvalidError, match="give value= too"):
        store.table("x", key=KEY)


def test_a_bound_that_is_no_tuple_of_values(table: fs.Table) -> None:
    with pytest.raises(fs.InvalidError, match="prefix"):
        table.scan(prefix=1)
    with pytest.raises(fs.InvalidError, match="upper"):
        table.scan(upper=(1, 2))
    with pytest.raises(fs.InvalidError, match="limit"):
        table.scan(limit=-1)
    with pytest.raises(fs.InvalidError, match="batch_rows"):
        table.scan(batch_rows=0)


def test_a_directory_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("Ada")
    with pytest.raises(fs.InvalidError, match=r"letters is not a store.*dear\.txt"):
        fs.Store.open(tmp_path / "letters")
    with pytest.raises(fs.InvalidError, match="is a file"):
        fs.Store.open(tmp_path / "letters" / "dear.txt")
    with pytest.raises(fs.NotFoundError, match="there is no store"):
        fs.Store.open(tmp_path / "nothing", create=False)
    assert not (tmp_path / "nothing").exists()
    assert (tmp_path / "letters" / "dear.txt").read_text() == "Ada"


def test_another_database_of_rocksdb(tmp_path: Path) -> None:
    import rocksdict

    rocksdict.Rdict(str(tmp_path / "theirs")).close()
    with pytest.raises(fs.InvalidError, match=r"is not a store|not a flintstate store"):
        fs.Store.open(tmp_path / "theirs")


def test_a_store_that_is_open_elsewhere_says_where(path: Path, store: fs.Store) -> None:
    with pytest.raises(fs.BusyError, match=f"this process .{os.getpid()}"):
        fs.Store.open(path)
    program = f"import flintstate as fs; fs.Store.open({str(path)!r})"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert other.returncode != 0
    assert f"already open in process {os.getpid()}" in other.stderr


def test_a_second_promise_about_memory(tmp_path: Path) -> None:
    with fs.Store.open(tmp_path / "a", memory="32MB") as store:
        with pytest.raises(fs.InvalidError, match="promised"):
            fs.Store.open(tmp_path / "b", memory="64MB")
        fs.Store.open(tmp_path / "b").close()
        assert store.statistics()["memory_bytes"] == 32 << 20
    fs.Store.open(tmp_path / "b", memory="64MB").close()


def test_a_read_only_store_refuses_to_be_written(path: Path, store: fs.Store, table, rows) -> None:
    table.put(rows([1]))
    with fs.Store.open(path, read_only=True) as reader:
        copy = reader.table("rows")
        assert copy[1]["n"] == 1
        for write in (
            lambda: copy.put(rows([2])),
            lambda: copy.merge(rows([2])),
            lambda: copy.ingest(rows([2])),
            lambda: copy.delete(rows([1])),
            lambda: copy.delete_range(),
            lambda: copy.compact(),
            lambda: reader.flush(),
            lambda: reader.drop_table("rows"),
            lambda: reader.table("new", key=KEY, value=VALUE),
            lambda: reader.checkpoint(path / "copy"),
        ):
            with pytest.raises(fs.InvalidError, match="read-only"):
                write()


def test_a_damaged_file_is_an_error_that_names_the_file(path: Path, rows) -> None:
    with fs.Store.open(path, compression="none") as store:
        table = store.table("rows", key=KEY, value=VALUE)
        table.put(rows(range(10_000)))
        store.flush()
    largest = max(path.glob("*.sst"), key=lambda file: file.stat().st_size)
    damaged = bytearray(largest.read_bytes())
    for at in range(4096, len(damaged) // 2, 512):
        damaged[at] ^= 0xFF
    largest.write_bytes(damaged)
    with fs.Store.open(path, compression="none") as store:
        table = store.table("rows")
        with pytest.raises(fs.CorruptionError, match=largest.name):
            table.scan().to_table()
        with pytest.raises(fs.CorruptionError, match=largest.name):
            table.get_many(rows(range(10_000)))
        table[-1] = {"text": "still usable", "n": 0}
        assert table[-1]["text"] == "still usable"


def test_a_row_or_a_key_that_is_too_large_is_refused(store: fs.Store) -> None:
    many = pa.schema([pa.field(f"c{k}", pa.binary(), nullable=False) for k in range(32)])
    key = pa.schema([pa.field("k", pa.int64(), nullable=False)])
    large = pa.array([bytes(1 << 26)], pa.binary())
    columns = {f"c{k}": large for k in range(32)}
    table = store.table("rows", key=key, value=many)
    with pytest.raises(fs.InvalidError, match=r"'rows'.*2147483647"):
        table.put(pa.table({"k": [1], **columns}, pa.schema([*key, *many])))
    keys = store.table("keys", key=many, value=key)
    with pytest.raises(fs.InvalidError, match=r"'keys'.*keys are at most 2\^31-1 bytes long"):
        keys.put(pa.table({**columns, "k": [1]}, pa.schema([*many, *key])))
    assert not table
    assert not keys


def test_a_missing_file_is_refused_at_opening(path: Path, rows) -> None:
    with fs.Store.open(path) as store:
        store.table("rows", key=KEY, value=VALUE).put(rows(range(100)))
        store.flush()
    (path / "CURRENT").unlink()
    with pytest.raises(fs.CorruptionError, match="CURRENT"):
        fs.Store.open(path)


FULL = """
import resource, signal, sys
import pyarrow as pa, flintstate as fs
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = fs.Store.open(sys.argv[1], durability="process", memory="64MB")
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.binary())]))
resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))
written = 0
try:
    for i in range(10_000):
        table[i] = {"v": bytes([i % 256]) * 10_000}
        written = i + 1
except fs.StorageError as error:
    print(written, "|", error)
"""


def test_a_full_disk_is_an_error_and_what_was_acknowledged_is_there(path: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True
    ).stdout
    written, message = out.split("|", 1)
    assert str(path) in message
    assert int(written) > 100
    with fs.Store.open(path) as store:
        table = store.table("t")
        keys = list(table.keys())
        assert keys[: int(written)] == list(range(int(written)))
        assert all(table[i] == {"v": bytes([i % 256]) * 10_000} for i in range(int(written)))
        table[-1] = {"v": b"usable again"}


def test_of_two_columns_with_one_name_none_is_taken(table: fs.Table, rows) -> None:
    given = rows([1])
    for name in ("id", "n"):
        twice = given.append_column(name, pa.array([2]))
        for write in (table.put, table.ingest):
            with pytest.raises(fs.InvalidError, match=f"two columns have the name '{name}'"):
                write(twice)
    keys = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    for call in (table.delete, table.get_many):
        with pytest.raises(fs.InvalidError, match="two columns have the name 'id'"):
            call(keys)
    assert len(table) == 0


def test_columns_that_are_left_aside_may_have_one_name(table: fs.Table, rows) -> None:
    table.put(rows([1]))
    table.delete(pa.Table.from_arrays([pa.array([1])] * 3, names=["id", "x", "x"]))
    assert len(table) == 0


def test_a_name_is_not_taken_for_its_letters(store: fs.Store) -> None:
    columns = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    table = store.table("letters", key=pa.schema([("k", pa.int64())]), value=columns)
    with pytest.raises(fs.InvalidError, match=r"columns='ab': give a list of names"):
        table.scan(columns="ab")
    with pytest.raises(fs.InvalidError, match=r"columns=\['a'\]"):
        table.get_many(pa.table({"k": [1]}), columns="a")
    with pytest.raises(fs.InvalidError, match=r"descending=\['k'\]"):
        store.table("other", key=pa.schema([("k", pa.int64())]), value=columns, descending="k")


def test_a_column_without_a_name_is_shown_how_to_get_one(store: fs.Store, table: fs.Table) -> None:
    with pytest.raises(fs.InvalidError, match=r"a single column of int64 .*pyarrow.table\("):
        table.get_many(pa.array([1]))
    with pytest.raises(fs.InvalidError, match=r"key: .*a single column of int64.*pyarrow.schema"):
        store.table("bare", key=pa.int64(), value=pa.int64())


def test_a_store_is_opened_and_not_constructed() -> None:
    with pytest.raises(fs.InvalidError, match=r"Store.open\(path\)"):
        fs.Store("somewhere")


def test_what_is_open_here_is_not_sent_elsewhere(store: fs.Store, table: fs.Table) -> None:
    with pytest.raises(fs.InvalidError, match=r"can't be copied or pickled.*read_only"):
        pickle.dumps(store)
    with pytest.raises(fs.InvalidError, match="table 'rows' can't be copied or pickled"):
        copy.copy(table)


def test_a_read_only_store_says_that_it_is(store: fs.Store, path: Path) -> None:
    with fs.Store.open(path, read_only=True) as seen:
        assert repr(seen).endswith("read-only)")
