"""Keyed state measured: against a bare hash map, sorted state against maps of lists, sizes.

    python bench/python/state_ratios.py [--large] [SECTION ...]

What is compared runs alternately in one process, several times; the median of the ratios is printed
with the throughput of ours. `--large` adds state of 10 M keys.
"""

from __future__ import annotations

import argparse
import datetime as dt
import functools
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import flintstate as fs

HERE = Path(__file__).parent
ROUNDS = 5
KINDS = ("heap", "rocksdb")


def measured(work: Callable[[], int]) -> float:
    """Operations per second."""
    start = time.perf_counter()
    done = work()
    return done / (time.perf_counter() - start)


def compare(ours: Callable[[], int], theirs: Callable[[], int]) -> tuple[float, float]:
    """Median of the ratio of ours to theirs, and of our operations per second."""
    pairs = [(measured(ours), measured(theirs)) for _ in range(ROUNDS)]
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
    )


def opened(kind: str, directory: Path, **options: Any) -> fs.KeyedBackend:
    return fs.KeyedBackend.open(directory, kind=kind, **{"key": pa.string(), **options})


def row(name: str, *cells: object) -> None:
    print("| " + " | ".join([name, *(str(cell) for cell in cells)]) + " |", flush=True)


def rate(operations: float) -> str:
    return f"{operations / 1e6:.2f} M/s" if operations >= 1e5 else f"{operations:,.0f}/s"


# -- Against a bare hash map -----------------------------------------------------------------------


def bare_map(directory: Path) -> Any:
    """The extension of bare_map.cc, built here and now."""
    import pybind11

    target = directory / f"bare_map{sysconfig.get_config_var('EXT_SUFFIX')}"
    includes = [sysconfig.get_paths()["include"], pybind11.get_include()]
    command = ["c++", "-O3", "-DNDEBUG", "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden"]
    subprocess.run(
        [*command, *(f"-I{path}" for path in includes), HERE / "bare_map.cc", "-o", target],
        check=True,
    )
    sys.path.insert(0, str(directory))
    import bare_map as extension  # type: ignore[import-not-found]

    return extension.BareMap()


def cached(directory: Path) -> None:
    """set_key, value, update of 1,000 keys that are all in memory."""
    bare = bare_map(directory)
    keys = [f"user-{random.randrange(1000)}" for _ in range(200_000)]

    def run(place: Any, state: Any) -> int:
        for key in keys:
            place.set_key(key)
            state.update(state.value() + 1)
        return len(keys)

    row("set_key + value + update, cached", "against a bare hash map", "three calls")
    for kind in KINDS:
        with opened(kind, directory / f"cached-{kind}") as backend:
            state: fs.ValueState[int] = backend.value_state("n", pa.int64(), default=0)
            ratio, ours = compare(lambda b=backend, s=state: run(b, s), lambda: run(bare, bare))
            row(kind, f"{ratio:.2f}x", rate(ours))


# -- Each kind -------------------------------------------------------------------------------------


class Longest:
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, acc: tuple[int, int]) -> tuple[int, int]:
        return (max(acc[0], value), acc[1] + 1)

    def get_result(self, acc: tuple[int, int]) -> int:
        return acc[0]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (max(a[0], b[0]), a[1] + b[1])


def operations(backend: fs.KeyedBackend) -> dict[str, Callable[[int], object]]:
    value: Any = backend.value_state("value", pa.int64(), default=0)
    words: Any = backend.list_state("list", pa.int64())
    seen: Any = backend.map_state("map", pa.int64(), pa.int64())
    total: Any = backend.reducing_state("sum", pa.int64(), "sum")
    python: Any = backend.reducing_state("python", pa.int64(), lambda a, b: a + b)
    pair = pa.struct([("longest", pa.int64()), ("n", pa.int64())])
    aggregate: Any = backend.aggregating_state("aggregate", Longest(), accumulator=pair)
    events: Any = backend.sorted_state("sorted", pa.int64(), pa.int64())
    return {
        "value: update": lambda i: value.update(i),
        "value: value": lambda i: value.value(),
        "list: add": lambda i: words.add(i),
        "list: get": lambda i: words.get(),
        "map: put": lambda i: seen.put(i % 8, i),
        "map: get": lambda i: seen.get(i % 8),
        "map: items": lambda i: list(seen.items()),
        "reducing (sum): add": lambda i: total.add(i),
        "reducing (Python): add": lambda i: python.add(i),
        "aggregating: add": lambda i: aggregate.add(i),
        "aggregating: get": lambda i: aggregate.get(),
        "sorted: add": lambda i: events.add(i % 8, i),
        "sorted: first_entry": lambda i: events.first_entry(),
        "timer: register": lambda i: backend.register_event_time_timer(i % 8),
    }


