"""One Spark for each test module."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from spark_streams import make_session


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = make_session()
    yield session
    session.stop()
