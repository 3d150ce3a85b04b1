"""The local store is a cache: whatever is left of it, a bucket opens at what the handle says."""

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest
from spark_buckets import (
    GROUPS,
    HUGE,
    KEY,
    SMALL,
    Home,
    add,
    counts,
    expected,
    wait_for_background,
)

from flintstate.checkpoint.handle import EMPTY_VERSION
from flintstate.checkpoint.locking import FileLock
from flintstate.errors import CorruptionError, NotFoundError
from flintstate.spark import bucket as module
from flintstate.spark.bucket import Bucket, Limits
from flintstate.spark.private import PrivatePlace


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_each_commit_is_seen_by_the_next(home: Home) -> None:
    handles = home.grow(home.first, 12)
    assert home.read(handles[-1]) == expected(12)


def test_a_batch_without_changes_writes_nothing_and_keeps_the_version(home: Home) -> None:
    handle = home.grow(home.first, 2)[-1]
    with home.bucket(handle) as bucket:
        counts(bucket)
        again = bucket.commit(2)
    assert again.version == handle.version
    assert len(list(home.storage.list(GROUPS.prefix))) == 2


def test_a_batch_that_runs_again_starts_from_the_same_state(home: Home) -> None:
    handles = home.grow(home.first, 3)
    lost = home.add(handles[-1], 3)  # committed by us, never by Spark
    again = home.add(handles[-1], 3)
    assert lost.version != again.version
    assert home.read(again) == expected(4)
    assert home.read(handles[-1]) == expected(3)


