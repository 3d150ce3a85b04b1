"""Any rows of any schema, through objects and through columns, in all four combinations."""

import pyarrow as pa
from hypothesis import given, settings
from rounds import ROUNDS

import arrow_strategies as arrow
from flintstate import _core

Drawn = tuple[pa.Schema, list[dict[str, object]]]


def batch_of(schema: pa.Schema, rows: list[dict[str, object]]) -> pa.RecordBatch:
    columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema) if columns else empty(len(rows))


def empty(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def table_of(stream: _core.ArrowStream) -> pa.Table:
    return pa.RecordBatchReader.from_stream(stream).read_all()


def same_columns(decoded: pa.Table, batch: pa.RecordBatch) -> bool:
    decoded.validate(full=True)
    return all(
        decoded.column(i).combine_chunks().equals(batch.column(i))
        if decoded.num_rows
        else decoded.column(i).type == batch.column(i).type
        for i in range(batch.num_columns)
    )


@settings(max_examples=150 * ROUNDS, deadline=None)
@given(arrow.schemas_and_rows())
def test_objects_come_back_as_objects(drawn: Drawn) -> None:
    schema, given_rows = drawn
    rows = _core.Rows(schema)
    for row in given_rows:
        assert arrow.same(rows.unpack(rows.pack(row)), row)


@settings(max_examples=150 * ROUNDS, deadline=None)
@given(arrow.schemas_and_rows(least=1))
def test_columns_come_back_as_columns(drawn: Drawn) -> None:
    schema, given_rows = drawn
    rows, batch = _core.Rows(schema), batch_of(*drawn)
    encoded = pa.array(rows.encode(batch))
    assert len(encoded) == len(given_rows)
    assert same_columns(table_of(rows.decode(encoded)), batch)


@settings(max_examples=150 * ROUNDS, deadline=None)
@given(arrow.schemas_and_rows(least=1))
def test_objects_and_columns_make_the_same_bytes(drawn: Drawn) -> None:
    schema, given_rows = drawn
    rows = _core.Rows(schema)
    packed = [rows.pack(row) for row in given_rows]
    assert pa.array(rows.encode(batch_of(*drawn))).to_pylist() == packed
    assert same_columns(table_of(rows.decode(pa.array(packed, pa.binary()))), batch_of(*drawn))


@settings(max_examples=100 * ROUNDS, deadline=None)
@given(arrow.schemas_and_rows(least=1))
def test_columns_come_back_as_objects(drawn: Drawn) -> None:
    schema, given_rows = drawn
    rows = _core.Rows(schema)
    encoded = pa.array(rows.encode(batch_of(*drawn))).to_pylist()
    assert arrow.same([rows.unpack(row) for row in encoded], given_rows)


@settings(max_examples=100 * ROUNDS, deadline=None)
@given(arrow.schemas_and_rows(least=2))
def test_chosen_columns_come_back_in_the_order_chosen(drawn: Drawn) -> None:
    schema, _ = drawn
    rows, batch = _core.Rows(schema), batch_of(*drawn)
    chosen = [schema.names[-1], schema.names[0]]
    decoded = table_of(rows.decode(pa.array(rows.encode(batch)), chosen))
    assert decoded.schema.names == chosen
    assert same_columns(decoded, batch.select(chosen))


@settings(max_examples=100 * ROUNDS, deadline=None)
@given(arrow.schemas_and_rows(least=1, most=1))
def test_a_bare_value_is_a_row_of_one_column(drawn: Drawn) -> None:
    schema, given_rows = drawn
    bare, rows = _core.Rows(schema, bare=True), _core.Rows(schema)
    for row in given_rows:
        packed = bare.pack(row["c0"])
        assert packed == rows.pack(row)
        assert arrow.same(bare.unpack(packed), row["c0"])


@settings(max_examples=100 * ROUNDS, deadline=None)
@given(arrow.schemas_and_rows(least=1))
def test_named_tuples_go_in_as_they_come_out(drawn: Drawn) -> None:
    schema, given_rows = drawn
    rows = _core.Rows(schema, named_tuples=True)
    for row in given_rows:
        packed = rows.pack(row)
        back = rows.unpack(packed)
        assert isinstance(back, tuple)
        assert rows.pack(back) == packed
