"""What time it is for a call on a heap state with a time to live."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

NEVER = -(1 << 65)
"""Before all times."""

Pair: TypeAlias = tuple[int | None, object]
"""A stamp and a value. What was written without a stamp does not expire."""


class Moment(NamedTuple):
    stamp: int | None
    """Of what is written."""
    horizon: int
    """What is stamped with this time or an earlier one has expired for this call."""
    gone: int
    """The same for all calls that may come."""
    event_time: bool = False
    """Stamps are rows' times, and a write lowers none."""

    def sees(self, stamp: int | None) -> bool:
        return stamp is None or stamp > self.horizon

    def over(self, stamp: int | None) -> int | None:
        """The stamp of what takes the place of something with this one."""
        if not self.event_time or stamp is None:
            return self.stamp
        return stamp if self.stamp is None else max(stamp, self.stamp)


TIMELESS = Moment(None, NEVER, NEVER)
"""Where there is no time to live."""
