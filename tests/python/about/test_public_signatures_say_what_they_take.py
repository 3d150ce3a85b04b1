"""What users see is typed: no `Any` in a public signature, and normal programs pass mypy."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import flintstate

MODULES = [
    "flintstate", "flintstate.changelog", "flintstate.process", "flintstate.spark",
    "flintstate.state", "flintstate.state.operator", "flintstate.store", "flintstate.testing",
]  # fmt: skip
# Names that annotations use and modules import for type checkers alone.
FOR_CHECKERS = {"pa": pa, "Snapshot": flintstate.Snapshot}

PROGRAM = '''
"""Functions as users write them, and what they do with them."""

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

import flintstate as fs
from flintstate.spark import Keyed
from flintstate.testing import Harness, MicroBatch, Watermark, run


class Click(NamedTuple):
    user: str
    at: dt.datetime


class Count(fs.KeyedProcessFunction[Click]):
    def open(self, ctx: fs.Context) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)
        self.seen: fs.ListState[dt.datetime] = ctx.list_state("seen", pa.timestamp("us"))

    def process_element(self, row: Click, ctx: fs.Context) -> Iterator[tuple[str, int]]:
        self.n.update(self.n.value() + 1)
        self.seen.add(row.at)
        ctx.register_event_time_timer(row.at + dt.timedelta(seconds=5))
        yield row.user, self.n.value()

    def on_timer(self, time: int, ctx: fs.Context) -> list[tuple[object, int]]:
        return [(ctx.current_key, time)]


class Seen(fs.KeyedProcessFunction[object]):
    def process_element(self, row: object, ctx: fs.Context) -> list[tuple[object]]:
        return [(ctx.current_key,)]


class Bare(fs.KeyedProcessFunction):
    def process_element(self, row: Click, ctx: fs.Context) -> None:
        ctx.register_event_time_timer(row.at)


NOON = dt.datetime(2026, 1, 1, 12)
SCHEMA = pa.schema([("user", pa.string()), ("at", pa.timestamp("us"))])


def apart(function: fs.KeyedProcessFunction[Click]) -> list[tuple[object, ...]]:
    rows = [{"user": "ada"}, {"user": "bob"}]
    run(Seen(), rows, key="user", schema="user string")
    clicks = [Click("ada", NOON), Click("bob", NOON)]
    run(function, [*clicks, Watermark(NOON)], key="user", schema=SCHEMA, time="at")
    return run(function, [MicroBatch(clicks)], key="user", schema=SCHEMA, time="at")


def in_batches() -> list[tuple[object, ...]]:
    with Harness(Count(), key="user", schema=SCHEMA, time="at", delay=dt.timedelta(0)) as harness:
        return harness.process_batch([Click("ada", NOON)])


def stream(clicks: Keyed) -> None:
    clicks.process(Count(), schema="user string, n long")
    clicks.process(Bare(), schema="user string, n long")
    clicks.process_batches(double, schema="user string")


def double(batch: pa.RecordBatch, ctx: fs.Context) -> Iterator[pa.RecordBatch]:
    yield batch


if __name__ == "__main__":
    apart(Count())
    apart(Bare())
    in_batches()
'''
MYPY = [sys.executable, "-m", "mypy"]
CACHE = Path(__file__).parents[3] / ".mypy_cache"  # which lint fills
CONFIGURATION = """
[mypy]
strict = True
[mypy-pyarrow.*,pandas.*]
ignore_missing_imports = True
"""


def functions() -> Iterator[tuple[str, object]]:
    """The public functions, and the methods of public classes that are ours."""
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            for method, made in inspect.getmembers(thing) if inspect.isclass(thing) else ():
                made = made.fget if isinstance(made, property) else getattr(made, "__func__", made)
                ours = getattr(made, "__module__", None) or ""
                public = not method.startswith("_") or method.endswith("__")
                if public and inspect.isfunction(made) and ours.startswith("flintstate"):
                    yield f"{module.__name__}.{name}.{method}", made


def has_any(hint: object) -> bool:
    if isinstance(hint, list | tuple):
        return any(map(has_any, hint))
    return hint is typing.Any or has_any(typing.get_args(hint))


def test_no_public_signature_has_any_in_it() -> None:
    wrong = [
        f"{name}: {argument}"
        for name, function in functions()
        for argument, hint in typing.get_type_hints(function, localns=FOR_CHECKERS).items()
        if has_any(hint)
    ]
    assert not wrong, wrong


def test_a_users_program_passes_mypy_and_runs(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    package = Path(flintstate.__file__).parents[1]
    told = subprocess.run(
        [*MYPY, "--config-file", "mypy.ini", "--cache-dir", CACHE, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"MYPYPATH": str(package), "PATH": ""},
    )
    assert told.returncode == 0, told.stdout + told.stderr
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True)
