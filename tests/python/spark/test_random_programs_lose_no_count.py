"""Attempts, collectors, copies, rollbacks and damage in any order, over a storage that fails."""

import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
from spark_buckets import Home, Worker, add, counts, expected, remove, wait_for_background

from flintstate.checkpoint.handle import Handle
from flintstate.checkpoint.retention import collect_orphans
from flintstate.checkpoint.rivals import newest_epoch
from flintstate.checkpoint.storage import LocalStorage, ObjectInfo
from flintstate.errors import CorruptionError, FlintError, StorageError
from flintstate.spark.bucket import Limits

RETAINED = 4
LIMITS = Limits(log_bytes_min=1, log_segments_max=3, batches_retained=RETAINED)


class Failing(LocalStorage):
    """A storage of which some operations fail, before or after they took effect."""

    chance = random.Random(0)
    share = 0.0

    def fail(self, name: str) -> None:
        if self.chance.random() < self.share:
            raise StorageError(f"{name}: not now")

    @contextmanager
    def writable(self, name: str) -> Iterator[IO[bytes]]:
        self.fail(name)
        with super().writable(name) as file:
            yield file
        self.fail(name)

    def readable(self, name: str) -> IO[bytes]:
        self.fail(name)
        return super().readable(name)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        self.fail(prefix)
        yield from super().list(prefix)

    def delete(self, name: str) -> None:
        super().delete(name)
        self.fail(name)


class Query:
    """A query whose every batch counts, and two workers who share a local directory."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.home, self.chance = Home(path), chance
        self.home.storage = self.storage = Failing(path / "storage")
        self.storage.chance = chance
        self.committed = [self.home.first]
        self.readable_from = 0
        self.attempts: list[Handle] = []
        self.hire()

    def hire(self) -> None:
        self.workers = [Worker(self.home), Worker(self.home)]

    def dismiss(self) -> None:
        for worker in self.workers:
            worker.keeper.close()
        wait_for_background()

    @property
    def batch(self) -> int:
        return len(self.committed) - 1

    def attempt(self) -> None:
        worker = self.chance.choice(self.workers)
        bucket = worker.begin(self.committed[-1], limits=LIMITS)
        try:
            assert counts(bucket) == expected(self.batch)
            add(bucket, self.batch % 5)
            add(bucket, 1000)
            self.attempts.append(bucket.commit(self.batch))
        except FlintError as error:
            bucket.close(after=error)
            raise
        worker.end(bucket)

    def commit(self) -> None:
        if self.attempts:
            self.committed.append(self.chance.choice(self.attempts))
            self.attempts = []

    def collect(self, *, rolled_back: bool = False) -> None:
        self.change_the_clock()
        collect_orphans(
            self.storage, self.committed[-1:], last_batch=self.batch - 1,
            epoch_seen=newest_epoch(self.storage.list("groups/")), batches_retained=RETAINED,
            age_min_s=0, rolled_back=rolled_back,
        )  # fmt: skip

    def change_the_clock(self) -> None:
        for info in LocalStorage.list(self.storage, ""):
            with suppress(FileNotFoundError):  # an upload goes on
                when = time.time() + self.chance.choice([-90_000, 0, 4000])
                os.utime(self.home.path / "storage" / info.name, (when, when))

    def roll_back(self) -> None:
        if self.batch > RETAINED:
            self.dismiss()
            del self.committed[-self.chance.randrange(1, RETAINED) :]
            self.attempts, self.readable_from = [], self.batch
            self.storage.share = 0.0
            self.collect(rolled_back=True)
            self.hire()

    def damage(self) -> None:
        """A byte of any local file changes, through all its links."""
        self.dismiss()
        self.hire()
        files = sorted(path for path in self.home.path.glob("local/**/*") if path.is_file())
        if files and (size := (path := self.chance.choice(files)).stat().st_size):
            with open(path, "r+b") as file:
                file.seek(self.chance.randrange(size))
                file.write(self.chance.randbytes(1))

    def lose(self) -> None:
        remove(self.home.path / "local")

    def check(self) -> None:
        """All that Spark retains is restored."""
        for batch in range(max(self.readable_from, self.batch - RETAINED), self.batch + 1):
            shutil.rmtree(self.home.path / "anew", ignore_errors=True)
            assert self.home.read(self.committed[batch], local="anew") == expected(batch)


@pytest.mark.parametrize("part", range(3))
def test_what_is_retained_is_restored(tmp_path: Path, part: int, rounds: int) -> None:
    for seed in range(rounds):
        chance = random.Random(f"{part} {seed}")
        query = Query(tmp_path / str(seed), chance)
        seldom = [query.collect, query.damage, query.lose, query.roll_back]
        for step in range(40):
            query.storage.share = chance.choice([0.0, 0.05])
            move = chance.choice([query.attempt, query.commit, chance.choice(seldom)])
            with suppress(FlintError):
                move()
            query.storage.share = 0.0
            if step % 10 == 9:
                query.check()
        with suppress(CorruptionError):  # one call may meet what was damaged last
            query.attempt()
        query.attempt()
        query.commit()
        query.dismiss()
        query.check()
