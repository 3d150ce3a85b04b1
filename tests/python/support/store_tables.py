"""The columns of the table that most tests of the store use."""

import pyarrow as pa

KEY = pa.schema([pa.field("id", pa.int64(), nullable=False)])
VALUE = pa.schema([("text", pa.string()), ("n", pa.int64())])
