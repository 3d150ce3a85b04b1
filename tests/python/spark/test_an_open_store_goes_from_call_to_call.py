"""A worker keeps stores open for its next call, and lets go of them when another one asks."""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pyarrow as pa
import pytest
from spark_buckets import SMALL, Home, Worker, add, counts, expected, keep_batches, remove

from flintstate.checkpoint.handle import Handle, Segment
from flintstate.checkpoint.locking import FileLock
from flintstate.errors import InvalidError
from flintstate.spark import bucket as module
from flintstate.spark.bucket import Bucket, Limits


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def hire(home: Home) -> Iterator[Callable[..., Worker]]:
    hired: list[Worker] = []

    def one_more(**arguments: float) -> Worker:
        hired.append(Worker(home, **arguments))  # type: ignore[arg-type]
        return hired[-1]

    yield one_more
    for worker in hired:
        worker.keeper.close()


def until_free(directory: Path) -> None:
    """Waits until nobody holds the bucket, asking nobody."""
    lock = FileLock(directory / "lock")
    assert lock.acquire(30.0)
    lock.release()


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[Segment]:
    """The segments that any bucket has replayed."""
    seen: list[Segment] = []
    replay = Bucket._replay

    def noted(self: Bucket, backend: object, segment: Segment) -> None:
        seen.append(segment)
        replay(self, backend, segment)  # type: ignore[arg-type]

    monkeypatch.setattr(Bucket, "_replay", noted)
    return seen


def test_the_same_worker_goes_on_with_the_open_store(
    home: Home, hire: Callable[..., Worker]
) -> None:
    worker = hire()
    handle = worker.add(home.first, 0)
    first = worker.begin(handle)
    backend = first.backend
    worker.end(first)
    handle = worker.grow(handle, range(1, 12))[-1]
    again = worker.begin(handle)
    assert again.backend is backend
    assert counts(again) == expected(12)
    worker.end(again)


def test_another_worker_is_handed_the_store(
    home: Home, hire: Callable[..., Worker], replayed: list[Segment]
) -> None:
    workers = [hire(), hire()]
    handle = home.first
    for batch in range(12):  # each has it three times in a row
        worker = workers[batch // 3 % 2]
        bucket = worker.begin(handle)
        assert not bucket.private
        assert counts(bucket) == expected(batch)
        worker.end(bucket)
        handle = worker.add(handle, batch)
    assert home.read(handle) == expected(12)
    assert replayed == []


@contextmanager
def another_process(home: Home) -> Iterator[tuple[BaseProcess, list[Handle]]]:
    """One that keeps the store after five batches, and their handles."""
    hears, tells = multiprocessing.Pipe(duplex=False)
    arguments = (home.path, home.first.to_bytes(), tells)
    # Its code is in a module that it can import by name.
    process = multiprocessing.get_context("spawn").Process(target=keep_batches, args=arguments)
    process.start()
    try:
        yield process, [Handle.from_bytes(data) for data in hears.recv()]
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize("behind", [0, 1, 4, 5])
def test_what_died_with_its_keeper_is_replayed(
    home: Home, hire: Callable[..., Worker], replayed: list[Segment], behind: int
) -> None:
    with another_process(home) as (process, handles):
        process.kill()
        process.join()
    bucket = hire().begin(handles[5 - behind])
    assert not bucket.private
    assert counts(bucket) == expected(5 - behind)
    assert len(replayed) == 5 - behind
    bucket.close()


def test_a_living_process_hands_the_store_over(
    home: Home, hire: Callable[..., Worker], replayed: list[Segment]
) -> None:
    with another_process(home) as (_, handles):
        handle = hire().add(handles[-1], 5)
        assert replayed == []
    assert home.read(handle) == expected(6)


def test_a_batch_that_runs_again_finds_the_state_before_it(
    home: Home, hire: Callable[..., Worker]
) -> None:
    worker, other = hire(), hire()
    handles = worker.grow(home.first, range(6))
    for batches in (5, 2, 6, 0, 3):
        again = worker.add(handles[batches], batches)
        assert home.read(again) == expected(batches + 1)
        worker.add(again, batches + 1)  # is kept, and was never committed by Spark
        bucket = other.begin(again)
        assert counts(bucket) == expected(batches + 1)
        other.end(bucket)


def test_a_store_goes_back_to_an_undo_point_of_many_batches_ago(
    home: Home, hire: Callable[..., Worker], replayed: list[Segment]
) -> None:
    handle = hire().grow(home.first, range(3))[-1]
    worker = hire()
    handles = worker.grow(handle, range(3, 9))
    bucket = worker.begin(handles[-2])
    assert counts(bucket) == expected(8)
    # From the undo point, which was made when the second worker opened the store.
    assert [segment.version for segment in replayed] == [h.version for h in handles[1:-1]]
    bucket.close()


def test_a_batch_without_changes_keeps_the_store(home: Home, hire: Callable[..., Worker]) -> None:
    worker = hire()
    handle = worker.add(home.first, 0)
    bucket = worker.begin(handle)
    assert bucket.commit(1) == handle
    worker.end(bucket)
    again = worker.begin(handle)
    assert again is bucket
    worker.end(again)


def test_a_call_that_did_not_commit_leaves_no_trace(
    home: Home, hire: Callable[..., Worker]
) -> None:
    worker = hire()
    handle = worker.grow(home.first, range(3))[-1]
    bucket = worker.begin(handle)
    add(bucket, 0)
    bucket.close()  # as the carrier does with a call that failed
    assert home.read(worker.add(handle, 3)) == expected(4)


def test_idle_stores_are_closed(
    home: Home, hire: Callable[..., Worker], replayed: list[Segment]
) -> None:
    handle = hire(idle_s=0.01).grow(home.first, range(3))[-1]
    until_free(home.path / "local")
    assert home.read(handle) == expected(3)
    assert replayed == []


def test_a_worker_keeps_the_stores_that_it_used_last(
    home: Home, hire: Callable[..., Worker]
) -> None:
    worker = hire(most=2)
    handles = {name: worker.add(home.first, 0, local=name) for name in "abc"}
    until_free(home.path / "a")
    kept = {name: worker.begin(handles[name], local=name) for name in "bc"}
    for name in "bc":
        assert not FileLock(home.path / name / "lock").acquire(0.0)
        assert counts(kept[name]) == expected(1)
        worker.end(kept[name])


def test_a_worker_may_keep_none(home: Home, hire: Callable[..., Worker]) -> None:
    handle = hire(most=0).grow(home.first, range(4))[-1]
    until_free(home.path / "local")
    assert home.read(handle) == expected(4)


@pytest.mark.parametrize(
    ("reused", "addresses", "kept"),
    [
        ("1", "resource.RLIM_INFINITY", "4"),
        ("", "resource.RLIM_INFINITY", "0"),
        ("1", "1 << 44", "0"),
    ],
)
def test_workers_that_spark_ends_or_limits_keep_none(
    reused: str, addresses: str, kept: str
) -> None:
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({addresses},) * 2); "
        "from flintstate.spark.keeping import KEEPER; print(KEEPER._most)"
    )
    environment = {k: v for k, v in os.environ.items() if k != "SPARK_REUSE_WORKER"}
    if reused:
        environment["SPARK_REUSE_WORKER"] = reused  # as Spark tells its workers
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, env=environment, text=True).strip() == kept