def kinds(directory: Path) -> None:
    """One operation and one set_key: 1,000 keys in memory, then 20,000 keys after reopening."""
    row("one operation with its set_key", "heap", "rocksdb, hot", "rocksdb, cold")
    results: dict[str, list[str]] = {}
    for kind, keys, again in (
        ("heap", 1_000, False),
        ("rocksdb", 1_000, False),
        ("rocksdb", 20_000, True),
    ):
        place = directory / f"kinds-{kind}-{keys}"
        names = [f"user-{i}" for i in range(keys)]
        random.shuffle(names)
        backend = opened(kind, place)
        for name in operations(backend):
            each(backend, names, operations(backend)[name], 1 if again else 2)
            if again:
                backend.close()
                backend = opened(kind, place)
            work = operations(backend)[name]
            rounds = 1 if again else 20
            done = measured(functools.partial(each, backend, names, work, rounds))
            results.setdefault(name, []).append(rate(done))
        backend.close()
    for name, cells in results.items():
        row(name, *cells)


def each(
    backend: fs.KeyedBackend, names: list[str], work: Callable[[int], object], rounds: int
) -> int:
    set_key = backend.set_key
    for n in range(rounds):
        for name in names:
            set_key(name)
            work(n)
    return rounds * len(names)


# -- Lists, batches, sizes -------------------------------------------------------------------------


def appends(directory: Path) -> None:
    """An append to a list of 10 and of 100,000 elements."""
    row("list append", "at 10 elements", "at 100,000 elements")
    for kind in KINDS:
        rates = []
        with opened(kind, directory / f"appends-{kind}") as backend:
            state: fs.ListState[int] = backend.list_state("l", pa.int64())
            for size in (10, 100_000):
                backend.set_key(str(size))
                state.add_all(range(size))
                rounds = []
                for _ in range(ROUNDS):
                    rounds.append(
                        measured(lambda s=state: sum(s.add(i) is None for i in range(2000)))
                    )
                rates.append(statistics.median(rounds))
        row(kind, *map(rate, rates))


KEY = pa.schema([pa.field("key", pa.int64(), nullable=False)])
VALUE = pa.schema([("value", pa.int64())])


def filled(directory: Path, size: int) -> None:
    """A state and a table of `size` keys, each closed."""
    with (
        opened("rocksdb", directory / "batches", key=pa.int64()) as backend,
        fs.Store.open(directory / "table", durability="none") as store,
    ):
        state: fs.ValueState[int] = backend.value_state("n", pa.int64())
        table = store.table("n", key=KEY, value=VALUE)
        for start in range(0, size, 100_000):
            keys = pa.array(range(start, min(size, start + 100_000)), pa.int64())
            state.put_many(keys, keys)
            table.put(pa.table({"key": keys, "value": keys}))


def by_turns(ours: Callable[[int], object], theirs: Callable[[int], object], count: int) -> Any:
    """Ratio of all of ours to all of theirs, called one after the other, and ours a second."""
    spent = [0.0, 0.0]
    for i in range(count):
        for k, call in enumerate((ours, theirs)):
            start = time.perf_counter()
            call(i)
            spent[k] += time.perf_counter() - start
    return f"{spent[1] / spent[0]:.2f}x", rate(count * 10_000 / spent[0])


