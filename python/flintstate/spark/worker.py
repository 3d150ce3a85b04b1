"""What a Python worker of Spark's, which runs one task after another, is spared."""

from __future__ import annotations

import gc
import os

from pyspark import TaskContext

__all__ = ["runs_many_tasks", "settle_worker"]

_task: int | None = None  # the first one that came here
_settled = False


def settle_worker() -> None:
    """Called at the beginning of each call from Spark.

    Spark looks for garbage after every task, among all objects that a worker has imported: 50 to
    100 ms of a core, four times a batch, while the next stage wants it. In a worker's second task
    what it imports is there, and Spark has just collected: what is alive now stays out of that.
    """
    global _task, _settled
    context = TaskContext.get()
    if _settled or context is None:
        return
    if _task is None:
        _task = context.taskAttemptId()
    elif _task != context.taskAttemptId():
        gc.freeze()
        _settled = True


def runs_many_tasks() -> bool:
    """Whether this is a worker that Spark uses again (spark.python.worker.reuse)."""
    return "SPARK_REUSE_WORKER" in os.environ
