"""What a state has done so far."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Latency:
    """Calls of one method that were timed."""

    samples: int = 0
    total_ns: int = 0
    max_ns: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class StateMetrics:
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
    latencies: dict[str, Latency] = dataclasses.field(default_factory=dict)
