"""Typed, ordered, durable tables in the process: batches in, Arrow streams out."""

from flintstate.store.scan import Scan
from flintstate.store.store import Batch, Snapshot, Store
from flintstate.store.table import IngestProgress, MergeFunction, Row, Table

__all__ = [
    "Batch",
    "IngestProgress",
    "MergeFunction",
    "Row",
    "Scan",
    "Snapshot",
    "Store",
    "Table",
]
