"""What a dict does, a table does alike."""

from __future__ import annotations

import pytest

import flintstate as fs


def row(n: int) -> dict[str, object]:
    return {"text": f"t{n}", "n": n}


@pytest.fixture
def full(table: fs.Table) -> fs.Table:
    table.update({n: row(n) for n in range(4)})
    return table


def test_an_absent_key_can_not_be_deleted(full: fs.Table) -> None:
    with pytest.raises(KeyError) as raised:
        del full[9]
    assert raised.value.args == (9,)
    del full[2]
    with pytest.raises(KeyError):
        del full[2]
    assert list(full) == [0, 1, 3]


def test_what_a_reader_asks_to_delete_is_told_that_it_only_reads(path, full: fs.Table) -> None:
    with fs.Store.open(path, read_only=True) as store:
        copy = store.table("rows")
        with pytest.raises(fs.InvalidError, match="read-only"):
            del copy[1]


@pytest.mark.parametrize("key", [slice(1, 2), slice(None), (slice(1, 2),)])
def test_a_slice_is_told_what_reads_a_range(full: fs.Table, key: object) -> None:
    with pytest.raises(fs.InvalidError, match=r"slice.*scan\(lower="):
        full[key]
    with pytest.raises(fs.InvalidError, match=r"slice.*delete_range"):
        del full[key]
    with pytest.raises(fs.InvalidError, match="slice"):
        full[key] = row(1)
    with pytest.raises(fs.InvalidError, match="slice"):
        key in full  # noqa: B015


def test_pop(full: fs.Table) -> None:
    assert full.pop(1) == row(1)
    assert full.pop(1, None) is None
    with pytest.raises(KeyError):
        full.pop(1)
    assert list(full) == [0, 2, 3]


def test_popitem_takes_the_last(full: fs.Table) -> None:
    assert full.popitem() == (3, row(3))
    full.clear()
    with pytest.raises(KeyError, match="empty"):
        full.popitem()


def test_setdefault(full: fs.Table) -> None:
    assert full.setdefault(1, row(7)) == row(1)
    assert full.setdefault(7, row(7)) == row(7)
    assert full[7] == row(7)


def test_update_from_a_mapping_pairs_or_a_frame(full: fs.Table, rows) -> None:
    full.update({0: row(10)})
    full.update([(1, row(11))])
    full.update(rows([2], n=[12], text=["t12"]))
    assert [full[n] for n in range(3)] == [row(10), row(11), row(12)]


def test_clear(full: fs.Table) -> None:
    full.clear()
    assert not full
    assert len(full) == 0


def test_keys_items_and_values_are_views(full: fs.Table) -> None:
    keys, items, values = full.keys(), full.items(), full.values()
    full[4] = row(4)
    assert list(keys) == list(keys) == [0, 1, 2, 3, 4]
    assert list(items) == [(n, row(n)) for n in range(5)]
    assert list(values) == [row(n) for n in range(5)]
    assert [len(keys), len(items), len(values)] == [5, 5, 5]
    assert 4 in keys
    assert (4, row(4)) in items
    assert row(4) in values
    assert 5 not in keys
    assert (4, row(5)) not in items
    assert row(5) not in values
    assert keys & {1, 9} == {1}


def test_from_the_end(full: fs.Table) -> None:
    assert list(reversed(full)) == [3, 2, 1, 0]
    assert list(reversed(full.items())) == [(n, row(n)) for n in (3, 2, 1, 0)]
    assert list(reversed(full.values())) == [row(n) for n in (3, 2, 1, 0)]


def test_it_becomes_a_dict(full: fs.Table) -> None:
    assert dict(full) == {n: row(n) for n in range(4)}
