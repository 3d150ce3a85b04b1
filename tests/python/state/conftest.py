"""One suite for every way in which keyed state can be held.

Each test that takes `open_backend` or `backend` runs on each of `WAYS`. What those are is said here
and nowhere else.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import KeyedBackend


@dataclasses.dataclass(frozen=True)
class Way:
    """A backend's kind, and whether all state is taken up anew before each call."""

    kind: str
    restored: bool = False

    def __str__(self) -> str:
        return f"{self.kind}-restored" if self.restored else self.kind

    def open(self, path: Path, options: dict[str, Any]) -> Any:
        if self.restored:
            return Restored(self, path, options)
        return KeyedBackend.open(path, kind=self.kind, **options)

    def again(self, backend: Any, path: Path, options: dict[str, Any]) -> Any:
        """A new backend with all that `backend` holds, which is closed."""
        snapshot = backend.snapshot() if self.kind == "heap" else None
        backend.close()
        new = KeyedBackend.open(path, kind=self.kind, **options)
        if snapshot is not None:
            new.load(snapshot)
            snapshot.release()
        return new


WAYS = [Way("heap"), Way("heap", restored=True), Way("rocksdb")]


class Restored:
    """Behaves as a backend; before each call all state moves to a new one.

    On the heap by a snapshot, on RocksDB by closing and opening.
    """

    def __init__(self, way: Way, path: Path, options: dict[str, Any]) -> None:
        self._way, self._path, self._options = way, path, options
        self._inner: Any = KeyedBackend.open(path, kind=way.kind, **options)
        self._declared: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {}
        self.states: dict[str, Any] = {}
        self._key_set = False
        self.pinned = False

    def _move(self) -> None:
        if self._inner.closed or self.pinned:
            return
        key = self._inner.current_key if self._key_set else None
        namespaces = {name: state.namespace for name, state in self.states.items()}
        self._inner = self._way.again(self._inner, self._path, self._options)
        if self._key_set:
            self._inner.set_key(key)
        for name, (kind, args, options) in self._declared.items():
            self.states[name] = getattr(self._inner, kind)(name, *args, **options)
            self.states[name].set_namespace(namespaces[name])

    def set_key(self, key: object) -> None:
        self._inner.set_key(key)
        self._key_set = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("advance_"):
            self.pinned = True
        if not name.endswith("_state"):
            return getattr(self._inner, name)

        def declare(state: str, *args: Any, **options: Any) -> Any:
            self.states[state] = getattr(self._inner, name)(state, *args, **options)
            self._declared[state] = (name, args, options)
            return RestoredState(self, state)

        return declare

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()


class RestoredState:
    """A state of a `Restored` backend."""

    def __init__(self, backend: Restored, name: str) -> None:
        self._backend = backend
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name not in ("name", "namespace", "set_namespace"):
            self._backend._move()
        if name in ("items", "keys", "values", "__iter__") or name.startswith("read_range"):
            self._backend.pinned = True  # an iterator lives as long as its backend
        return getattr(self._backend.states[self._name], name)


def _passed_on(name: str) -> Callable[..., object]:
    return lambda self, *args: self.__getattr__(name)(*args)


for _name in ("getitem", "setitem", "delitem", "contains", "iter", "len"):
    setattr(RestoredState, f"__{_name}__", _passed_on(f"__{_name}__"))


Opener = Callable[..., KeyedBackend]


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


@pytest.fixture
def open_backend(way: Way, tmp_path: Path) -> Iterator[Opener]:
    """Opens backends of the way at hand, each in a directory of its own; keys are strings."""
    opened: list[KeyedBackend] = []
    numbers = itertools.count()

    def open_one(**options: object) -> KeyedBackend:
        backend = way.open(tmp_path / str(next(numbers)), {"key": pa.string(), **options})
        opened.append(backend)
        return backend

    yield open_one
    for backend in opened:
        backend.close()


@pytest.fixture
def backend(open_backend: Opener) -> KeyedBackend:
    """A backend whose keys are strings, at the key "ada"."""
    backend = open_backend()
    backend.set_key("ada")
    return backend


class Clock:
    """A processing time that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()
