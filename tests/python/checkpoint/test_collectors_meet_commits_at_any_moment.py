"""A query, its uploads and a collector, each in the middle of what another one does."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from flintstate.checkpoint.base import Manifest
from flintstate.checkpoint.handle import (
    EMPTY_VERSION,
    Groups,
    Handle,
    Segment,
    new_id,
    new_state_id,
)
from flintstate.checkpoint.retention import collect_orphans, delete_superseded
from flintstate.checkpoint.rivals import newest_epoch
from flintstate.checkpoint.storage import LocalStorage, ObjectInfo
from flintstate.checkpoint.upload import Upload
from flintstate.errors import CorruptionError, NotFoundError

GROUPS = Groups(128, 0, 127)
RETAINED = 4


class Interrupted(LocalStorage):
    """A storage in whose every operation someone else may do something first."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.between: Callable[[], None] = lambda: None

    @contextmanager
    def writable(self, name: str) -> Iterator[IO[bytes]]:
        self.between()
        with super().writable(name) as file:
            yield file
        self.between()

    def readable(self, name: str) -> IO[bytes]:
        self.between()
        return super().readable(name)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        for info in super().list(prefix):
            self.between()
            yield info
        self.between()

    def delete(self, name: str) -> None:
        self.between()
        super().delete(name)


class Query:
    """Commits batches, some of which run several times; takes bases beside that."""

    def __init__(self, home: Path, chance: random.Random) -> None:
        self.home, self.chance = home, chance
        self.storage = Interrupted(home / "root")
        self.storage.publish("claim", b"")
        first = Handle(
            state_id=new_state_id(), root="/r", groups=GROUPS, batch=-1, version=EMPTY_VERSION,
            last_sequence=0,
        )  # fmt: skip
        self.committed = [first]
        self.attempts: list[Handle] = []

    @property
    def last(self) -> Handle:
        return self.committed[-1]

    @property
    def next_batch(self) -> int:
        return len(self.committed) - 1

    def step(self) -> None:
        moves = [self.attempt] * 3 + [self.commit] * 3 + [self.begin, self.upload] * 2
        self.chance.choice([*moves, self.tidy, self.lose])()

    def attempt(self) -> None:
        batch, start = self.next_batch, self.last
        handle = start
        if self.chance.random() < 0.8:
            version = new_id(batch)
            self.storage.publish(GROUPS.name("log", version), b"segment")
            handle = handle.with_segment(self.storage, Segment(version, 7, 0, batch), batch)
        for upload in self.uploads():
            if upload.done() and upload.continues(start, self.chain(start)):
                base = upload.adopt(self.storage, start, batch)
                if base is not None:
                    handle = handle.with_base(self.storage, base, batch)
                    break
                upload.remove(self.storage)
        if batch == self.next_batch:  # or it was committed meanwhile: an attempt that lost
            self.attempts.append(handle)

    def commit(self) -> None:
        if self.attempts:
            self.committed.append(self.chance.choice(self.attempts))
            self.attempts = []

    def begin(self) -> None:
        handle = self.chance.choice([self.last, *self.attempts])
        if handle.version == EMPTY_VERSION:
            return
        directory = self.home / "uploads" / new_id(0).hex()
        (directory / "files").mkdir(parents=True)
        (directory / "files" / "old.part").write_bytes(b"never changes")
        (directory / "files" / "new.part").write_bytes(handle.version)
        Upload.begin(directory, handle)

    def upload(self) -> None:
        for upload in self.uploads():
            try:
                upload.run(self.storage)
            except (CorruptionError, NotFoundError):
                assert not upload.directory.exists()

    def tidy(self) -> None:
        for upload in self.uploads():
            if upload.continues(self.last, self.chain(self.last)):
                continue
            if self.last.base is not None and upload.handle.version == self.last.base.version:
                delete_superseded(self.storage, self.last, RETAINED)
            upload.remove(self.storage)

    def lose(self) -> None:
        if self.chance.random() < 0.2:
            shutil.rmtree(self.home / "uploads", ignore_errors=True)

    def uploads(self) -> list[Upload]:
        return list(Upload.all(self.home / "uploads"))

    def chain(self, handle: Handle) -> set[bytes]:
        return {segment.version for segment in handle.segments(self.storage)}

    def collect(self) -> None:
        epoch_seen = newest_epoch(self.storage.list("groups/"))
        batch, handle = self.next_batch - 1, self.last
        if batch >= 0:
            collect_orphans(
                self.storage, [handle], last_batch=batch, epoch_seen=epoch_seen,
                batches_retained=RETAINED + 3, age_min_s=0,
            )  # fmt: skip

    def missing(self) -> list[str]:
        """What restoring what Spark retains, or may commit next, would not find."""
        plain = LocalStorage(self.home / "root")
        there = {info.name for info in plain.list("")}
        names = set()
        for handle in (*self.committed[-RETAINED:], *self.attempts):
            names |= {GROUPS.name("log", s.version) for s in handle.segments(plain)}
            if handle.base is not None:
                names |= Manifest.read(plain, GROUPS, handle.base).file_names(GROUPS)
        return sorted(names - there)


def collects_again(query: Query) -> None:
    """A collector that read what was superseded before it got there stops, and may try again."""
    try:
        query.collect()
    except NotFoundError as error:
        if "nothing was deleted" not in str(error):
            raise


@pytest.mark.parametrize("interrupted", ["collector", "query"])
def test_nothing_that_may_be_restored_is_missing(
    tmp_path: Path, interrupted: str, rounds: int
) -> None:
    for seed in range(rounds):
        chance = random.Random(f"{interrupted} {seed}")
        query = Query(tmp_path / str(seed), chance)
        steps: list[Callable[[], None]] = [partial(collects_again, query), query.step]
        outer, inner = steps if interrupted == "collector" else reversed(steps)
        steps_left = 80
        while steps_left > 0 or not any(handle.base for handle in query.committed):
            steps_left -= 1
            query.storage.between = partial(sometimes, inner, query)
            outer()
            query.storage.between = lambda: None
            query.step()
            assert query.missing() == [], f"seed {seed}"


def sometimes(step: Callable[[], None], query: Query) -> None:
    if query.chance.random() < 0.03:
        again, query.storage.between = query.storage.between, lambda: None
        for _ in range(query.chance.randrange(12)):
            step()
        query.storage.between = again
