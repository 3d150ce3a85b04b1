"""The keyed state of a stream processor, ordered and durable, for Python and PySpark."""

from flintstate._version import __version__
from flintstate.about import BuildInfo, build_info
from flintstate.errors import (
    BusyError,
    ClosedError,
    CorruptionError,
    FlintError,
    InternalError,
    InvalidError,
    NotFoundError,
    StorageError,
)
from flintstate.keys import decode_keys, encode_keys
from flintstate.process import Context, KeyedProcessFunction
from flintstate.state import (
    AggregateFunction,
    AggregatingState,
    Codec,
    KeyedBackend,
    ListState,
    MapState,
    ReduceFunction,
    ReducingState,
    SortedState,
    State,
    StateMetrics,
    Timer,
    Ttl,
    ValueState,
)
from flintstate.state.times import from_millis
from flintstate.store import Batch, Scan, Snapshot, Store, Table

__all__ = [
    "AggregateFunction",
    "AggregatingState",
    "Batch",
    "BuildInfo",
    "BusyError",
    "ClosedError",
    "Codec",
    "Context",
    "CorruptionError",
    "FlintError",
    "InternalError",
    "InvalidError",
    "KeyedBackend",
    "KeyedProcessFunction",
    "ListState",
    "MapState",
    "NotFoundError",
    "ReduceFunction",
    "ReducingState",
    "Scan",
    "Snapshot",
    "SortedState",
    "State",
    "StateMetrics",
    "StorageError",
    "Store",
    "Table",
    "Timer",
    "Ttl",
    "ValueState",
    "__version__",
    "build_info",
    "decode_keys",
    "encode_keys",
    "from_millis",
]
