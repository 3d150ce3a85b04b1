"""What no segment can hold is refused by the call that writes it, not found out by a commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend

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
