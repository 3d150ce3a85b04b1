import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from flintstate.spark.labels import choose_labels, murmur3_of_int


def test_the_hash_is_sparks(spark: SparkSession) -> None:
    numbers = spark.range(2000).select(F.col("id").cast("int").alias("n"))
    for row in numbers.select("n", F.hash("n").alias("hash")).collect():
        assert murmur3_of_int(row.n) == row.hash


@pytest.mark.parametrize("partitions", [1, 2, 7, 200])
@pytest.mark.parametrize("buckets", [1, 2, 7, 64])
def test_labels_are_spread_evenly(buckets: int, partitions: int) -> None:
    labels = choose_labels(buckets, partitions)
    assert len(set(labels)) == buckets
    assert [murmur3_of_int(n) % partitions for n in labels] == [
        bucket % partitions for bucket in range(buckets)
    ]
