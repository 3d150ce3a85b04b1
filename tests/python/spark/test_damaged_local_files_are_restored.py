"""Local files are a cache: damage in them costs the call that meets it, and no other."""

import multiprocessing
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from spark_buckets import FOREVER_S, KEY, Home, Worker, counts, expected

from flintstate import _core
from flintstate.checkpoint.handle import Handle
from flintstate.errors import CorruptionError, StorageError
from flintstate.spark.bucket import Bucket
from flintstate.state.rocksdb import read_entries


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def table_files(home: Home) -> list[Path]:
    """Those that hold rows, and are not looked into when a store is opened."""
    found = list((home.path / "local").rglob("*.sst"))
    return [path for path in found if b"_meta" not in path.read_bytes()]


def damage(home: Home) -> None:
    """Changes a byte of the first block of rows in each file, in place: links see it, too."""
    for path in table_files(home):
        with open(path, "r+b") as file:
            file.seek(20)
            byte = file.read(1)
            file.seek(20)
            file.write(bytes([byte[0] ^ 1]))


def test_what_a_call_met_is_restored_by_the_next(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    damage(home)
    with home.bucket(handle) as bucket, pytest.raises(CorruptionError, match="checksum"):
        counts(bucket)
    assert home.read(home.add(handle, 3)) == expected(4)


def test_damage_that_a_function_hides_is_restored_as_well(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    damage(home)
    worker = Worker(home)
    bucket = worker.begin(handle)
    with pytest.raises(CorruptionError):
        counts(bucket)
    bucket.commit(3)  # as a call does whose function caught the error
    worker.end(bucket)
    worker.keeper.close()
    assert home.read(handle) == expected(3)


def test_damage_that_only_the_caller_knows_of_is_restored(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    bucket = Bucket(home.storage, home.path / "local", KEY, handle)
    bucket.close(after=CorruptionError("a row that can't be decoded"))
    next((home.path / "local").glob("db-*")).joinpath("mark").touch()
    assert home.read(handle) == expected(3)
    assert not list((home.path / "local").rglob("mark"))


def test_entries_say_what_is_damaged(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    damage(home)
    with home.bucket(handle) as bucket, pytest.raises(CorruptionError, match="db-"):
        read_entries(bucket.backend, "n").read_all()
    with home.bucket(handle) as bucket:
        assert read_entries(bucket.backend, "n").read_all().num_rows == 4


def hold(path: Path, handle: bytes, hears: Connection, tells: Connection) -> None:
    """A process that has a bucket open, and reads it when it is told to."""
    with Home(path).bucket(Handle.from_bytes(handle)) as bucket:
        tells.send("open")
        hears.poll(FOREVER_S)
        counts(bucket)


def die_of_a_file_that_is_cut_short(home: Home, handle: Handle, size: int) -> None:
    spawn = multiprocessing.get_context("spawn")
    (hears, go), (opened, tells) = spawn.Pipe(duplex=False), spawn.Pipe(duplex=False)
    arguments = (home.path, handle.to_bytes(), hears, tells)
    process = spawn.Process(target=hold, args=arguments)
    process.start()
    try:
        assert opened.recv() == "open"
        for path in table_files(home):
            with open(path, "r+b") as file:
                file.truncate(size)
        go.send("read")
        process.join(60)
        assert process.exitcode == -signal.SIGBUS
    finally:
        process.kill()
        process.join()


def test_a_file_that_is_cut_short_kills_one_worker_and_not_the_next(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    die_of_a_file_that_is_cut_short(home, handle, 0)
    assert home.read(handle) == expected(3)


def test_what_a_call_died_with_is_verified_before_it_is_used(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    sizes = {path: path.stat().st_size for path in table_files(home)}
    die_of_a_file_that_is_cut_short(home, handle, 0)
    for path in table_files(home):
        with open(path, "r+b") as file:  # a hole, as after a power cut: its size is right
            file.truncate(next(size for other, size in sizes.items() if other.name == path.name))
    assert home.read(handle) == expected(3)


def test_a_store_whose_call_was_killed_is_used_where_its_files_are_whole(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    spawn = multiprocessing.get_context("spawn")
    (hears, _), (opened, tells) = spawn.Pipe(duplex=False), spawn.Pipe(duplex=False)
    process = spawn.Process(target=hold, args=(home.path, handle.to_bytes(), hears, tells))
    process.start()
    assert opened.recv() == "open"
    process.kill()
    process.join()
    inodes = {path.stat().st_ino for path in table_files(home)}
    assert home.read(handle) == expected(3)
    assert inodes & {path.stat().st_ino for path in table_files(home)}


def test_each_damaged_byte_of_a_table_file_is_found(home: Home) -> None:
    home.grow(home.first, 3)
    path = table_files(home)[0]
    whole = path.read_bytes()
    _core.verify_table_file(str(path))
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(CorruptionError, match=path.name):
            _core.verify_table_file(str(path))
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        with pytest.raises(CorruptionError, match=path.name):
            _core.verify_table_file(str(path))
    path.unlink()
    with pytest.raises(StorageError, match=path.name):
        _core.verify_table_file(str(path))
