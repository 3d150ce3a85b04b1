import gc
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from flintstate.spark.worker import settle_worker


def frozen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle_worker()
    settle_worker()  # as a task does that has several buckets
    for _ in batches:
        pass
    yield pa.record_batch({"frozen": [gc.get_freeze_count() > 0]})


def test_what_a_worker_imported_is_not_collected_from_its_second_task_on(
    spark: SparkSession,
) -> None:
    def run() -> bool:
        rows = spark.range(1, numPartitions=1).mapInArrow(frozen, "frozen boolean").collect()
        return bool(rows[0].frozen)

    # Spark hands a task to any worker that is idle, and starts others where none is.
    assert any(run() for _ in range(10))


def test_outside_of_a_task_nothing_is_frozen() -> None:
    before = gc.get_freeze_count()
    settle_worker()
    settle_worker()
    assert gc.get_freeze_count() == before
