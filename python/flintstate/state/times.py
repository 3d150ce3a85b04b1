"""Points in time as milliseconds since 1970, UTC."""

from __future__ import annotations

import datetime as dt
import time
from typing import TypeAlias

from flintstate.errors import InvalidError

Instant: TypeAlias = int | dt.datetime

_EPOCH = dt.datetime(1970, 1, 1)
_AWARE_EPOCH = _EPOCH.replace(tzinfo=dt.UTC)
_MILLISECOND = dt.timedelta(milliseconds=1)
_LIMIT = 1 << 63


def to_millis(instant: Instant) -> int:
    """Milliseconds since 1970. A datetime without a zone is UTC; parts of one are rounded up.

    Raises `InvalidError` for anything else, and where it does not fit 64 bits.
    """
    if isinstance(instant, dt.datetime):
        since = instant - (_EPOCH if instant.tzinfo is None else _AWARE_EPOCH)
        return -(-since // _MILLISECOND)
    if isinstance(instant, bool) or not isinstance(instant, int):
        raise InvalidError(f"a time is a datetime or milliseconds since 1970, not {instant!r}")
    if not -_LIMIT <= instant < _LIMIT:
        raise InvalidError(f"{instant} milliseconds since 1970 are out of range")
    return instant


def system_clock() -> int:
    """Now, by the system's clock."""
    return time.time_ns() // 1_000_000
