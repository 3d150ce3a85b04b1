"""Options as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from flintstate.errors import InvalidError

__all__ = ["list_of_names", "parse_size"]

_UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def parse_size(size: int | str, option: str) -> int:
    """Bytes from a number of them or from text: "64MB", "1.5 GB"; a KB is 1024 bytes.

    Raises InvalidError, naming the option, where it is neither or not positive.

    >>> parse_size("64MB", "memory")
    67108864
    """
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?(B?)\s*", size, re.IGNORECASE)
        if match is None:
            raise InvalidError(f'{option}: {size!r} is no size: write "64MB" or a number of bytes')
        number, prefix, _ = match.groups()
        size = int(float(number) * _UNITS[f"{prefix.upper()}B" if prefix else ""])
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise InvalidError(f"{option}: {size!r} is no size: give a positive number of bytes")
    return size


def list_of_names(names: Iterable[str], option: str) -> list[str]:
    """Raises InvalidError, naming the option, for a bare name: its letters would be taken for many.

    >>> list_of_names(("url", "ms"), "columns")
    ['url', 'ms']
    """
    if isinstance(names, str):
        raise InvalidError(f"{option}={names!r}: give a list of names: {option}=[{names!r}]")
    return list(names)
