"""What a state has done so far."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Latency(NamedTuple):
    """Calls of one method that were timed."""

    samples: int = 0
    total_ns: int = 0
    max_ns: int = 0


class StateMetrics(NamedTuple):
    """Counted since the backend was opened.

    A heap backend answers all reads itself, and makes no bytes. `latencies` has the methods that
    were timed, by name, where the backend was opened with `time_every`.
    """

    reads: int = 0
    writes: int = 0
    cache_hits: int = 0
    store_reads: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    latencies: Mapping[str, Latency] = MappingProxyType({})
