"""A real process writes and is killed with SIGKILL at a random moment.

Everything up to the last sync that returned is there, in order, and nothing that was not written.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flintstate import changelog

PROGRAM = """
import random, sys
import pyarrow as pa
from flintstate import changelog

directory, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
segment, number = 0, 0
log = changelog.Writer(f"{directory}/{segment}", batch_bytes=chance.choice([1 << 10, 1 << 14]))

def key(n):
    return b"%d:" % n + random.Random(n).randbytes(n % 300)

while True:
    what = chance.random()
    if what < 0.6:
        number += 1
        log.append(changelog.PUT, table=1, key=key(number), value=b"%d" % number)
    elif what < 0.8:
        numbers = range(number + 1, number + 1 + chance.randrange(200))
        number += len(numbers)
        log.append_many(
            changelog.PUT,
            table=1,
            keys=pa.array([key(n) for n in numbers], pa.binary()),
            values=pa.array([b"%d" % n for n in numbers], pa.binary()),
        )
    elif what < 0.98:
        log.sync()
        print(number, flush=True)
    else:
        segment += 1
        log.roll(f"{directory}/{segment}")
        print(number, flush=True)
"""


def key(n: int) -> bytes:
    return b"%d:" % n + random.Random(n).randbytes(n % 300)


def run_and_kill(directory: Path, seed: int, after: float) -> int:
    """Returns the last record that the process said was synced."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(directory), str(seed)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline()]  # it is under way
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return int([line for line in said if line.endswith(b"\n")][-1])


def read(directory: Path) -> list[int]:
    """The numbers of all records, their keys checked. Only the last segment may be torn."""
    numbers: list[int] = []
    paths = sorted(directory.iterdir(), key=lambda path: int(path.name))
    for path in paths:
        reader = changelog.Reader(path)
        assert not reader.torn or path in paths[-2:]
        for sequence, k, value in zip(
            *reader.read_all().select(["sequence", "key", "value"]).to_pydict().values(),
            strict=True,
        ):
            assert k == key(sequence)
            assert value == b"%d" % sequence
            numbers.append(sequence)
    return numbers


@pytest.mark.parametrize("share", ["first", "second", "third"])  # for parallel runs
def test_a_killed_writer_loses_nothing_synced(share: str, rounds: int, tmp_path: Path) -> None:
    for number in range(10 if rounds == 1 else 17 * rounds):
        directory = tmp_path / str(number)
        directory.mkdir()
        seed = random.randrange(1 << 32)
        synced = run_and_kill(directory, seed, after=random.uniform(0, 0.2))
        found = read(directory)
        assert found == list(range(1, len(found) + 1)), f"seed {seed}"
        assert len(found) >= synced, f"seed {seed}"
