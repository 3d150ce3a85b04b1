import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.conversion import PandasToArrowConversion

from flintstate.spark.frames import carried_schema, frame, unfolded

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
    carried = carried_schema(spark_schema)
    empty = pd.DataFrame(dict.fromkeys(carried.names), index=[])
    padding = pd.DataFrame(dict.fromkeys(carried.names), index=[0])
    # What Spark does with the frames of a bucket before they leave the worker.
    for frames, padded in (
        ([frame(batch), empty], []),
        ([frame(batch[:1]), frame(batch[1:]), padding], [None]),
    ):
        merged = pd.concat(frames, ignore_index=True)
        out = PandasToArrowConversion.convert(merged, carried, timezone="UTC", arrow_cast=True)
        folded = out.column(0)
        assert folded.flatten().to_pylist() == batch.to_pylist()
        assert folded[len(folded) - len(padded) :].to_pylist() == padded


def test_wide_rows_are_folded_by_fewer() -> None:
    def folded(value: bytes) -> list[int]:
        rows = pa.record_batch({"value": [value] * 100})
        return [len(some) for some in frame(rows)["rows"]]

    assert folded(b"x") == [32, 32, 32, 4]
    assert folded(b"x" * 10_000) == [1] * 100


def test_folded_rows_are_unfolded_in_their_order(spark: SparkSession) -> None:
    schema = T.StructType.fromDDL("a long, b struct<c: string>")
    rows = [(1, ("x",)), (None, None)], [(3, (None,))]
    out = unfolded(spark.createDataFrame([(list(some),) for some in rows], carried_schema(schema)))
    assert out.schema == schema
    assert [tuple(row) for row in out.collect()] == [(1, ("x",)), (None, None), (3, (None,))]


def test_a_null_struct_may_have_fields_that_are_never_null() -> None:
    place = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    given = pa.RecordBatch.from_arrays([pa.array([None, {"x": 1}], place)], ["place"])
    parts = [frame(given), frame(given)]
    got = pa.array(pd.concat(parts)["rows"].array).flatten().field(0)
    assert got.to_pylist() == [None, {"x": 1}] * 2
