"""The driver dies between our commit and Spark's: the batch runs again, from the same state."""

import json
import os
import subprocess
import sys
from pathlib import Path

import spark_driver
from spark_streams import counted, write_file

FILES = [[i * j % 40 for i in range(200)] for j in (1, 3, 7)]


def drive(home: Path, *arguments: str) -> int:
    command = [sys.executable, spark_driver.__file__, str(home), *arguments]
    log = home / "driver.log"
    with open(log, "a") as out:
        return subprocess.run(
            command, stdout=out, stderr=out, env=os.environ, start_new_session=True
        ).returncode


def test_a_driver_killed_between_the_two_commits(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for i, users in enumerate(FILES):
        write_file(tmp_path / "in", i, user=users)
    assert drive(tmp_path, "1") == -9
    first_life = json.loads((tmp_path / "rows" / "1.json").read_text())
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) == 1
    assert drive(tmp_path) == 0, (tmp_path / "driver.log").read_text()
    batches = [json.loads((tmp_path / "rows" / f"{i}.json").read_text()) for i in range(3)]
    assert sorted(batches[1]) == sorted(first_life)
    assert sorted(tuple(row) for batch in batches for row in batch) == counted(*FILES)
