"""What no segment can hold is refused by the call that writes it, not found out by a commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend
from flintstate.state.backend import BackendKind

TOO_LARGE = b"x" * (127 << 20)
"""The row around it makes it so."""
CALLS: dict[str, Callable[[Any, bytes], None]] = {
    "value": lambda backend, data: backend.value_state("v", pa.binary()).update(data),
    "values": lambda backend, data: backend.value_state("v", pa.binary()).put_many(
        pa.array(["ada"]), pa.array([data])
    ),
    "list": lambda backend, data: backend.list_state("l", pa.binary()).add(data),
    "map": lambda backend, data: backend.map_state("m", pa.int64(), pa.binary()).put(1, data),
    "sorted": lambda backend, data: backend.sorted_state("s", pa.int64(), pa.binary()).add(1, data),
    "last": lambda backend, data: backend.reducing_state("r", pa.binary(), "last").add(data),
    "struct": lambda backend, data: backend.value_state(
        "d", pa.struct([("data", pa.binary())])
    ).update({"data": data}),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_value_that_is_too_large_is_refused_and_the_backend_goes_on(
    backend: KeyedBackend, call: str
) -> None:
    CALLS[call](backend, b"before")
    with pytest.raises(InvalidError, match="133169152"):
        CALLS[call](backend, TOO_LARGE)
    CALLS[call](backend, b"after")
    seen = backend.value_state("v", pa.binary()).value()
    assert seen == (b"after" if call in ("value", "values") else None)


def test_what_is_just_not_too_large_is_kept(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.binary())
    state.update(TOO_LARGE[: -(1 << 10)])
    assert len(state.value() or b"") == len(TOO_LARGE) - (1 << 10)


MANY: dict[str, Callable[[Any, list[bytes]], None]] = {
    "list": lambda states, rows: states["list"].add_all(rows),
    "list anew": lambda states, rows: states["list"].update(rows),
    "lists": lambda states, rows: states["list"].add_many(_keys(rows), pa.array(rows)),
    "map": lambda states, rows: states["map"].put_all(dict(enumerate(rows))),
    "maps": lambda states, rows: states["map"].put_many(
        _keys(rows), pa.array(range(len(rows))), pa.array(rows)
    ),
    "sorted anew": lambda states, rows: states["sorted"].put(1, rows),
    "sorted": lambda states, rows: states["sorted"].add_many(
        _keys(rows), pa.array([1] * len(rows)), pa.array(rows)
    ),
    "values": lambda states, rows: states["value"].put_many(_keys(rows), pa.array(rows)),
    "last": lambda states, rows: states["last"].add_many(_keys(rows), pa.array(rows)),
}


def _keys(rows: list[bytes]) -> pa.Array:
    return pa.array(["ada"] * len(rows))


def _seen(states: dict[str, Any]) -> list[object]:
    return [
        states["value"].value(), states["list"].get(), dict(states["map"].items()),
        states["sorted"].values_at(1), states["last"].get(),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["heap", "rocksdb"])
def test_where_one_of_several_is_too_large_nothing_is_changed(
    tmp_path: Path, kind: BackendKind
) -> None:
    key = pa.schema([("user", pa.string())])
    path = tmp_path / "state" if kind == "rocksdb" else None
    with KeyedBackend.open(path, kind=kind, key=key) as backend:
        backend.set_key("ada")
        states: dict[str, Any] = {
            "value": backend.value_state("v", pa.binary()),
            "list": backend.list_state("l", pa.binary()),
            "map": backend.map_state("m", pa.int64(), pa.binary()),
            "sorted": backend.sorted_state("s", pa.int64(), pa.binary()),
            "last": backend.reducing_state("r", pa.binary(), "last"),
        }
        for call in MANY.values():
            call(states, [b"before", b"before, too"])
        before = _seen(states)
        for name, call in MANY.items():
            with pytest.raises(InvalidError, match="133169152"):
                call(states, [b"after", TOO_LARGE])
            assert _seen(states) == before, name
