"""A Status of the core becomes the subclass of FlintError that stands for its kind."""

import copy
import errno
import os
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


def test_what_the_system_refused_has_its_number() -> None:
    with pytest.raises(OSError, match=r"^write /a/b: the disk is full$") as raised:
        _core._raise_error("IO", "write /a/b: the disk is full", errno.ENOSPC)
    for error in (raised.value, copy.copy(raised.value), pickle.loads(pickle.dumps(raised.value))):
        assert type(error) is flintstate.StorageError
        assert error.errno == errno.ENOSPC
        assert error.strerror == os.strerror(errno.ENOSPC)
        assert str(error) == "write /a/b: the disk is full"


def test_a_refusal_without_a_number_has_none() -> None:
    with pytest.raises(flintstate.StorageError) as raised:
        _core._raise_error("IO", "something")
    assert raised.value.errno is None


def test_ok_raises_nothing() -> None:
    _core._raise_error("Ok", "")
