"""Arrays that lead outside of themselves, and strings that are none, never reach a state."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend
from hostile_arrow import STRINGS

REFUSED = r"malformed|not UTF-8|given"


@pytest.mark.parametrize("wrong", STRINGS)
def test_keys_and_values_that_can_not_be_read_are_refused(
    backend: KeyedBackend, wrong: str
) -> None:
    state = backend.value_state("v", pa.string())
    state.update("before")
    good, bad = pa.array(["ada", "bob"]), STRINGS[wrong]()
    for keys, values in ((bad, good), (good, bad)):
        with pytest.raises(InvalidError, match=REFUSED):
            state.put_many(keys, values)
    with pytest.raises(InvalidError, match=REFUSED):
        state.get_many(bad)
    with pytest.raises(InvalidError, match=REFUSED):
        state.clear_many(bad)
    with pytest.raises(InvalidError, match=REFUSED):
        backend.prefetch(bad)
    assert list(backend.keys("v")) == ["ada"]
    assert state.value() == "before"