def test_a_query_that_starts_again_does_not_meet_open_states(
    home: Home, hire: Callable[..., Worker]
) -> None:
    worker = hire()
    bucket = worker.begin(home.first)
    bucket.backend.value_state("later", pa.int64())  # nothing is ever written to it
    add(bucket, 0)
    add(bucket, 1000)
    handle = bucket.commit(0)
    worker.end(bucket)
    bucket = worker.begin(handle)
    bucket.backend.value_state("new", pa.int64())  # not even its name is
    assert bucket.commit(1) == handle
    worker.end(bucket)

    worker.operator = b"started again, with another function"
    bucket = worker.begin(handle)
    bucket.backend.set_key(0)
    state = bucket.backend.value_state("new", pa.string())
    state.update("text")
    assert state.value() == "text"
    assert counts(bucket) == expected(1)
    assert bucket.commit(1).version != handle.version
    worker.end(bucket)


def test_no_key_is_current_when_a_call_begins(home: Home, hire: Callable[..., Worker]) -> None:
    worker = hire()
    bucket = worker.begin(worker.add(home.first, 0))
    with pytest.raises(InvalidError, match="no current key"):
        bucket.backend.value_state("n", pa.int64(), default=0).value()
    worker.end(bucket)


def test_time_is_that_of_the_call(home: Home, hire: Callable[..., Worker]) -> None:
    worker = hire()
    handle = home.first
    for batch, now in enumerate((1_000, 1_900, 3_000)):
        bucket = worker.begin(handle, clock=lambda now=now: now)  # type: ignore[misc]
        seen = bucket.backend.value_state("seen", pa.int64(), ttl=(1_000, False, False, False))
        bucket.backend.set_key(1)
        assert seen.value() == {1_000: None, 1_900: 1_000, 3_000: None}[now]
        if batch == 0:
            seen.update(now)
        add(bucket, 7)
        handle = bucket.commit(batch)
        worker.end(bucket)


def test_a_removed_local_directory_is_restored_and_stays_whole(
    home: Home, hire: Callable[..., Worker]
) -> None:
    worker, other = hire(), hire()
    handle = worker.grow(home.first, range(3))[-1]
    remove(home.path / "local")
    handle = other.add(handle, 3)  # a store in the same place, while the first one is open
    files = sorted((home.path / "local").rglob("*"))
    bucket = worker.begin(handle)
    assert bucket is not None
    assert not bucket.private
    assert counts(bucket) == expected(4)
    bucket.close()
    worker.keeper.close()
    assert home.read(handle) == expected(4)
    assert files


