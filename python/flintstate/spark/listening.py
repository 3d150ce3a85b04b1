"""The listeners of ours: they wait for queries to start."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

__all__ = ["StartListener", "as_it_starts"]


class StartListener(StreamingQueryListener):
    """Spark calls `onQueryStarted` on the query's own thread, before it plans the first batch."""

    @abstractmethod
    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """See StreamingQueryListener."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass


def as_it_starts(session: SparkSession, packer: str, do: Callable[[Any], None]) -> None:
    """Calls `do` with Spark's execution of the query that has this packer, once it starts."""
    session.streams.addListener(_Starting(session, packer, do))


class _Starting(StartListener):
    """Waits for one query to start."""

    def __init__(self, session: SparkSession, packer: str, do: Callable[[Any], None]) -> None:
        self._session = session
        self._packer = packer
        self._do = do

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        java: Any = self._session._jsparkSession
        # Where it has ended already, or Spark has these under other names, it runs as it would.
        with contextlib.suppress(Py4JError, AttributeError):
            execution = java.streams().get(str(event.id)).streamingQuery()
            if f" {self._packer}(" in execution.analyzedPlan().toString():
                self._do(execution)
                self._session.streams.removeListener(self)
