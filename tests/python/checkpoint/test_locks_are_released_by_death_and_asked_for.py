"""One process at a time has a lock, a death frees it, and whoever waits for it can be heard."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from flintstate.checkpoint.locking import Doorbell, FileLock


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    mine, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert mine.acquire(0.0)
    assert not other.acquire(0.02)
    mine.release()
    assert other.acquire(0.0)
    other.release()


def test_whoever_waits_asks_again_and_again(tmp_path: Path) -> None:
    mine, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert mine.acquire(0.0)
    asked = []

    def ask() -> None:
        asked.append(1)
        if len(asked) == 3:
            mine.release()

    assert other.acquire(30.0, ask)
    assert len(asked) == 3
    other.release()


def test_a_busy_holder_is_not_waited_for(tmp_path: Path) -> None:
    mine, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert mine.acquire(0.0)
    mine.say_busy(True)
    assert not other.acquire(3600.0)
    mine.say_busy(False)
    assert other.acquire(30.0, mine.release)
    other.release()


def test_a_holder_that_died_while_busy_is_forgotten(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        lock = FileLock(tmp_path / "lock")
        lock.acquire(0.0)
        lock.say_busy(True)
        os._exit(0)
    os.waitpid(child, 0)
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire(0.0)
    assert not FileLock(tmp_path / "lock").acquire(0.02)
    lock.release()


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire(0.0)
    child = os.fork()
    if child == 0:
        time.sleep(600)
    try:
        lock.release()
        assert lock.acquire(0.0)
        lock.release()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_the_lock_of_a_removed_file_is_nobodys(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "home" / "lock")
    assert lock.acquire(0.0)
    assert lock.in_place()
    shutil.rmtree(tmp_path / "home")
    assert not lock.in_place()
    other = FileLock(tmp_path / "home" / "lock")
    assert other.acquire(0.0)
    assert other.in_place()
    assert not lock.in_place()
    lock.release()
    assert not FileLock(tmp_path / "home" / "lock").acquire(0.0)
    other.release()


def test_a_lock_that_is_waited_for_is_that_of_the_path(tmp_path: Path) -> None:
    lock, other = FileLock(tmp_path / "home" / "lock"), FileLock(tmp_path / "home" / "lock")
    assert lock.acquire(0.0)
    assert other.acquire(30.0, lambda: shutil.rmtree(tmp_path / "home"))
    assert other.in_place()
    lock.release()
    other.release()


def test_a_ring_is_heard_by_whoever_listens(tmp_path: Path) -> None:
    bell, visitor = Doorbell(tmp_path / "bell"), Doorbell(tmp_path / "bell")
    visitor.ring()  # no pipe
    bell.listen()
    assert not bell.rung()
    visitor.ring()
    visitor.ring()
    assert bell.rung()
    assert not bell.rung()
    bell.close()
    visitor.ring()  # a pipe, and nobody there
    assert not bell.rung()
    bell.listen()
    assert not bell.rung()
    bell.close()


def test_a_bell_that_can_not_be_hung_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Doorbell(tmp_path / "nowhere" / "bell").listen()
