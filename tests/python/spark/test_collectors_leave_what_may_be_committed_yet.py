"""A batch may take hours: what it will commit is told from garbage by its epoch and its pins."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from spark_buckets import GROUPS, HUGE, KEY, Home, add, expected

from flintstate.checkpoint.handle import Handle, new_id
from flintstate.checkpoint.retention import collect_orphans, delete_superseded
from flintstate.checkpoint.rivals import newest_epoch
from flintstate.checkpoint.storage import LocalStorage, ObjectInfo
from flintstate.checkpoint.upload import Upload
from flintstate.errors import InvalidError, NotFoundError
from flintstate.spark.bucket import Bucket, Limits

OVERDUE = Limits(log_bytes_min=1 << 40, log_segments_max=1)


class Dying(LocalStorage):
    """A storage whose process dies when it has written so many objects."""

    left = 0

    @contextmanager
    def writable(self, name: str) -> Iterator[IO[bytes]]:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        with super().writable(name) as file:
            yield file


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def grow_old(home: Home) -> None:
    """Everything in the storage was written hours ago."""
    for path in (home.path / "storage").rglob("*"):
        os.utime(path, (1_700_000_000,) * 2)


def collect(
    home: Home, committed: Handle, *, age_min_s: float = 0.0, retained: int = 100,
    rolled_back: bool = False,
) -> list[str]:  # fmt: skip
    grow_old(home)
    return collect_orphans(
        home.storage, [committed], last_batch=committed.batch, epoch_seen=seen(home),
        batches_retained=retained, age_min_s=age_min_s, rolled_back=rolled_back,
    )  # fmt: skip


def seen(home: Home) -> int:
    return newest_epoch(home.storage.list("groups/"))


def restored(home: Home, handle: Handle) -> list[int]:
    shutil.rmtree(home.path / "anew", ignore_errors=True)
    return home.read(handle, local="anew")


def uploaded(home: Home, handle: Handle) -> Upload:
    """A base of the handle's version that is done, and waits for a commit."""
    with home.bucket(handle) as bucket:
        upload = bucket._begin_upload()
    assert upload.run(home.storage)
    return upload


def test_a_batch_of_hours_commits_what_a_collector_saw(home: Home) -> None:
    committed = home.grow(home.first, 3)[-1]
    with home.bucket(committed) as attempt:
        add(attempt, 3)
        add(attempt, 1000)
        ours = attempt.commit(3)
        assert collect(home, committed) == []
    assert restored(home, ours) == expected(4)


def test_a_base_in_the_foreground_of_such_a_batch_stays(home: Home) -> None:
    committed = home.grow(home.first, 3)[-1]
    with home.bucket(committed, limits=OVERDUE) as attempt:
        add(attempt, 3)
        add(attempt, 1000)
        ours = attempt.commit(3)
        assert ours.base is not None
        assert collect(home, committed) == []
    assert restored(home, ours) == expected(4)


@pytest.mark.parametrize("written", range(1, 5))
def test_an_upload_of_hours_is_adopted_in_the_end(home: Home, written: int) -> None:
    committed = home.grow(home.first, 3)[-1]
    with home.bucket(committed) as bucket:
        upload = bucket._begin_upload()
    dying = Dying(home.path / "storage")
    dying.left = written
    with pytest.raises(KeyboardInterrupt):
        upload.run(dying)
    for batch in range(3, 6):  # others commit meanwhile
        committed = home.add(committed, batch, local="other")
        assert collect(home, committed) == []
    assert upload.run(home.storage)
    assert collect(home, committed) == []
    adopted = home.add(committed, 6)
    assert adopted.base is not None
    assert collect(home, committed) == []
    assert restored(home, adopted) == expected(7)


def test_a_base_that_a_batch_under_way_adopted_stays_when_its_pin_is_gone(home: Home) -> None:
    committed = home.grow(home.first, 3)[-1]
    upload = uploaded(home, committed)
    adopted = home.add(committed, 3)
    assert adopted.base is not None
    upload.remove(home.storage)
    assert collect(home, committed) == []
    assert restored(home, adopted) == expected(4)


def test_a_base_whose_pin_is_gone_is_not_adopted(home: Home) -> None:
    committed = home.grow(home.first, 3)[-1]
    uploaded(home, committed)
    (pin,) = (home.path / "storage" / GROUPS.prefix / "pin").iterdir()
    pin.unlink()
    assert any("/file/" in name for name in collect(home, committed))
    after = home.add(committed, 3)
    assert after.base is None
    assert restored(home, after) == expected(4)


