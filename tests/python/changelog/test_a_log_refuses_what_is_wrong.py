"""Bad input gets an error that says what, where and what to do."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from flintstate import (
    ClosedError,
    CorruptionError,
    InvalidError,
    NotFoundError,
    StorageError,
    changelog,
)

PUT, DELETE = changelog.PUT, changelog.DELETE
KEYS = pa.array([b"a", b"b"])

WRONG: dict[str, Callable[[changelog.Writer], object]] = {
    "value is missing": lambda log: log.append(PUT, table=1, key=b"k"),
    "delete has no value": lambda log: log.append(DELETE, table=1, key=b"k", value=b""),
    "table": lambda log: log.append(DELETE, table=1 << 32, key=b"k"),
    "group": lambda log: log.append(DELETE, table=1, key=b"k", group=1 << 16),
    "-1": lambda log: log.append(DELETE, table=-1, key=b"k"),
    "values must be given": lambda log: log.append_many(PUT, table=1, keys=KEYS),
    "values has 1 rows": lambda log: log.append_many(
        PUT, table=1, keys=KEYS, values=pa.array([b"v"])
    ),
    "null in row 1": lambda log: log.append_many(DELETE, table=1, keys=pa.array([b"a", None])),
    "keys has type int64": lambda log: log.append_many(DELETE, table=1, keys=pa.array([1])),
    "groups has type int64": lambda log: log.append_many(
        DELETE, table=1, keys=KEYS, group=pa.array([1, 2])
    ),
}


@pytest.mark.parametrize("saying", WRONG)
def test_a_wrong_record_is_refused_without_harm(saying: str, tmp_path: Path) -> None:
    with changelog.Writer(tmp_path / "log") as log:
        with pytest.raises(InvalidError, match=saying):
            WRONG[saying](log)
        assert log.append(DELETE, table=1, key=b"k") == 1
    assert changelog.Reader(tmp_path / "log").read_all().num_rows == 1


@pytest.mark.parametrize(
    "options",
    [{"level": 99}, {"batch_bytes": 1}, {"first_sequence": 0}, {"written_by": "x" * 17}],
    ids=str,
)
def test_options_out_of_range_are_refused(options: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(InvalidError):
        changelog.Writer(tmp_path / "log", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "log").exists()


def test_a_version_has_sixteen_bytes(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="16 bytes"):
        changelog.Writer(tmp_path / "log", version=b"short")


def test_use_after_close_says_so_with_the_file(tmp_path: Path) -> None:
    log = changelog.Writer(tmp_path / "log")
    log.close()
    for call in (
        lambda: log.append(DELETE, table=1, key=b"k"),
        lambda: log.append_many(DELETE, table=1, keys=KEYS),
        log.sync,
        log.close,
        lambda: log.roll(tmp_path / "next"),
    ):
        with pytest.raises(ClosedError, match="log"):
            call()


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"mine")
    with pytest.raises(StorageError, match="log"):
        changelog.Writer(tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == b"mine"


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no/such"):
        changelog.Writer(tmp_path / "no/such/log")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file/log"):
        changelog.Writer(tmp_path / "file/log")


def test_a_reader_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    changelog.Writer(tmp_path / "log").close()
    with pytest.raises(NotFoundError, match="absent"):
        changelog.Reader(tmp_path / "absent")
    with pytest.raises(InvalidError, match="colour"):
        changelog.Reader(tmp_path / "log", columns=["colour"])  # type: ignore[list-item]
    with pytest.raises(InvalidError, match="groups"):
        changelog.Reader(tmp_path / "log", groups=range(0, 10, 2))
    with pytest.raises(StorageError):
        changelog.Reader(tmp_path)


def test_damage_comes_out_of_the_stream_too(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with changelog.Writer(path) as log:
        log.append_many(DELETE, table=1, keys=pa.array([os.urandom(50) for _ in range(100)]))
    damaged = bytearray(path.read_bytes())
    damaged[300] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(OSError, match=r"\[corruption\].*offset 72"):
        pa.RecordBatchReader.from_stream(changelog.Reader(path)).read_all()
    with pytest.raises(CorruptionError, match=r"log.*offset 72"):
        changelog.Reader(path).read_all()
