"""Labels for buckets, each of which Spark's hash puts into a shuffle partition of its choice."""

from __future__ import annotations

__all__ = ["choose_labels", "murmur3_of_int"]

_MASK = 0xFFFFFFFF
_SEED = 42  # Spark's


def choose_labels(buckets: int, partitions: int) -> list[int]:
    """A label for each bucket: bucket `b` goes to shuffle partition `b % partitions`.

    >>> labels = choose_labels(4, 2)
    >>> [murmur3_of_int(label) % 2 for label in labels]
    [0, 1, 0, 1]
    """
    wanted = [0] * partitions
    for bucket in range(buckets):
        wanted[bucket % partitions] += 1
    found: list[list[int]] = [[] for _ in range(partitions)]
    missing, label = buckets, 0
    while missing:
        mine = found[murmur3_of_int(label) % partitions]
        if len(mine) < wanted[murmur3_of_int(label) % partitions]:
            mine.append(label)
            missing -= 1
        label += 1
    return [found[bucket % partitions][bucket // partitions] for bucket in range(buckets)]


def murmur3_of_int(value: int) -> int:
    """Spark's hash of a non-negative 32-bit integer column, signed as Spark has it."""
    k = value * 0xCC9E2D51 & _MASK
    k = (k << 15 | k >> 17) & _MASK
    h = _SEED ^ k * 0x1B873593 & _MASK
    h = (h << 13 | h >> 19) & _MASK
    h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 4  # its length in bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (h >> 31 << 32)
