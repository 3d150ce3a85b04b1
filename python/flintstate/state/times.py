"""Points in time as milliseconds since 1970, UTC."""

from __future__ import annotations

import datetime as dt
import operator
import time
from collections.abc import Callable
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


def row_time(millis: int | None) -> int | None:
    """The event time of a row or timer: the least of all times is that of no row."""
    return None if millis == -_LIMIT else millis


def checked(clock: Callable[[], int]) -> Callable[[], int]:
    """A clock of the user's, whose answers are held to be milliseconds: `InvalidError` else."""

    def ask() -> int:
        now = clock()
        try:
            millis = operator.index(now)
        except TypeError:
            millis = _LIMIT
        if not -_LIMIT < millis < _LIMIT:
            raise InvalidError(
                f"the clock said {now!r}; it must give an int, in milliseconds since 1970"
            )
        return millis

    return ask


def from_millis(millis: int) -> dt.datetime:
    """The time that is so many milliseconds after 1970, as a datetime in UTC: what a function that
    has a timer's time, the watermark or the clock puts into a timestamp column, or a state.

    Raises `InvalidError` where a datetime can't hold it.

    >>> from_millis(1_767_225_600_000)
    datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        return _AWARE_EPOCH + millis * _MILLISECOND
    except TypeError:
        raise InvalidError(f"from_millis({millis!r}): give milliseconds since 1970") from None
    except OverflowError:
        raise InvalidError(
            f"{millis} milliseconds since 1970: a datetime is of the years 1 to 9999"
        ) from None


def system_clock() -> int:
    """Now, by the system's clock."""
    return time.time_ns() // 1_000_000
