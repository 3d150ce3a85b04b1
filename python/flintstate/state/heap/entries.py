"""All that a heap state holds, as an Arrow stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from flintstate.state.keys import KeyType, Token

if TYPE_CHECKING:
    from flintstate.state.heap.backend import HeapKind

_BATCH_ROWS = 8192
Row = tuple[object, ...]


def entries_of(state: HeapKind, key_type: KeyType, key_groups: range) -> pa.RecordBatchReader:
    """Rows in the order of key group, key and namespace, and then of the state's own."""
    fields = list(key_type.columns)
    if state.descriptor.namespace is not None:
        fields.append(pa.field("namespace", state.descriptor.namespace))
    fields += [pa.field(name, arrow) for name, arrow in state.column_types()]
    schema = pa.schema(fields)
    rows = _rows(state, key_type, key_groups, state.moment().horizon)
    return pa.RecordBatchReader.from_batches(schema, _batches(rows, schema))


def _batches(rows: Iterator[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH_ROWS:
            yield _batch(batch, schema)
            batch = []
    if batch:
        yield _batch(batch, schema)


def _batch(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.record_batch(columns, schema=schema)


def _rows(state: HeapKind, key_type: KeyType, key_groups: range, horizon: int) -> Iterator[Row]:
    def place(address: object) -> tuple[bytes, bytes]:
        key, namespace = _parts(state, address)
        return key_type.encoded(key), state.namespace_bytes(namespace)

    for group in key_groups:
        state._backend._check_open()
        for address, whole in sorted(state._shards[group].items(), key=lambda item: place(item[0])):
            cell = state.alive(whole, horizon)
            if cell is None:
                continue
            token, namespace = _parts(state, address)
            key = key_type.release(token)
            head = cast(Row, key) if key_type.is_row else (key,)
            if not state._flat:
                head = (*head, state.namespace_of(namespace))
            for row in state.columns(cell):
                yield (*head, *row)


def _parts(state: HeapKind, address: object) -> tuple[Token, Token]:
    """The tokens of key and namespace."""
    if state._flat:
        return address, None
    namespace, key = cast(tuple[Token, Token], address)
    return key, namespace
