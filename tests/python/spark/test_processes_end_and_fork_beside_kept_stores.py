"""Threads that close stores outlive neither their process nor a fork, and let go of every lock."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from spark_buckets import Home, Worker, counts, expected, wait_for_background

from flintstate.checkpoint.locking import Doorbell, FileLock
from flintstate.spark.bucket import Bucket

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def worker(home: Home) -> Iterator[Worker]:
    one = Worker(home)
    yield one
    one.keeper.close()


def in_a_child(work: Callable[[], None]) -> int:
    """A forked child that does the work; a signal ends it where it hangs."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def join(child: int) -> None:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


ENDING = """
import os, pathlib, sys
import pyarrow as pa
from spark_buckets import KEY, Bucket, Home, Limits

home = Home(pathlib.Path(sys.argv[1]))
due = Limits(log_bytes_min=6_000_000, log_segments_max=1 << 30)  # a base in the background
bucket = Bucket(home.storage, home.path / "local", KEY, home.first, due)
state = bucket.backend.value_state("blob", pa.binary())
for user in range(20_000):
    bucket.backend.set_key(user)
    state.update(os.urandom(500))
handle = bucket.commit(0)
bucket.close(background=True)
"""


def test_a_program_may_end_while_a_store_is_closed_and_uploaded(tmp_path: Path) -> None:
    support = Path(sys.modules[Home.__module__].__file__ or "").parent
    program = f"import sys; sys.path.insert(0, {str(support)!r})\n" + ENDING
    for number in range(5):
        command = [sys.executable, "-c", program, str(tmp_path / str(number))]
        out = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (out.returncode, out.stderr) == (0, "")
        assert FileLock(tmp_path / str(number) / "local" / "lock").acquire(0.0)
        assert list((tmp_path / str(number) / "local").glob("db-*/*.sst"))


def test_a_fork_beside_a_keeper_that_holds_its_lock(home: Home, worker: Worker) -> None:
    handle = worker.add(home.first, 0)
    with worker.keeper._mutex:
        child = in_a_child(lambda: assert_a_worker_works(home, worker))
    join(child)
    kept = worker.begin(handle)
    assert counts(kept) == expected(1)
    worker.end(kept)


def assert_a_worker_works(home: Home, worker: Worker) -> None:
    handle = home.first
    for batch in range(3):
        handle = worker.add(handle, batch, local="child")
    worker.keeper.close()
    assert home.read(handle, local="child") == expected(3)


def test_a_child_does_not_let_go_of_its_parents_lock(home: Home, worker: Worker) -> None:
    bucket = worker.begin(home.first)

    def close() -> None:
        bucket.close()
        assert not FileLock(home.path / "local" / "lock").acquire(0.0)

    join(in_a_child(close))
    assert not FileLock(home.path / "local" / "lock").acquire(0.0)
    bucket.close()


def test_a_child_does_not_keep_what_its_parent_lets_go_of(home: Home, worker: Worker) -> None:
    worker.add(home.first, 0)
    hears, tells = os.pipe()
    child = in_a_child(lambda: os.read(hears, 1) and None)
    worker.keeper.close()
    lock = FileLock(home.path / "local" / "lock")
    assert lock.acquire(0.0)
    lock.release()
    os.write(tells, b"!")
    join(child)


def test_a_keeper_goes_on_after_any_failure(
    home: Home, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [MemoryError, RuntimeError, OSError, ValueError]
    handles = [worker.add(home.first, 0, local=str(n)) for n in range(4)]
    close, seen = Doorbell.close, list[type]()

    def fails(self: Doorbell) -> None:
        close(self)
        if len(seen) < len(failures):
            seen.append(failures[len(seen)])
            raise seen[-1]("while it closes")

    monkeypatch.setattr(Doorbell, "close", fails)
    worker.keeper._most = 0
    for number, handle in enumerate(handles):
        lock = FileLock(home.path / str(number) / "lock")
        worker.keeper._wake()
        assert lock.acquire(30.0)
        lock.release()
        assert home.read(handle, local=str(number)) == expected(1)
    assert len(seen) == len(failures)


def test_a_bell_that_can_not_be_heard_closes_its_store(
    home: Home, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = worker.add(home.first, 0)

    def fails(self: Bucket) -> bool:
        raise OSError("a bell that is broken")

    monkeypatch.setattr(Bucket, "wanted", fails)
    worker.keeper._wake()
    lock = FileLock(home.path / "local" / "lock")
    assert lock.acquire(30.0)
    lock.release()
    assert home.read(handle) == expected(1)


def test_stores_are_closed_where_the_system_has_no_threads(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object) -> None:
        raise RuntimeError("can't start new thread")

    worker = Worker(home)
    monkeypatch.setattr("threading.Thread.start", refuse)
    handle = worker.grow(home.first, range(3))[-1]
    lock = FileLock(home.path / "local" / "lock")
    assert lock.acquire(0.0)
    lock.release()
    wait_for_background()
    assert home.read(handle) == expected(3)
