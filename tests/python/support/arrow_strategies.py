"""Any schema that can be stored, and any rows of it, as Python objects."""

import datetime as dt
import decimal
import math
from collections.abc import Callable

import pyarrow as pa
from hypothesis import strategies as st

UNITS = ("s", "ms", "us", "ns")
MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}


def floats(width: int) -> st.SearchStrategy[float]:
    return st.floats(width=width, allow_nan=False)  # type: ignore[arg-type]


def decimals(type_: pa.DataType) -> st.SearchStrategy[decimal.Decimal]:
    most = 10**type_.precision - 1
    exact = decimal.Context(prec=100)
    return st.integers(-most, most).map(
        lambda i: decimal.Decimal(i).scaleb(-type_.scale, context=exact)
    )


def datetimes(type_: pa.DataType) -> st.SearchStrategy[dt.datetime]:
    step = MICROS[type_.unit]
    # years that nanoseconds of 64 bits hold
    limits = (dt.datetime(1678, 1, 1), dt.datetime(2261, 12, 31))
    if type_.unit != "ns":
        limits = (dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29))
    zones = st.just(dt.UTC) if type_.tz else st.none()
    return st.datetimes(*limits, timezones=zones).map(
        lambda t: t.replace(microsecond=t.microsecond // step * step)
    )


def times(type_: pa.DataType) -> st.SearchStrategy[dt.time]:
    step = MICROS[type_.unit]
    return st.times().map(lambda t: t.replace(microsecond=t.microsecond // step * step))


def durations(type_: pa.DataType) -> st.SearchStrategy[dt.timedelta]:
    step = MICROS[type_.unit]
    most = min(2**63 // 1000, 10**15) // step
    return st.integers(-most, most).map(lambda n: dt.timedelta(microseconds=n * step))


def integers(type_: pa.DataType) -> st.SearchStrategy[int]:
    bits = type_.bit_width
    if pa.types.is_signed_integer(type_):
        return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.integers(0, 2**bits - 1)


SCALARS: list[tuple[pa.DataType, Callable[[pa.DataType], st.SearchStrategy[object]]]] = [
    (pa.null(), lambda _: st.none()),
    (pa.bool_(), lambda _: st.booleans()),
    *[
        (type_, integers)
        for type_ in (
            pa.int8(), pa.int16(), pa.int32(), pa.int64(),
            pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        )
    ],
    (pa.float16(), lambda _: floats(16)),
    (pa.float32(), lambda _: floats(32)),
    (pa.float64(), lambda _: floats(64)),
    *[(type_, decimals) for type_ in (pa.decimal128(38, 10), pa.decimal128(5, 0))],
    *[(type_, decimals) for type_ in (pa.decimal256(76, 40), pa.decimal256(40, 2))],
    *[(type_, lambda _: st.text(max_size=20)) for type_ in (pa.string(), pa.large_string())],
    *[(type_, lambda _: st.binary(max_size=20)) for type_ in (pa.binary(), pa.large_binary())],
    (pa.binary(3), lambda _: st.binary(min_size=3, max_size=3)),
    *[(type_, lambda _: st.dates()) for type_ in (pa.date32(), pa.date64())],
    *[(type_, times) for type_ in (pa.time32("s"), pa.time32("ms"), pa.time64("us"))],
    (pa.time64("ns"), times),
    *[(pa.timestamp(unit), datetimes) for unit in UNITS],
    *[(pa.timestamp(unit, tz="UTC"), datetimes) for unit in UNITS],
    (pa.timestamp("us", tz="Asia/Kathmandu"), datetimes),
    (pa.timestamp("us", tz="-03:30"), datetimes),
    *[(pa.duration(unit), durations) for unit in UNITS],
]  # fmt: skip

STRATEGIES = dict(SCALARS)


def fields(types: st.SearchStrategy[pa.DataType], name: str) -> st.SearchStrategy[pa.Field]:
    return st.builds(
        lambda type_, nullable: pa.field(name, type_, nullable or pa.types.is_null(type_)),
        types,
        st.booleans(),
    )


def structs(types: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    names = st.integers(0, 4).map(lambda n: [f"f{i}" for i in range(n)])
    return names.flatmap(lambda ns: st.tuples(*[fields(types, n) for n in ns])).map(
        lambda made: pa.struct(list(made))
    )


def nested(types: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    item = fields(types, "item")
    keys = types.filter(lambda type_: not pa.types.is_null(type_))
    return st.one_of(
        structs(types),
        item.map(pa.list_),
        item.map(pa.large_list),
        st.builds(pa.list_, item, st.integers(0, 3)),
        st.builds(pa.map_, keys, types),
    )


TYPES = st.recursive(st.sampled_from([type_ for type_, _ in SCALARS]), nested, max_leaves=6)


def schemas(*, least: int = 0, most: int = 5) -> st.SearchStrategy[pa.Schema]:
    counts = st.integers(least, most)
    return counts.flatmap(lambda n: st.tuples(*[fields(TYPES, f"c{i}") for i in range(n)])).map(
        lambda made: pa.schema(list(made))
    )


def values(field: pa.Field) -> st.SearchStrategy[object]:
    plain = plain_values(field.type)
    return st.none() | plain if field.nullable else plain


def plain_values(type_: pa.DataType) -> st.SearchStrategy[object]:
    if pa.types.is_struct(type_):
        return st.fixed_dictionaries({field.name: values(field) for field in type_})
    if pa.types.is_map(type_):
        pairs = st.tuples(values(type_.key_field), values(type_.item_field))
        return st.lists(pairs, max_size=4)
    if pa.types.is_fixed_size_list(type_):
        size = type_.list_size
        return st.lists(values(type_.value_field), min_size=size, max_size=size)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return st.lists(values(type_.value_field), max_size=4)
    return decimals(type_) if pa.types.is_decimal(type_) else STRATEGIES[type_](type_)


def rows(schema: pa.Schema) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({field.name: values(field) for field in schema})


@st.composite
def schemas_and_rows(
    draw: st.DrawFn, *, least: int = 0, most: int = 5
) -> tuple[pa.Schema, list[dict[str, object]]]:
    schema = draw(schemas(least=least, most=most))
    return schema, draw(st.lists(rows(schema), max_size=5))


def same(a: object, b: object) -> bool:
    """Equality that tells -0.0 from 0.0."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b
