"""What is written once under `state=`, on first use, and read ever after.

Which bucket a key belongs to, and which shuffle partition a bucket goes to, must never change while
a query lives: a key that met another bucket would find empty state there, and nobody would notice.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from flintstate.checkpoint.handle import Groups, new_state_id
from flintstate.checkpoint.sealed import CLAIM, id_of, natural, seal_json, unseal_json
from flintstate.checkpoint.storage import Storage
from flintstate.errors import InvalidError, NotFoundError
from flintstate.spark.labels import choose_labels

__all__ = ["Claim", "claim_query", "is_claimed", "who_am_i"]

_CLAIM = "claim"
_QUERY = "query"


@dataclass(frozen=True)
class Claim:
    """The fixed facts of a state directory."""

    state_id: bytes
    max_parallelism: int
    labels: tuple[int, ...]
    key_schema: pa.Schema
    processing_time: bool = False

    @property
    def buckets(self) -> int:
        return len(self.labels)

    def groups_of(self, label: int) -> Groups:
        """The key groups of the bucket with this label."""
        bucket, parallelism = self.labels.index(label), self.max_parallelism
        first, after = (-(-b * parallelism // self.buckets) for b in (bucket, bucket + 1))
        return Groups(parallelism, first, after - 1)

    @staticmethod
    def read(storage: Storage) -> Claim | None:
        """The claim of a state directory; None where it has none yet."""
        try:
            data = storage.read(_CLAIM)
        except NotFoundError:
            return None
        return unseal_json(CLAIM, data, f"{storage.root}/{_CLAIM}", Claim._from)

    @staticmethod
    def _from(content: dict[str, Any]) -> Claim:
        labels = tuple(natural(label) for label in content["labels"])
        parallelism = natural(content["max_parallelism"])
        if not 1 <= len(set(labels)) == len(labels) <= parallelism:
            raise ValueError(f"{len(labels)} labels for {parallelism} key groups")
        return Claim(
            id_of(content["state_id"]),
            parallelism,
            labels,
            _schema(base64.b64decode(content["key_schema"])),
            content.get("time_mode") == "processing",
        )

    @staticmethod
    def open(
        storage: Storage, key_schema: pa.Schema, *, buckets: int | None, partitions: int,
        cores: int, processing_time: bool = False,
    ) -> Claim:  # fmt: skip
        """The claim of a state directory, made on its first use.

        Raises InvalidError where it was made with another key, number of buckets or time mode.
        """
        claim = Claim.read(storage)
        if claim is None:
            count = min(partitions, max(8, 2 * cores)) if buckets is None else buckets
            if not isinstance(count, int) or not 1 <= count <= 8192:
                raise InvalidError(f"buckets={buckets!r}: between 1 and 8192 are possible")
            parallelism = max(128, 1 << (4 * count - 1).bit_length())
            labels = tuple(choose_labels(count, partitions))
            claim = Claim(new_state_id(), parallelism, labels, key_schema, processing_time)
            claim = claim._write(storage)
        claim._check(storage.root, key_schema, buckets, processing_time)
        return claim

    def _write(self, storage: Storage) -> Claim:
        content: dict[str, object] = {
            "state_id": self.state_id.hex(),
            "max_parallelism": self.max_parallelism,
            "labels": list(self.labels),
            "key": _describe(self.key_schema),
            "key_schema": base64.b64encode(self.key_schema.serialize().to_pybytes()).decode(),
        }
        if self.processing_time:
            content["time_mode"] = "processing"
        try:
            storage.publish(_CLAIM, seal_json(CLAIM, content))
        except InvalidError:  # someone was faster: theirs holds
            other = Claim.read(storage)
            if other is None:
                raise
            return other
        return self

    def _check(
        self, where: str, key_schema: pa.Schema, buckets: int | None, processing_time: bool
    ) -> None:
        if self.key_schema != key_schema:
            raise InvalidError(
                f"state directory {where}: it is keyed by {_describe(self.key_schema)}, this query "
                f"by {_describe(key_schema)}: a key can't change; give the query another state="
            )
        if buckets is not None and buckets != self.buckets:
            raise InvalidError(
                f"state directory {where}: it has {self.buckets} buckets, buckets={buckets} was "
                "asked for: their number can't change; leave buckets= out, or give another state="
            )
        if processing_time != self.processing_time:
            raise InvalidError(
                f"state directory {where}: its query was made "
                f"{'with' if self.processing_time else 'without'} time_mode='processing': timers "
                "that wait there would be lost; keep the mode, or give another state="
            )


def claim_query(storage: Storage, query_id: str, batch: int) -> None:
    """Makes sure that no other query uses the state directory.

    Raises InvalidError where one does, or where this query's own state directory was emptied.
    """
    try:
        data = storage.read(_QUERY)
    except NotFoundError:
        if batch > 0:
            raise InvalidError(
                f"state directory {storage.root}: it is new, but query {query_id} has run "
                f"{batch} batches: was it moved or emptied? Put its files back, or begin anew with "
                "another checkpointLocation"
            ) from None
        try:
            storage.publish(_QUERY, seal_json(CLAIM, {"query_id": query_id}))
        except InvalidError:
            claim_query(storage, query_id, batch)
        return
    owner = unseal_json(CLAIM, data, f"{storage.root}/{_QUERY}", _owner)
    if owner != query_id:
        raise InvalidError(
            f"state directory {storage.root}: query {owner} uses it, this is query "
            f"{query_id}: each query (each checkpointLocation) needs a state= of its own"
        )


def is_claimed(storage: Storage) -> bool:
    """Whether a query uses the state directory."""
    try:
        storage.read(_QUERY)
    except NotFoundError:
        return False
    return True


def who_am_i() -> tuple[int, str]:
    """The batch and the query that this task works for."""
    context: Any = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId")
    return int(batch), context.getLocalProperty("sql.streaming.queryId")


def _owner(content: dict[str, Any]) -> str:
    owner = content["query_id"]
    if not isinstance(owner, str):
        raise ValueError(f"{owner!r} is no query's id")
    return owner


def _schema(data: bytes) -> pa.Schema:
    try:
        return pa.ipc.read_schema(pa.py_buffer(data))
    except OSError as error:  # what pyarrow calls bytes that are no schema
        raise ValueError(f"no schema: {error}") from None


def _describe(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