def test_a_call_that_dies_before_its_commit_leaves_no_trace(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    with home.bucket(handle) as bucket:
        add(bucket, 0)
    assert home.read(handle) == expected(3)


def test_every_older_version_can_be_opened(home: Home) -> None:
    handles = home.grow(home.first, 14)
    for batches in (13, 2, 14, 0, 7):
        assert home.read(handles[batches]) == expected(batches)


def test_an_emptied_local_directory_is_restored(home: Home) -> None:
    handle = home.grow(home.first, 13)[-1]
    shutil.rmtree(home.path / "local")
    assert home.read(handle) == expected(13)


def test_a_store_that_lags_is_replayed_forward(home: Home) -> None:
    handles = home.grow(home.first, 4)
    shutil.copytree(home.path / "local", home.path / "other")
    for batch in range(4, 16):
        handles.append(home.add(handles[-1], batch))
    assert home.read(handles[-1], local="other") == expected(16)


def test_a_damaged_local_store_is_restored(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    for path in (home.path / "local").rglob("*"):
        if path.is_file() and path.name.startswith(("MANIFEST", "CURRENT")):
            path.write_bytes(b"rubbish")
    assert home.read(handle) == expected(3)


def test_rivals_that_share_a_parent_do_not_meet(home: Home) -> None:
    handle = home.grow(home.first, 2)[-1]
    first = home.add(handle, 2, local="a")
    second = home.add(handle, 3, local="b")
    assert home.read(first, local="b") == expected(3)
    assert home.read(second, local="a")[3:] == [1, 0, 3]


def test_a_lock_that_is_not_to_be_had_means_a_copy_of_ones_own(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_WAIT_S", 0.1)
    handle = home.grow(home.first, 3)[-1]
    with home.bucket(handle) as zombie:
        add(zombie, 0)
        with home.bucket(handle) as bucket:
            assert bucket.private
            add(bucket, 3)
            add(bucket, 1000)
            won = bucket.commit(3)
        zombie.commit(3)  # wakes late, and is an orphan
    assert home.read(won) == expected(4)
    assert not list((home.path / "local" / "private").iterdir())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_copy_of_ones_own_that_a_killed_worker_left_goes(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    copies = home.path / "local" / "private"
    with home.bucket(handle):
        killed = os.fork()
        if killed == 0:
            try:
                assert Bucket(home.storage, home.path / "local", KEY, handle).private
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        assert os.waitpid(killed, 0)[1] == signal.SIGKILL
        left = list(copies.iterdir())
        assert [(place / "db").is_dir() for place in left] == [True]
        with home.bucket(handle) as alive:
            assert alive.private
    held = PrivatePlace(home.path / "local")
    assert home.read(handle) == expected(3)
    assert list(copies.iterdir()) == [held.directory]
    held.remove()
    assert not list(copies.iterdir())


def test_a_lock_is_waited_for_while_its_holder_closes(home: Home) -> None:
    handle = home.grow(home.first, 1)[-1]
    lock = FileLock(home.path / "local" / "lock")
    assert lock.acquire(0.0)
    threading.Timer(0.2, lock.release).start()
    with home.bucket(handle) as bucket:
        assert not bucket.private


def test_a_missing_or_damaged_segment_is_refused_by_name(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    shutil.rmtree(home.path / "local")
    segment = handle.recent[1].version.hex()
    path = next((home.path / "storage").rglob(segment))
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
        path.write_bytes(damaged)
        with pytest.raises(CorruptionError, match=segment):
            home.read(handle)
    path.unlink()
    with pytest.raises((NotFoundError, OSError), match=segment):
        home.read(handle)
    path.write_bytes(whole)
    assert home.read(handle) == expected(3)


def test_an_older_copy_of_the_state_directory_put_back_is_not_gone_on_from(home: Home) -> None:
    handles = home.grow(home.first, 2)
    storage, copy, newer = (home.path / name for name in ("storage", "copy", "newer"))
    shutil.copytree(storage, copy)
    handles.append(home.add(handles[-1], 2))
    storage.rename(newer)
    shutil.copytree(copy, storage)
    with pytest.raises(NotFoundError, match="older copy of the state directory"):
        home.add(handles[-1], 3)
    shutil.rmtree(storage)
    newer.rename(storage)
    assert home.read(home.add(handles[-1], 3)) == expected(4)


def test_bases_are_taken_in_the_background_and_adopted_later(home: Home) -> None:
    handles = [home.first]
    for batch in range(12):
        bucket = Bucket(home.storage, home.path / "local", KEY, handles[-1], SMALL)
        add(bucket, batch % 5)
        add(bucket, 1000)
        handles.append(bucket.commit(batch))
        bucket.close(background=True)
        wait_for_background()
    assert handles[-1].base is not None
    assert handles[-1].base.version != EMPTY_VERSION
    assert len(handles[-1].segments(home.storage)) < 12
    shutil.rmtree(home.path / "local")
    for batches in (12, 5, 0, 9):
        assert home.read(handles[batches]) == expected(batches)


def test_an_upload_that_a_death_cut_short_is_continued_by_the_next(home: Home) -> None:
    handle = home.grow(home.first, 5)[-1]
    with home.bucket(handle) as bucket:
        bucket._begin_upload()  # and dies before it uploads anything
    after = Bucket(home.storage, home.path / "local", KEY, handle, HUGE)
    after.close(background=True)
    wait_for_background()
    adopted = home.add(handle, 5)
    assert adopted.base is not None
    shutil.rmtree(home.path / "local")
    assert home.read(adopted) == expected(6)


def test_an_overdue_base_is_uploaded_in_the_foreground(home: Home) -> None:
    handle = home.grow(home.first, 5)[-1]
    with home.bucket(handle, limits=Limits(log_bytes_min=1 << 40, log_segments_max=2)) as bucket:
        add(bucket, 0)
        add(bucket, 1000)
        rebased = bucket.commit(5)
    assert rebased.base is not None
    assert rebased.segments(home.storage) == []
    shutil.rmtree(home.path / "local")
    assert home.read(rebased) == expected(6)


def test_an_upload_of_a_version_that_lost_is_thrown_away(home: Home) -> None:
    handles = home.grow(home.first, 3)
    with home.bucket(handles[-1]) as bucket:
        bucket._begin_upload().run(home.storage)
    again = home.add(handles[1], 1)
    assert again.base is None
    assert not list((home.path / "local" / "uploads").iterdir())


def test_a_bucket_that_could_not_be_opened_leaves_no_store_open(home: Home) -> None:
    handle = home.grow(home.first, 12)[-1]
    with home.bucket(handle) as bucket:
        bucket._begin_upload()
    (home.path / "storage" / GROUPS.prefix / "index").rename(home.path / "away")
    with pytest.raises(NotFoundError, match="index") as caught:
        home.read(handle)
    held = [os.readlink(f"/proc/self/fd/{name}") for name in open_files()]
    assert not [path for path in held if path.startswith(str(home.path))], caught
    (home.path / "away").rename(home.path / "storage" / GROUPS.prefix / "index")
    assert home.read(handle) == expected(12)


def open_files() -> list[str]:
    return [name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
