"""Which trigger a query was started with: known on the driver alone, and late.

In the processing-time mode Spark has no-data batches for ever, since a time-out may always come. A
query with availableNow, which ends when there is nothing left to run, does not end then.
"""

from __future__ import annotations

import weakref
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession

from flintstate.errors import InvalidError
from flintstate.spark.listening import StartListener

__all__ = ["refuse_endless_trigger", "watch_triggers"]

_ENDLESS = "flintstate.endless"
_NO_DATA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
_watched: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def watch_triggers(session: SparkSession) -> None:
    """Lets the tasks of queries that begin from now on know of a trigger that never ends."""
    if session not in _watched:
        _watched.add(session)
        session.streams.addListener(_Watcher(session))


def refuse_endless_trigger() -> None:
    """Raises InvalidError in a task of a query that would never end, although it is to."""
    context: Any = TaskContext.get()
    if context.getLocalProperty(_ENDLESS) is not None:
        raise InvalidError(
            "trigger(availableNow=True) with time_mode='processing': the query would never end, "
            "as a timer may always come. Give it a trigger(processingTime=...); or set "
            f"{_NO_DATA_BATCHES} to false, then it ends with the input, and what is due later "
            "fires in a later run"
        )


class _Watcher(StartListener):
    """Marks a query's own thread as it starts; Spark hands such marks on to the tasks."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        java: Any = self._session._jsparkSession
        execution = java.streams().get(str(event.id)).streamingQuery()
        if execution.trigger().toString() != "AvailableNowTrigger":
            return
        if execution.sparkSession().conf().get(_NO_DATA_BATCHES, "true") == "true":
            self._session.sparkContext.setLocalProperty(_ENDLESS, "true")