def batches(directory: Path, large: bool) -> None:
    """put_many and get_many of 10,000 random keys against put and get_many of a table.

    Hot: 20 batches, again and again. Cold: 60 batches that are all new, after opening; the cache
    has room for about 300,000 keys, so that it is written out meanwhile.
    """
    row("10,000 keys a batch", "put_many", "", "get_many", "")
    for size in (1_000_000, *([10_000_000] if large else [])):
        place = directory / str(size)
        place.mkdir()
        filled(place, size)
        for name, batch_count, passes in (("cold", 60, 1), ("hot", 20, 3)):
            rounds = [random.sample(range(size), 10_000) for _ in range(batch_count)]
            cells: list[str] = []
            for read in (False, True):
                cells += one_batch_kind(place, rounds * passes, read)
            row(f"{size:,} keys, {name}", *cells)


def one_batch_kind(place: Path, rounds: list[list[int]], read: bool) -> tuple[str, str]:
    keys = [pa.array(one, pa.int64()) for one in rounds]
    tables = [pa.table({"key": one, "value": one}) for one in keys]
    with (
        opened("rocksdb", place / "batches", key=pa.int64()) as backend,
        fs.Store.open(place / "table", durability="none") as store,
    ):
        state: fs.ValueState[int] = backend.value_state("n", pa.int64())
        table = store.table("n", key=KEY, value=VALUE)
        if read:
            asked = [one.select(["key"]) for one in tables]
            return by_turns(
                lambda i: state.get_many(keys[i]), lambda i: table.get_many(asked[i]), len(keys)
            )
        return by_turns(
            lambda i: state.put_many(keys[i], keys[i]), lambda i: table.put(tables[i]), len(keys)
        )


def sizes(directory: Path, large: bool) -> None:
    """Random updates of state of more and more keys, against a read and a write of a table."""
    row("a read and an update, random keys", *KINDS, "a table", "rocksdb against it")
    for size in (100, 10_000, 1_000_000, *([10_000_000] if large else [])):
        cells = []
        picked = [random.randrange(size) for _ in range(100_000)]
        for kind in KINDS:
            with opened(kind, directory / f"sizes-{kind}-{size}", key=pa.int64()) as backend:
                state: fs.ValueState[int] = backend.value_state("n", pa.int64(), default=0)
                for start in range(0, size, 100_000):
                    keys = pa.array(range(start, min(size, start + 100_000)))
                    state.put_many(keys, keys)

                def update(b: Any = backend, s: Any = state, k: Any = picked) -> int:
                    for key in k:
                        b.set_key(key)
                        s.update(s.value() + 1)
                    return len(k)

                cells.append(statistics.median(measured(update) for _ in range(3)))
        cells.append(table_updates(directory / f"sizes-table-{size}", size, picked))
        row(f"{size:,} keys", *map(rate, cells), f"{cells[1] / cells[2]:.2f}x")


def table_updates(directory: Path, size: int, picked: list[int]) -> float:
    with fs.Store.open(directory, durability="none") as store:
        table = store.table("n", key=KEY, value=VALUE)
        for start in range(0, size, 100_000):
            keys = pa.array(range(start, min(size, start + 100_000)))
            table.put(pa.table({"key": keys, "value": keys}))

        def update() -> int:
            for key in picked:
                table[key] = {"value": table[key]["value"] + 1}
            return len(picked)

        return statistics.median(measured(update) for _ in range(3))


# -- Sorted state against map state of lists -------------------------------------------------------


