"""What a child of fork opens for itself works, whatever its parent has had open, or has."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs
from flintstate import changelog

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

KEY, VALUE = pa.schema([("k", pa.int64())]), pa.schema([("v", pa.binary())])
LIMIT_S = 60


def use_a_store(path: Path) -> None:
    """What wants threads of RocksDB's: a flush, and a close with nothing left to flush."""
    with fs.Store.open(path, memory="16MB") as store:
        table = store.table("t", key=KEY, value=VALUE)
        table.put(pa.table({"k": range(5000), "v": [b"v" * 100] * 5000}))
        store.flush()
        assert table.scan().to_table().num_rows == 5000


def use_a_backend(path: Path) -> None:
    backend = fs.KeyedBackend.open(path, key=pa.int64(), kind="rocksdb")
    backend.set_key(1)
    backend.value_state("n", pa.int64()).update(7)
    backend.close()


def use_a_changelog(path: Path) -> None:
    with changelog.Writer(path, batch_bytes=1 << 10) as log:
        for n in range(1000):
            log.append(changelog.PUT, table=1, key=b"%d" % n, value=b"v" * 100)
    assert changelog.Reader(path).read_all().num_rows == 1000


USES = [use_a_store, use_a_backend, use_a_changelog]


def in_a_child(work: Callable[[], None]) -> None:
    """Runs the work in a forked child, which a signal ends where it hangs."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(LIMIT_S)
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("use", USES)
def test_after_the_parent_has_used_one(tmp_path: Path, use: Callable[[Path], None]) -> None:
    use(tmp_path / "parent")
    in_a_child(lambda: use(tmp_path / "child"))
    use(tmp_path / "after")


@pytest.mark.parametrize("use", USES)
def test_in_a_grandchild_too(tmp_path: Path, use: Callable[[Path], None]) -> None:
    def child() -> None:
        use(tmp_path / "child")
        in_a_child(lambda: use(tmp_path / "grandchild"))
        use(tmp_path / "again")

    use(tmp_path / "parent")
    in_a_child(child)


def test_by_multiprocessing_while_the_parent_has_one_open(tmp_path: Path) -> None:
    with fs.Store.open(tmp_path / "parent") as store:
        store.table("t", key=KEY, value=VALUE).put(pa.table({"k": [1], "v": [b"1"]}))
        fork = multiprocessing.get_context("fork")
        children = [
            fork.Process(target=use_a_store, args=(tmp_path / str(n),), daemon=True)
            for n in range(2)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join(LIMIT_S)
            assert child.exitcode == 0
        assert store.table("t")[1] == {"v": b"1"}


def test_the_parents_store_is_busy_until_it_closes_it(tmp_path: Path) -> None:
    store = fs.Store.open(tmp_path / "store")
    store.table("t", key=KEY, value=VALUE).put(pa.table({"k": [1], "v": [b"1"]}))
    parent = os.getpid()

    def refused() -> None:
        with pytest.raises(fs.BusyError, match=f"process {parent}"):
            fs.Store.open(tmp_path / "store")

    in_a_child(refused)
    hears, tells = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(LIMIT_S)
            os.read(hears, 1)
            with fs.Store.open(tmp_path / "store") as own:
                own.table("t").put(pa.table({"k": [2], "v": [b"2"]}))
            status = 0
        finally:
            os._exit(status)
    store.close()
    os.write(tells, b"!")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with fs.Store.open(tmp_path / "store") as again:
        assert len(again.table("t")) == 2


def test_a_child_that_ends_as_programs_do_does_not_wait_for_its_parents_threads(
    tmp_path: Path,
) -> None:
    program = f"""
import os, signal, sys
sys.path[:0] = {[str(Path(__file__).parent)]!r}
from pathlib import Path
from {Path(__file__).stem} import use_a_store
path = Path({str(tmp_path)!r})
use_a_store(path / "parent")
child = os.fork()
if child == 0:
    signal.alarm({LIMIT_S})
    use_a_store(path / "child")
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_forks_beside_threads_that_open_and_close(tmp_path: Path) -> None:
    """A child must not find a lock held by a thread that it does not have."""
    ending = threading.Event()

    def open_and_close(number: int) -> None:
        while not ending.is_set():
            fs.Store.open(tmp_path / f"parent{number}").close()

    threads = [threading.Thread(target=open_and_close, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(20):
            in_a_child(lambda number=number: fs.Store.open(tmp_path / f"{number}").close())
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def test_a_parents_backend_takes_nothing_from_a_child(tmp_path: Path) -> None:
    """It would be into a cache that nobody ever writes out."""
    backend = fs.KeyedBackend.open(tmp_path / "parent", key=pa.int64(), kind="rocksdb")
    counts = backend.value_state("n", pa.int64())
    backend.set_key(1)
    counts.update(7)

    def refused() -> None:
        one = pa.array([1])
        for use in (
            counts.value,
            lambda: counts.update(8),
            lambda: backend.set_key(2),
            lambda: counts.put_many(one, one),
            lambda: counts.get_many(one),
        ):
            with pytest.raises(fs.ClosedError, match="before this process was forked"):
                use()
        backend.close()
        use_a_backend(tmp_path / "child")

    in_a_child(refused)
    assert counts.value() == 7
    backend.close()
