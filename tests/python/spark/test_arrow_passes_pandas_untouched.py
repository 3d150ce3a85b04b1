import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.conversion import PandasToArrowConversion

from flintstate.spark.frames import frame

SCHEMA = """
    b boolean, i8 byte, i16 short, i32 int, i64 long, f float, d double, dec decimal(10,2),
    s string, bin binary, day date, at timestamp, naive timestamp_ntz,
    took interval day to second, list array<int>, struct struct<x:int,y:array<string>>,
    map map<string,int>
"""
ROW = (
    True, 1, 2, 3, 4, 1.5, 2.5, Decimal("3.25"), "text", b"bytes", dt.date(2026, 1, 2),
    dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), dt.datetime(1969, 12, 31), dt.timedelta(1),
    [1, None], {"x": None, "y": ["a", None]}, [("k", None)],
)  # fmt: skip


def test_every_type_and_its_nulls_come_out_as_they_went_in(spark: SparkSession) -> None:
    from flintstate.spark.schemas import arrow_schema

    spark_schema = T.StructType.fromDDL(SCHEMA)
    schema = arrow_schema(spark_schema, "test")
    rows = [ROW, (None,) * len(ROW), ROW]
    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    empty = pd.DataFrame(dict.fromkeys(schema.names), index=[])
    padding = pd.DataFrame(dict.fromkeys(schema.names), index=[0])
    # What Spark does with the frames of a bucket before they leave the worker.
    for frames, expected in (
        ([frame(batch), empty], batch.num_rows),
        ([frame(batch[:1]), frame(batch[1:]), padding], batch.num_rows + 1),
    ):
        merged = pd.concat(frames, ignore_index=True)
        out = PandasToArrowConversion.convert(merged, spark_schema, timezone="UTC", arrow_cast=True)
        assert out.num_rows == expected
        assert out[:3].to_pylist() == batch.to_pylist()
