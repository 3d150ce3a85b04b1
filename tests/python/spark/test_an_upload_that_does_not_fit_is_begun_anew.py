"""A local directory is a cache: damaged, or of another storage, it is in nobody's way."""

import shutil
from pathlib import Path

import pytest
from spark_buckets import GROUPS, HUGE, KEY, SMALL, Home, add, expected, wait_for_background

from flintstate.checkpoint.handle import Handle
from flintstate.checkpoint.upload import Upload
from flintstate.errors import CorruptionError
from flintstate.spark.bucket import Bucket


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def begun(home: Home, handle: Handle) -> Upload:
    with home.bucket(handle) as bucket:
        return bucket._begin_upload()


def goes_on(home: Home, handle: Handle, batches: range) -> Handle:
    """More batches, as they come; in the end there is a base, and all is restored from it."""
    for batch in batches:
        bucket = Bucket(home.storage, home.path / "local", KEY, handle, SMALL)
        add(bucket, batch % 5)
        add(bucket, 1000)
        handle = bucket.commit(batch)
        bucket.close(background=True)
        wait_for_background()
    assert handle.base is not None
    shutil.rmtree(home.path / "local")
    assert home.read(handle) == expected(batches.stop)
    return handle


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied", "of another program"])
@pytest.mark.parametrize("name", ["plan", "steps", "done"])
def test_a_damaged_local_file_is_no_obstacle(home: Home, name: str, damage: str) -> None:
    handle = home.grow(home.first, 3)[-1]
    upload = begun(home, handle)
    assert upload.run(home.storage)
    if name == "steps":
        (upload.directory / "done").unlink()
    path = upload.directory / name
    whole = path.read_bytes()
    path.write_bytes(
        {
            "flipped": whole[:60] + bytes([whole[60] ^ 1]) + whole[61:],
            "cut": whole[:-1],
            "emptied": b"",
            "of another program": b'{"id": "07", "size": 3}\n',
        }[damage]
    )
    goes_on(home, handle, range(3, 12))


def test_a_state_directory_that_is_put_back_does_not_adopt_what_it_never_saw(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    backup = shutil.copytree(home.path / "storage", home.path / "backup")
    assert begun(home, handle).run(home.storage)
    shutil.rmtree(home.path / "storage")
    backup.rename(home.path / "storage")
    after = home.add(handle, 3)
    assert after.base is None
    goes_on(home, after, range(4, 12))


@pytest.mark.parametrize("cut", [False, True])
def test_a_base_of_which_a_file_is_missing_or_short_is_not_adopted(home: Home, cut: bool) -> None:
    handle = home.grow(home.first, 3)[-1]
    assert begun(home, handle).run(home.storage)
    path = sorted((home.path / "storage" / GROUPS.prefix / "file").iterdir())[0]
    if cut:
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.unlink()
    after = home.add(handle, 3)
    assert after.base is None
    goes_on(home, after, range(4, 12))


@pytest.mark.parametrize("moment", ["before", "half way"])
def test_an_upload_whose_files_go_is_not_taken_for_a_smaller_one(home: Home, moment: str) -> None:
    handle = home.grow(home.first, 3)[-1]
    upload = begun(home, handle)
    if moment == "half way":
        assert upload.run(home.storage)
        (upload.directory / "done").unlink()
    sorted(upload.files.iterdir())[-1].unlink()
    with pytest.raises(CorruptionError, match="is gone"):
        upload.run(home.storage)
    assert not upload.directory.exists()
    assert not list(home.storage.list(GROUPS.prefix + "pin/"))
    after = home.add(handle, 3)
    assert after.base is None
    goes_on(home, after, range(4, 12))


def test_an_upload_with_a_file_cut_short_is_begun_anew(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    upload = begun(home, handle)
    path = max(upload.files.glob("*.sst"))
    path.unlink()  # it is a link
    path.write_bytes(b"short")
    with pytest.raises(CorruptionError, match=r"5 bytes, \d+ were planned"):
        upload.run(home.storage)
    goes_on(home, handle, range(3, 12))


def test_a_store_with_a_damaged_table_file_is_restored_and_not_uploaded(home: Home) -> None:
    handle = home.grow(home.first, 3)[-1]
    upload = begun(home, handle)
    path = max(upload.files.glob("*.sst"))  # the store's own file, by another name
    whole = path.read_bytes()
    with open(path, "r+b") as file:
        file.write(bytes([whole[0] ^ 1]))
    Bucket(home.storage, home.path / "local", KEY, handle, HUGE).close(background=True)
    wait_for_background()
    assert not upload.directory.exists()
    assert not list(home.storage.list(GROUPS.prefix + "base/"))
    goes_on(home, handle, range(3, 12))


@pytest.mark.parametrize("kind", ["CURRENT", "MANIFEST", "OPTIONS"])
def test_a_file_that_changes_before_it_is_uploaded_is_in_no_base(home: Home, kind: str) -> None:
    handle = home.grow(home.first, 3)[-1]
    upload = begun(home, handle)
    (path,) = upload.files.glob(f"{kind}*")
    flip(path, path.stat().st_size // 2)
    with pytest.raises(CorruptionError, match=f"{kind}.*another one when it was planned"):
        upload.run(home.storage)
    goes_on(home, handle, range(3, 12))


@pytest.mark.parametrize("part", range(1, 9))
def test_a_manifest_that_is_damaged_while_its_store_is_open_is_in_no_base(
    home: Home, part: int
) -> None:
    handle = home.grow(home.first, 3)[-1]
    bucket = Bucket(home.storage, home.path / "local", KEY, handle, SMALL)
    (path,) = (home.path / "local").glob("db-*/MANIFEST*")
    flip(path, path.stat().st_size * part // 9)
    bucket.close(background=True)
    wait_for_background()
    assert not list(home.storage.list(GROUPS.prefix + "file/"))
    goes_on(home, handle, range(3, 8))


def test_an_overdue_base_of_a_damaged_store_costs_one_call(home: Home) -> None:
    handle = home.grow(home.first, 8)[-1]
    bucket = Bucket(home.storage, home.path / "local", KEY, handle, SMALL)
    (path,) = (home.path / "local").glob("db-*/MANIFEST*")
    flip(path, 20)
    with pytest.raises(CorruptionError, match="uploads/") as caught:
        bucket.commit(8)
    bucket.close(after=caught.value)
    goes_on(home, handle, range(8, 10))


def flip(path: Path, at: int) -> None:
    """Changes a bit in place."""
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