def test_a_pin_that_goes_while_its_base_is_adopted_is_noticed(home: Home) -> None:
    committed = home.grow(home.first, 3)[-1]
    upload = uploaded(home, committed)

    class Between(LocalStorage):
        """Lets a collector take the pin just before the manifest is there."""

        @contextmanager
        def writable(self, name: str) -> Iterator[IO[bytes]]:
            self.delete(GROUPS.name("pin", upload._plan.id))
            with super().writable(name) as file:
                yield file

    assert upload.adopt(Between(home.path / "storage"), committed, 3) is None


def test_what_a_lost_upload_left_goes_with_the_next_base(home: Home) -> None:
    committed = home.grow(home.first, 3)[-1]
    uploaded(home, committed)
    shutil.rmtree(home.path / "local")  # and nobody will ever adopt it
    assert collect(home, committed) == []
    with home.bucket(committed, limits=OVERDUE) as bucket:
        add(bucket, 3)
        add(bucket, 1000)
        committed = bucket.commit(3)
    kinds = {name.split("/")[2] for name in collect(home, committed)}
    assert kinds >= {"pin", "file"}
    assert restored(home, committed) == expected(4)


def test_what_lost_attempts_left_goes(home: Home) -> None:
    handles = home.grow(home.first, 3)
    lost = home.add(handles[-1], 3, local="other")
    won = home.add(handles[-1], 3)
    assert collect(home, won) == [GROUPS.name("log", lost.version)]


def test_what_is_young_by_the_storages_clock_stays(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles = home.grow(home.first, 3)
    lost = home.add(handles[-1], 3, local="other")
    won = home.add(handles[-1], 3)
    monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)  # the collector's host is ahead
    arguments = {"last_batch": 3, "epoch_seen": 3, "batches_retained": 100, "age_min_s": 3600.0}
    assert collect_orphans(home.storage, [won], **arguments) == []  # type: ignore[arg-type]
    assert collect(home, won, age_min_s=3600.0) == [GROUPS.name("log", lost.version)]


def test_a_copied_checkpoint_that_is_behind_deletes_nothing(home: Home) -> None:
    handles = home.grow(home.first, 5)
    with pytest.raises(InvalidError, match=r"gone on to batch 4.*before batch 3"):
        collect(home, handles[3])
    assert restored(home, handles[-1]) == expected(5)


def test_a_query_may_go_on_while_a_collector_is_at_work(home: Home) -> None:
    handles = home.grow(home.first, 3)
    epoch_seen = seen(home)
    later = home.grow_from(handles[-1], range(3, 9))[-1]
    grow_old(home)
    assert not collect_orphans(
        home.storage, handles[-1:], last_batch=2, epoch_seen=epoch_seen, batches_retained=100,
        age_min_s=0,
    )  # fmt: skip
    assert restored(home, later) == expected(9)


def rivals(home: Home) -> tuple[Handle, Handle]:
    """Two that went on from one checkpoint's batch, to the same number of batches."""
    shared = home.grow(home.first, 3)[-1]
    original, copy = shared, shared
    for batch in range(3, 6):
        original = home.add(original, batch)
        copy = home.add(copy, batch, local="copy")
    return original, copy


def test_a_collector_beside_another_query_of_a_copied_checkpoint_is_refused(home: Home) -> None:
    for handle in rivals(home):
        with pytest.raises(InvalidError, match="another query has gone on with it"):
            collect(home, handle)
        with pytest.raises(InvalidError, match="another query has gone on with it"):
            delete_superseded(home.storage, handle, 1)
        assert restored(home, handle) == expected(6)


def test_a_query_beside_another_one_of_a_copied_checkpoint_takes_no_base(home: Home) -> None:
    handle, _ = rivals(home)
    with (
        home.bucket(handle, limits=OVERDUE) as bucket,
        pytest.raises(InvalidError, match="another query has gone on with it"),
    ):
        bucket.commit(6)


def test_what_a_rolled_back_query_left_behind_goes_when_it_is_said_so(home: Home) -> None:
    handles = home.grow(home.first, 6)
    back = handles[3]  # batch 2
    names = collect(home, back, rolled_back=True, age_min_s=3600.0)
    assert len(names) == 3
    assert restored(home, back) == expected(3)
    again = home.grow_from(back, range(3, 9))[-1]
    assert collect(home, again) == []
    assert restored(home, again) == expected(9)


def test_what_a_rolled_back_query_left_goes_whatever_the_clock_said(home: Home) -> None:
    handles = home.grow(home.first, 6)
    for path in (home.path / "storage").rglob("*"):
        os.utime(path, (time.time() + 7200,) * 2)  # it has been put right since
    names = collect_orphans(
        home.storage, [handles[3]], last_batch=2, epoch_seen=seen(home), batches_retained=100,
        rolled_back=True,
    )  # fmt: skip
    assert len(names) == 3
    assert seen(home) == 2