def test_a_store_without_its_directory_is_not_used(home: Home, hire: Callable[..., Worker]) -> None:
    worker = hire()
    handle = worker.grow(home.first, range(3))[-1]
    remove(home.path / "local")
    bucket = worker.begin(handle)
    assert list((home.path / "local").glob("db-*"))
    assert counts(bucket) == expected(3)
    remove(home.path / "local")  # during the call
    add(bucket, 3)
    add(bucket, 1000)
    handle = bucket.commit(3)
    worker.end(bucket)
    assert home.read(handle) == expected(4)


def test_a_store_that_lost_its_directory_harms_no_other(
    home: Home, hire: Callable[..., Worker], replayed: list[Segment]
) -> None:
    worker = hire()
    handle = worker.grow(home.first, range(3))[-1]
    remove(home.path / "local")
    handle = home.add(handle, 3)
    del replayed[:]
    before = sorted((home.path / "local").rglob("*"))
    worker.keeper.close()
    assert sorted((home.path / "local").rglob("*")) == before
    assert home.read(handle) == expected(4)
    assert replayed == []


def test_bases_come_about_while_stores_are_kept(home: Home, hire: Callable[..., Worker]) -> None:
    worker = hire()
    handles = [home.first]
    for batch in range(20):
        bucket = worker.begin(handles[-1], limits=SMALL)
        add(bucket, batch % 5)
        add(bucket, 1000)
        handles.append(bucket.commit(batch))
        worker.end(bucket)
    assert handles[-1].base is not None
    worker.keeper.close()
    remove(home.path / "local")
    for batches in (20, 19, 15):
        assert home.read(handles[batches]) == expected(batches)


def test_a_store_whose_undo_point_is_before_its_base_is_not_kept(
    home: Home, hire: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bucket, "_wants_base", lambda self: False)  # as while one is uploaded
    overdue = Limits(log_bytes_min=1 << 40, log_segments_max=1)
    worker = hire()
    handle = home.first
    for batch in range(3):
        assert handle.base is None
        handle = worker.add(handle, batch, limits=overdue)
    assert handle.base is not None
    until_free(home.path / "local")
    assert home.read(handle) == expected(3)


def test_a_store_in_use_is_not_waited_for_and_not_kept_after(
    home: Home, hire: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_WAIT_S", 3600.0)
    worker, other = hire(), hire()
    handle = worker.grow(home.first, range(3))[-1]
    zombie = worker.begin(handle)
    add(zombie, 0)
    bucket = other.begin(handle)
    assert bucket.private
    add(bucket, 3)
    add(bucket, 1000)
    won = bucket.commit(3)
    other.end(bucket)
    zombie.commit(3)
    worker.end(zombie)
    until_free(home.path / "local")
    assert home.read(won) == expected(4)
    assert not list((home.path / "local" / "private").iterdir())


def test_a_store_that_was_just_opened_is_not_waited_for_and_is_to_be_had_after(
    home: Home, hire: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_WAIT_S", 3600.0)
    worker, other = hire(), hire()
    zombie = worker.begin(home.first)
    bucket = other.begin(home.first)
    assert bucket.private
    add(bucket, 0)
    add(bucket, 1000)
    won = bucket.commit(0)
    other.end(bucket)
    worker.end(zombie)
    bucket = other.begin(won)
    assert not bucket.private
    assert counts(bucket) == expected(1)
    other.end(bucket)


def test_a_file_system_without_pipes_keeps_nothing(
    home: Home, hire: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, mode: int) -> None:
        raise PermissionError("no pipes here")

    monkeypatch.setattr("os.mkfifo", refuse)
    handle = hire().grow(home.first, range(3))[-1]
    until_free(home.path / "local")
    assert home.read(handle) == expected(3)


def test_workers_that_ask_each_other_all_the_time_lose_nothing(
    home: Home, hire: Callable[..., Worker]
) -> None:
    """Three workers, each with a thread of its own, take three buckets from each other."""
    workers = [hire(most=2, idle_s=0.02) for _ in range(3)]
    newest = dict.fromkeys("abc", home.first)
    turn = {name: threading.Lock() for name in "abc"}
    done = dict.fromkeys("abc", 0)
    failures: list[BaseException] = []

    def work(worker: Worker, order: str) -> None:
        try:
            for _ in range(15):
                for name in order:
                    with turn[name]:  # Spark has one call at a time on a bucket
                        newest[name] = worker.add(newest[name], done[name], local=name)
                        done[name] += 1
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(worker, order))
        for worker, order in zip(workers, ("abc", "bca", "cab"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for name in "abc":
        assert home.read(newest[name], local=name) == expected(45)