def stream(keys: int, each: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """(watermark, rows of (key, time)) of 100 steps of time 10.

    A key has `each` rows for each unit of time, which come up to 500 out of order.
    """
    for watermark in range(0, 1_000, 10):
        rows = [
            (key, watermark + random.randrange(500))
            for key in range(keys)
            for _ in range(10 * each)
        ]
        random.shuffle(rows)
        yield watermark, rows


EVENT = pa.struct([("id", pa.int64()), ("name", pa.string()), ("amount", pa.float64())])


def event(at: int) -> tuple[int, str, float]:
    return (at, "an event", 0.5)


def sort_by_sorted_state(backend: fs.KeyedBackend, steps: list[Any]) -> int:
    state: Any = backend.sorted_state("sorted", pa.int64(), EVENT)
    out = 0
    for watermark, rows in steps:
        for key, at in rows:
            backend.set_key(key)
            state.add(at, event(at))
        for key in {key for key, _ in rows}:
            backend.set_key(key)
            for _, values in state.read_range_until(watermark):
                out += len(values)
            state.clear_range_until(watermark)
    return out


def sort_by_map_state(backend: fs.KeyedBackend, steps: list[Any]) -> int:
    state: Any = backend.map_state("map", pa.int64(), pa.list_(EVENT))
    out = 0
    for watermark, rows in steps:
        for key, at in rows:
            backend.set_key(key)
            state.put(at, [*(state.get(at) or ()), event(at)])
        for key in {key for key, _ in rows}:
            backend.set_key(key)
            due = sorted(at for at in state if at < watermark)
            for at in due:
                out += len(state.get(at))
                state.remove(at)
    return out


def join_by_sorted_state(backend: fs.KeyedBackend, steps: list[Any]) -> int:
    state: Any = backend.sorted_state("versions", pa.int64(), EVENT)
    return join(
        backend,
        steps,
        lambda at: state.add(at, event(at)),
        lambda at: state.last_entry(at),
        lambda at: state.clear_range_until(at),
    )


def join_by_map_state(backend: fs.KeyedBackend, steps: list[Any]) -> int:
    state: Any = backend.map_state("versions", pa.int64(), pa.list_(EVENT))

    def last(at: int) -> object:
        found = max((one for one in state if one <= at), default=None)
        return None if found is None else (found, state.get(found))

    def clear(until: int) -> None:
        for at in [at for at in state if at < until]:
            state.remove(at)

    return join(
        backend, steps, lambda at: state.put(at, [*(state.get(at) or ()), event(at)]), last, clear
    )


def join(
    backend: fs.KeyedBackend,
    steps: list[Any],
    add: Callable[[int], object],
    last: Callable[[int], object],
    clear: Callable[[int], object],
) -> int:
    """Each row is a version and is looked up once; what is 100 below the watermark goes."""
    done = 0
    for watermark, rows in steps:
        for key, at in rows:
            backend.set_key(key)
            add(at)
        for key, at in rows:
            backend.set_key(key)
            done += last(at) is not None
        for key in {key for key, _ in rows}:
            backend.set_key(key)
            clear(watermark - 100)
    return done


def sorted_against_map(directory: Path) -> None:
    """FLIP-220's two shapes: sorting an out-of-order stream, and a temporal join."""
    row("sorted state against map state of lists, rocksdb", "1", "4", "16 elements a list")
    for name, ours, theirs in (
        ("event-time sort", sort_by_sorted_state, sort_by_map_state),
        ("temporal join", join_by_sorted_state, join_by_map_state),
    ):
        cells = []
        for elements in (1, 4, 16):
            steps = list(stream(10, elements))
            pairs = []
            for _ in range(ROUNDS):
                pairs.append([fresh(directory, work, steps) for work in (ours, theirs)])
            ratio = statistics.median(a / b for a, b in pairs)
            cells.append(f"{ratio:.2f}x ({rate(statistics.median(a for a, _ in pairs))})")
        row(name, *cells)


def fresh(directory: Path, work: Callable[[Any, Any], int], steps: list[Any]) -> float:
    """Rows per second on a backend of its own."""
    place = Path(tempfile.mkdtemp(dir=directory))
    with opened("rocksdb", place, key=pa.int64()) as backend:
        start = time.perf_counter()
        work(backend, steps)
        return sum(len(rows) for _, rows in steps) / (time.perf_counter() - start)


SECTIONS: dict[str, Callable[[Path], None]] = {
    "cached": cached,
    "kinds": kinds,
    "appends": appends,
    "sorted": sorted_against_map,
}
SIZED: dict[str, Callable[[Path, bool], None]] = {"batches": batches, "sizes": sizes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join([*SECTIONS, *SIZED])}")
    parser.add_argument("--large", action="store_true", help="also state of 10 M keys")
    options = parser.parse_args()
    random.seed(7)
    started = dt.datetime.now()
    for name in options.sections or [*SECTIONS, *SIZED]:
        with tempfile.TemporaryDirectory() as directory:
            if name in SIZED:
                SIZED[name](Path(directory), options.large)
            else:
                SECTIONS[name](Path(directory))
        print(flush=True)
    print(f"in {dt.datetime.now() - started}", file=sys.stderr)


if __name__ == "__main__":
    main()
