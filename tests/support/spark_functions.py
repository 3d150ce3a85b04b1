"""Functions that the tests' streams run. Workers find this module by name."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from flintstate.spark import KeyedProcessFunction
from flintstate.spark.bucket import Bucket

OUT = "user long, n long"
RESUME = Bucket.resume


class Count(KeyedProcessFunction[Any]):
    """The number of rows seen of each user."""

    def open(self, ctx: Any) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        n = self.n.value() + 1
        self.n.update(n)
        yield ctx.current_key, n


class CountAndSum(Count):
    """What `Count` may become in a later version: with a state more."""

    def open(self, ctx: Any) -> None:
        super().open(ctx)
        self.sum = ctx.value_state("sum", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.sum.update(self.sum.value() + row.user)
        for user, n in super().process_element(row, ctx):
            yield user, n, self.sum.value()


class Trouble(Count):
    """Counts; at a row of user `at` something happens, once for each marker file."""

    def __init__(self, home: Path, at: int) -> None:
        self.home, self.at = home, at

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        if row.user == self.at and self.once():
            self.happen()
        yield from super().process_element(row, ctx)

    def once(self) -> bool:
        try:
            (self.home / "happened").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def happen(self) -> None:
        raise NotImplementedError


class Raises(Trouble):
    def happen(self) -> None:
        raise ArithmeticError("the first attempt fails")


class KillsItsWorker(Trouble):
    def happen(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class DiesAtRandom(Count):
    """Every third call makes its worker die within a fifth of a second, whatever it does then."""

    def open(self, ctx: Any) -> None:
        super().open(ctx)
        if random.SystemRandom().random() < 1 / 3:
            wait = random.SystemRandom().uniform(0, 0.2)
            threading.Timer(wait, os.kill, (os.getpid(), signal.SIGKILL)).start()


class KillsItsExecutor(Trouble):
    """Kills its executor, which takes all of its workers along."""

    def happen(self) -> None:
        executor = executor_of_this_worker()
        (self.home / "killed").write_text(Path(f"/proc/{executor}/cmdline").read_text())
        os.kill(executor, signal.SIGKILL)
        time.sleep(60)


class OutlivesItsExecutor(Trouble):
    """Kills its executor, lives on, and commits when the batch was long done by another."""

    def happen(self) -> None:
        executor = executor_of_this_worker()
        os.setsid()
        os.kill(executor, signal.SIGKILL)
        note_when_committed(self.home / "zombie-committed")
        time.sleep(4)


class IsSlowToEnd(Trouble):
    """Commits, and then hangs before Spark hears of it, so that Spark starts a twin."""

    def happen(self) -> None:
        note_when_committed(self.home / "slow-committed", then_sleep=60)

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        context: Any = TaskContext.get()
        if row.user == self.at:
            (self.home / f"attempt-{context.attemptNumber()}-{context.taskAttemptId()}").touch()
        yield from super().process_element(row, ctx)


class NotesWhatIsKept(Count):
    """Counts; leaves a file for each call that goes on with a store that its worker kept."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def open(self, ctx: Any) -> None:
        super().open(ctx)

        def noted(bucket: Bucket, *arguments: Any) -> bool:
            fits = RESUME(bucket, *arguments)
            if fits:
                (self.home / f"kept-{time.monotonic_ns()}").touch()
            return fits

        Bucket.resume = noted  # type: ignore[method-assign]


def executor_of_this_worker() -> int:
    """The process that started the daemon that forked this one."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().split()[3])


def note_when_committed(note: Path, then_sleep: float = 0) -> None:
    """Lets this process's next commit leave a note, and take its time after that."""
    commit = Bucket.commit

    def noted(self: Bucket, batch: int) -> Any:
        handle = commit(self, batch)
        note.write_text(handle.version.hex())
        time.sleep(then_sleep)
        return handle

    Bucket.commit = noted  # type: ignore[method-assign]
