"""A Status of the core becomes the subclass of FlintError that stands for its kind."""

import pickle

import pytest

import flintstate
from flintstate import _core

KINDS = {
    "Invalid": (flintstate.InvalidError, ValueError),
    "NotFound": (flintstate.NotFoundError, KeyError),
    "Busy": (flintstate.BusyError, flintstate.FlintError),
    "IO": (flintstate.StorageError, OSError),
    "Corruption": (flintstate.CorruptionError, flintstate.FlintError),
    "Closed": (flintstate.ClosedError, flintstate.FlintError),
    "Internal": (flintstate.InternalError, flintstate.FlintError),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_becomes_its_class_and_what_people_catch(kind: str) -> None:
    error, builtin = KINDS[kind]
    with pytest.raises(error) as raised:
        _core._raise_error(kind, "table 'clicks': what happened")
    assert type(raised.value) is error
    assert isinstance(raised.value, builtin)
    assert isinstance(raised.value, flintstate.FlintError)
    assert str(raised.value) == "table 'clicks': what happened"


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_pickling(kind: str) -> None:
    with pytest.raises(flintstate.FlintError) as raised:
        _core._raise_error(kind, "said once")
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is type(raised.value)
    assert str(again) == "said once"
    assert again.args == raised.value.args


def test_ok_raises_nothing() -> None:
    _core._raise_error("Ok", "")
