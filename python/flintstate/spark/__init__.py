"""Keyed state in PySpark streams: `keyed(df, ...).process(function, ...)`."""

try:
    import pandas  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"flintstate.spark needs {error.name}: pip install 'flintstate[spark]'", name=error.name
    ) from error

from flintstate.process import Context, KeyedProcessFunction
from flintstate.spark.keyed import Keyed, keyed
from flintstate.spark.reading import collect_garbage, read_state
from flintstate.state.times import from_millis

__all__ = [
    "Context",
    "Keyed",
    "KeyedProcessFunction",
    "collect_garbage",
    "from_millis",
    "keyed",
    "read_state",
]
