"""Whose a state directory is, told by the driver as a query starts.

Nothing in a batch can tell: the first ones may have no rows, nor partitions, so that no function
of ours is called; and a bucket that is new in a later batch looks like one whose files were lost.
"""

from __future__ import annotations

import contextlib
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from flintstate.checkpoint.storage import Storage
from flintstate.errors import FlintError, NotFoundError
from flintstate.spark.claim import claim_query, is_claimed
from flintstate.spark.listening import as_it_starts
from flintstate.spark.reading import committed

__all__ = ["claim_as_it_starts"]


def claim_as_it_starts(session: SparkSession, packer: str, storage: Storage) -> None:
    """Notes the query that has this packer as the state directory's own, once it starts.

    Not where Spark's state points to buckets that the directory knows nothing of: it was moved or
    emptied then, and the tasks refuse it.
    """

    def claim(execution: Any) -> None:
        with contextlib.suppress(FlintError, PySparkException):  # the tasks say what is wrong
            if not is_claimed(storage) and _has_no_bucket(session, execution):
                claim_query(storage, execution.id().toString(), 0)

    as_it_starts(session, packer, claim)


def _has_no_bucket(session: SparkSession, execution: Any) -> bool:
    """Whether no batch that Spark has committed has called a bucket."""
    if execution.commitLog().getLatestBatchId().isEmpty():
        return True
    try:
        return not committed(session, execution.resolvedCheckpointRoot(), None)
    except NotFoundError:
        return True
