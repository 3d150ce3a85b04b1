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

from flintstate import KeyedBackend, _core
from flintstate.state.backend import key_columns
from flintstate.state.rocksdb import RocksDbBackend


@dataclasses.dataclass(frozen=True)
class Way:
    """A backend's kind, and how all state is taken up anew before each call, if at all."""

    kind: str
    restored: str = ""

    def __str__(self) -> str:
        return f"{self.kind}-{self.restored}" if self.restored else self.kind

    def open(self, path: Path, options: dict[str, Any]) -> Any:
        if not self.restored:
            return KeyedBackend.open(path, kind=self.kind, **options)
        return Restored(Snapshots if self.kind == "heap" else Segments, path, options)


WAYS = [Way("heap"), Way("heap", "restored"), Way("rocksdb"), Way("rocksdb", "replayed")]


class Snapshots:
    """A heap backend, each taken up from a snapshot of the one before."""

    def __init__(self, path: Path, options: dict[str, Any]) -> None:
        self._options = options
        self.current: Any = KeyedBackend.open(None, kind="heap", **options)

    def move(self) -> None:
        snapshot = self.current.snapshot()
        self.current.close()
        self.current = KeyedBackend.open(None, kind="heap", **self._options)
        self.current.load(snapshot)
        snapshot.release()

    def set_watermark(self, time: int) -> None:
        self.current._watermark = time

    def close(self) -> None:
        self.current.close()


class Segments:
    """Two rocksdb backends with a changelog, each of which replays what the other one commits.

    Both stay open, so a move costs no more than a small commit and its replay.
    """

    def __init__(self, path: Path, options: dict[str, Any]) -> None:
        self._path = path
        with KeyedBackend.open(None, kind="heap", **options) as checked:
            self._backends = [self._open(name, checked, options) for name in ("a", "b")]
        self._version = bytes(16)
        self._numbers = itertools.count(1)

    def _open(self, name: str, checked: KeyedBackend, options: dict[str, Any]) -> RocksDbBackend:
        native = _core.RocksBackend.open(
            str(self._path / name),
            key_columns(options["key"]),
            checked.max_parallelism,
            checked.key_groups.start,
            checked.key_groups.stop - 1,
            clock=options.get("clock"),
            timer_namespace=options.get("timer_namespace"),
        )
        for event_time in (True, False):  # the states of timers come first in both
            native.first_timer(event_time=event_time)
        backend = RocksDbBackend(
            native, checked.max_parallelism, checked.key_groups, clock=options.get("clock")
        )
        backend._time_every = options.get("time_every")
        return backend

    @property
    def current(self) -> RocksDbBackend:
        return self._backends[0]

    def move(self) -> None:
        before, after = self._backends
        number = next(self._numbers)
        version = number.to_bytes(16, "little")
        segment = before.native.commit(
            str(self._path / f"{number}.segment"), version=version, parent=self._version
        )
        if segment is not None:
            after.native.replay(segment.path)
            self._version = version
        assert after.native.version == self._version
        self._backends = [after, before]

    def set_watermark(self, time: int) -> None:
        self.current._watermark = time
        self.current.native.advance_watermark(time)

    def close(self) -> None:
        for backend in self._backends:
            backend.close()


class Restored:
    """Behaves as a backend; before each call all state moves to another one."""

    def __init__(
        self, place: type[Snapshots | Segments], path: Path, options: dict[str, Any]
    ) -> None:
        self._place = place(path, options)
        self._declared: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {}
        self.states: dict[str, Any] = {}
        self._key_set = False
        self.pins = 0  # iterators that live, and belong to the backend that they came from

    @property
    def _inner(self) -> Any:
        return self._place.current

    def _move(self) -> None:
        if self._inner.closed or self.pins:
            return
        key = self._inner.current_key if self._key_set else None
        watermark = self._inner.current_watermark
        event_time = self._inner.current_event_time
        namespaces = {name: state.namespace for name, state in self.states.items()}
        self._place.move()
        if self._key_set:
            self._inner.set_key(key)
        if watermark is not None:
            self._place.set_watermark(watermark)
        self._inner.set_event_time(event_time)
        for name, (kind, args, options) in self._declared.items():
            self.states[name] = getattr(self._inner, kind)(name, *args, **options)
            self.states[name].set_namespace(namespaces[name])

    def set_key(self, key: object) -> None:
        self._inner.set_key(key)
        self._key_set = True

    def close(self) -> None:
        self._place.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("advance_"):
            return self._holding(name)
        if not name.endswith("_state"):
            return getattr(self._inner, name)

        def declare(state: str, *args: Any, **options: Any) -> Any:
            self.states[state] = getattr(self._inner, name)(state, *args, **options)
            self._declared[state] = (name, args, options)
            return RestoredState(self, state)

        return declare

    def _holding(self, name: str) -> Callable[..., Held]:
        return lambda *args, **kw: Held(self, getattr(self._inner, name)(*args, **kw))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Held:
    """An iterator of a `Restored` backend, which stays where it is as long as this lives."""

    def __init__(self, backend: Restored, inner: Any) -> None:
        self._backend = backend
        self._inner = inner
        backend.pins += 1

    def __iter__(self) -> Held:
        return self

    def __next__(self) -> Any:
        return next(self._inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __del__(self) -> None:
        self._backend.pins -= 1


class RestoredState:
    """A state of a `Restored` backend."""

    def __init__(self, backend: Restored, name: str) -> None:
        self._backend = backend
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name not in ("name", "namespace", "set_namespace"):
            self._backend._move()
        state = self._backend.states[self._name]
        if name in ("items", "keys", "values", "__iter__") or name.startswith("read_range"):
            return lambda *args, **kw: Held(self._backend, getattr(state, name)(*args, **kw))
        return getattr(state, name)


def _passed_on(name: str) -> Callable[..., object]:
    return lambda self, *args: self.__getattr__(name)(*args)


for _name in ("getitem", "setitem", "delitem", "contains", "iter", "len"):
    setattr(RestoredState, f"__{_name}__", _passed_on(f"__{_name}__"))


Opener = Callable[..., KeyedBackend]


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


@pytest.fixture
def all_ways() -> list[Way]:
    return WAYS


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
