"""Objects whose checksums are right and whose content is none: refused by name, as damage is."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from flintstate.checkpoint.base import Manifest, restore_base
from flintstate.checkpoint.handle import (
    Base,
    Groups,
    Handle,
    Reference,
    Segment,
    new_id,
    new_state_id,
    read_index,
)
from flintstate.checkpoint.sealed import BASE, CLAIM, HANDLE, INDEX, PIN, UPLOAD, seal, seal_json
from flintstate.checkpoint.storage import LocalStorage
from flintstate.checkpoint.upload import Upload, pinned_version
from flintstate.errors import CorruptionError
from flintstate.spark.claim import Claim, claim_query

GROUPS = Groups(128, 0, 127)
EMPTY = Handle(
    state_id=new_state_id(),
    root="/data",
    groups=GROUPS,
    batch=0,
    version=bytes(16),
    last_sequence=0,
)
ID = new_id(1).hex()
FILE: dict[str, object] = {
    "name": "CURRENT", "size": 1, "digest": "0" * 32, "object": f"{ID}-{'0' * 16}", "stored": 1,
}  # fmt: skip
MANIFEST: dict[str, object] = {
    "version": ID,
    "last_sequence": 1,
    "files": [FILE],
    "previous": base64.b64encode(EMPTY.to_bytes()).decode(),
}
CLAIMED: dict[str, object] = {
    "state_id": ID,
    "max_parallelism": 128,
    "labels": [3, 5],
    "key_schema": base64.b64encode(pa.schema([("k", pa.int64())]).serialize()).decode(),
}
PLANNED: dict[str, object] = {"id": ID, "handle": MANIFEST["previous"], "files": {"CURRENT": 1}}
NO_VALUES: list[object] = [
    None, True, -1, 1 << 80, 1.5, "", "../../x", "\0", [], [[]], {}, [None], ["x"], {"x": -1},
]  # fmt: skip
"""None of these can stand where a number, a name or an id is."""
NO_LISTS: list[object] = [None, True, 7, [None], [[]], ["x"], [7.5], {"x": -1}]
"""None of these is a list of anything that there is, or a dict of sizes."""


def read_manifest(storage: LocalStorage, data: bytes) -> object:
    base = Base(Reference.of(new_id(1), data), bytes(16), 0, 0)
    storage.publish(GROUPS.name("base", base.manifest.id), data)
    return Manifest.read(storage, GROUPS, base)


def read_an_index(storage: LocalStorage, data: bytes) -> object:
    index = Reference.of(new_id(1), data)
    storage.publish(GROUPS.name("index", index.id), data)
    return read_index(storage, GROUPS, index)


def read_claim(storage: LocalStorage, data: bytes) -> object:
    (Path(storage.root) / "claim").write_bytes(data)
    return Claim.read(storage)


def read_query(storage: LocalStorage, data: bytes) -> object:
    (Path(storage.root) / "query").write_bytes(data)
    return claim_query(storage, "mine", 1)


def read_pin(storage: LocalStorage, data: bytes) -> object:
    name = GROUPS.name("pin", new_id(1))
    storage.publish(name, data)
    return pinned_version(storage, name)


def read_plan(storage: LocalStorage, data: bytes) -> object:
    directory = Path(storage.root) / "uploads" / "one"
    directory.mkdir(parents=True)
    (directory / "plan").write_bytes(data)
    found = list(Upload.all(directory.parent))
    if not found:  # removed, as a damaged one is
        raise CorruptionError(f"{storage.root}: begun anew")
    return found


Read = Callable[[LocalStorage, bytes], object]
KINDS: dict[str, tuple[bytes, Read, dict[str, object]]] = {
    "manifest": (BASE, read_manifest, MANIFEST),
    "index": (INDEX, read_an_index, {"segments": [[ID, 1, 2, 3]]}),
    "claim": (CLAIM, read_claim, CLAIMED),
    "query": (CLAIM, read_query, {"query_id": "mine"}),
    "pin": (PIN, read_pin, {"version": ID}),
    "plan": (UPLOAD, read_plan, PLANNED),
}


def refused(tmp_path: Path, kind: str, body: bytes) -> None:
    sealed_as, read, _ = KINDS[kind]
    root = tmp_path / new_id(1).hex()
    root.mkdir()
    with pytest.raises(CorruptionError, match=root.name):
        read(LocalStorage(root), seal(sealed_as, body))


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_object_is_read(tmp_path: Path, kind: str) -> None:
    sealed_as, read, content = KINDS[kind]
    read(LocalStorage(tmp_path), seal_json(sealed_as, content))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_json_or_no_object_of_it_is_refused(tmp_path: Path, kind: str) -> None:
    for body in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b"7", b'"text"', b"{}"):
        refused(tmp_path, kind, body)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_is_missing_or_of_another_kind_is_refused(tmp_path: Path, kind: str) -> None:
    content = KINDS[kind][2]
    for part in content:
        others = {name: value for name, value in content.items() if name != part}
        refused(tmp_path, kind, json.dumps(others).encode())
        for value in NO_LISTS if part in ("files", "segments", "query_id") else NO_VALUES:
            refused(tmp_path, kind, json.dumps(others | {part: value}).encode())


@pytest.mark.parametrize("part", FILE)
def test_a_file_of_a_base_that_leads_elsewhere_is_refused(tmp_path: Path, part: str) -> None:
    for value in [*NO_VALUES, "..", ".", "a/b", "/etc/passwd", f"../{ID}-{'0' * 16}"]:
        files = json.dumps(MANIFEST | {"files": [FILE | {part: value}]}).encode()
        refused(tmp_path, "manifest", files)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, "manifest", json.dumps(MANIFEST | {"files": [FILE, FILE]}).encode())


def test_nothing_is_left_of_a_restore_from_a_manifest_that_is_none(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "storage")
    data = seal_json(BASE, MANIFEST | {"files": [FILE | {"name": "../evil"}]})
    base = Base(Reference.of(new_id(1), data), bytes(16), 0, 0)
    storage.publish(GROUPS.name("base", base.manifest.id), data)
    handle = EMPTY.with_base(storage, base, 1)
    with pytest.raises(CorruptionError, match=r"\.\./evil"):
        restore_base(storage, handle, tmp_path / "local" / "store")
    assert not (tmp_path / "local").exists()


def test_a_handle_of_impossible_numbers_is_refused(tmp_path: Path) -> None:
    segment = Segment(new_id(1), 1, 1, 1)
    whole = EMPTY.with_segment(LocalStorage(tmp_path), segment, 1).to_bytes()[17:]
    fields = {"flags": (0, "<B", 4), "first": (19, "<H", 200), "last": (21, "<H", 128)}
    assert Handle.from_bytes(seal(HANDLE, whole)).recent == (segment,)
    for at, form, value in fields.values():
        body = bytearray(whole)
        struct.pack_into(form, body, at, value)
        with pytest.raises(CorruptionError, match="parts do not fit"):
            Handle.from_bytes(seal(HANDLE, bytes(body)))
