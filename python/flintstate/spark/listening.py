"""What the listeners of ours have in common: they wait for queries to start."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

__all__ = ["StartListener"]


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
