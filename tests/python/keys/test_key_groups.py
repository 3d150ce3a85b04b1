"""Key groups: the same for the same values, however a table declares its key."""

import pyarrow as pa
import pytest
from hypothesis import given

import flintstate as fs
from flintstate import _core
from key_columns import Keys, keys

TABLE = pa.table({"a": range(10_000), "s": [str(i % 77) for i in range(10_000)]})

# XXH64 of the canonical key with the seed 0x666C696E74, modulo 32768: from another implementation.
PUBLISHED = {b"": 5802, b"x": 1211, b"x" * 31: 7819, b"x" * 32: 10993, b"x" * 99: 28355}


def test_groups_are_the_published_hash() -> None:
    values = list(PUBLISHED)
    assert _core._key_groups(pa.table({"b": values}), 32768) == list(PUBLISHED.values())


@given(keys())
def test_nullability_and_layout_do_not_count(some: Keys) -> None:
    table = some.table()
    groups = _core._key_groups(table, 32768)
    nullable = pa.schema([field.with_nullable(True) for field in table.schema])
    assert _core._key_groups(table.cast(nullable), 32768) == groups
    assert [g for i in range(table.num_rows) for g in _core._key_groups(table.slice(i, 1), 32768)] \
        == groups  # fmt: skip


@pytest.mark.parametrize("max_parallelism", [1, 2, 127, 128, 32768])
def test_every_group_is_used_and_none_past_the_last(max_parallelism: int) -> None:
    groups = _core._key_groups(TABLE, max_parallelism)
    assert min(groups) >= 0
    assert max(groups) < max_parallelism
    assert len(set(groups)) >= min(max_parallelism, 8_000) * 0.9


@pytest.mark.parametrize("max_parallelism", [0, 32769])
def test_a_max_parallelism_out_of_range_is_refused(max_parallelism: int) -> None:
    with pytest.raises(fs.InvalidError, match="choose 1 to 32768"):
        _core._key_groups(TABLE, max_parallelism)