class Hiding(LocalStorage):
    """A storage that does not show everything at every moment."""

    from_listings = from_readers = "nothing"

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        return (info for info in super().list(prefix) if self.from_listings not in info.name)

    def readable(self, name: str) -> IO[bytes]:
        if self.from_readers in name:
            raise NotFoundError(f"{name}: for a moment")
        return super().readable(name)


def test_a_pin_that_a_listing_does_not_show_keeps_its_files(home: Home) -> None:
    storage = home.storage = Hiding(home.path / "storage")
    committed = home.grow(home.first, 4)[-1]
    uploaded(home, committed)
    storage.from_listings = "/pin/"
    assert collect(home, home.add(committed, 4, local="other")) == []


def test_an_index_that_can_not_be_read_for_a_moment_stays(home: Home) -> None:
    storage = home.storage = Hiding(home.path / "storage")
    older = home.grow(home.first, 12)[-1]
    handle = home.grow_from(older, range(12, 24))[-1]
    assert older.index is not None
    assert older.index != handle.index
    storage.from_readers = older.index.id.hex()
    assert collect(home, handle) == []
    storage.from_readers = "nothing"
    assert restored(home, older) == expected(12)


@pytest.mark.parametrize("kind", ["base", "index", "log", "file"])
def test_something_live_that_is_not_there_stops_a_collection(home: Home, kind: str) -> None:
    handle = home.grow(home.first, 3)[-1]
    with home.bucket(handle, limits=OVERDUE) as bucket:
        add(bucket, 3)
        add(bucket, 1000)
        handle = bucket.commit(3)
    handle = home.grow_from(handle, range(4, 16))[-1]
    home.add(home.grow(home.first, 1)[-1], 1, local="other")  # an attempt that lost
    (home.path / "storage" / GROUPS.prefix / kind).rename(home.path / "away")
    before = sorted(info.name for info in home.storage.list(""))
    with pytest.raises(NotFoundError, match="nothing was deleted"):
        collect(home, handle)
    if kind in ("base", "index"):
        with pytest.raises(NotFoundError, match="nothing was deleted"):
            delete_superseded(home.storage, handle, 1)
    assert sorted(info.name for info in home.storage.list("")) == before


def test_what_is_not_of_our_making_stays(home: Home) -> None:
    handle = home.grow(home.first, 2)[-1]
    home.storage.publish(GROUPS.prefix + "log/notes.txt", b"a user's own")
    home.storage.publish(GROUPS.prefix + "log/.writing-0123", b"of a writer that died")
    assert collect(home, handle) == [GROUPS.prefix + "log/.writing-0123"]


def test_another_bucket_may_not_have_committed_yet(home: Home) -> None:
    handle = home.grow(home.first, 2)[-1]
    never = replace(GROUPS, first=64)
    name = never.name("log", new_id(handle.batch + 1))
    home.storage.publish(name, b"of a batch under way")
    lost = never.name("log", new_id(handle.batch))
    home.storage.publish(lost, b"of one that lost")
    assert collect(home, handle) == [lost]


def test_a_private_copys_base_leaves_the_lock_holders_uploads_alone(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    with home.bucket(handle) as holder:
        add(holder, 0)
        with home.bucket(handle, limits=OVERDUE) as private:
            assert private.private
            add(private, 3)
            add(private, 1000)
            ours = private.commit(3)
            assert ours.base is not None
            assert not (home.path / "local" / "uploads").exists()
    assert not list((home.path / "local" / "private").iterdir())
    assert not list(home.storage.list(GROUPS.prefix + "pin/"))
    assert restored(home, ours) == expected(4)


def test_a_handle_says_where_it_was_written(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    (home.path / "storage").rename(home.path / "moved")
    home.storage = LocalStorage(home.path / "moved")
    assert home.add(handle, 3).root == str(home.path / "moved")


def test_a_bucket_that_is_kept_makes_one_request_a_commit(home: Home) -> None:
    requests: list[str] = []

    class Counting(LocalStorage):
        def readable(self, name: str) -> IO[bytes]:
            requests.append(name)
            return super().readable(name)

        @contextmanager
        def writable(self, name: str) -> Iterator[IO[bytes]]:
            requests.append(name)
            with super().writable(name) as file:
                yield file

        def list(self, prefix: str) -> Iterator:  # type: ignore[type-arg]
            requests.append(prefix)
            return super().list(prefix)

        def delete(self, name: str) -> None:
            requests.append(name)
            super().delete(name)

    home.storage = Counting(home.path / "storage")
    handle = home.grow(home.first, 12)[-1]
    bucket = Bucket(home.storage, home.path / "local", KEY, handle, HUGE)
    del requests[:]
    for batch in range(12, 19):
        add(bucket, batch % 5)
        add(bucket, 1000)
        handle = bucket.commit(batch)
        assert bucket.rest()
        assert bucket.resume(handle, lambda: 0)
    bucket.close()
    assert len(requests) <= 1  # the index, once, besides the segments that are written in place
