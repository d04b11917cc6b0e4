"""Parquet files: what they unfold to is worked out from their metadata before it is read.

A few bytes can stand for any number of rows (runs, and dictionaries of which each entry may be used
again and again), so the size of the file says nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files.formats import first_line, refuse_doubled

#: Bytes of memory for one value in Arrow and in pandas, and for one column.
VALUE_BYTES = 32
COLUMN_BYTES = 4096
#: Values of these types may be of any length, each of its own or all of one.
LONG, FIXED = "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"


def read_parquet(file: Path, budget: Budget) -> pd.DataFrame:
    """Read a parquet file; a named index that pandas wrote is a column."""
    try:
        with pq.ParquetFile(file) as opened:
            refuse_doubled(opened.schema_arrow.names, file)
            _refuse_nested(opened.schema_arrow, file)
            _check_size(opened, file, budget)
        frame: pd.DataFrame = pd.read_parquet(file, engine="pyarrow")
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError):
            raise
        raise InvalidInput(
            f"'{file.name}' is not a parquet file, or a damaged one: {first_line(error)}. Write it "
            "again."
        ) from error
    named = [name for name in frame.index.names if name is not None]
    refuse_doubled([*map(str, frame.columns), *map(str, named)], file)
    return frame.reset_index(named) if named else frame


def _refuse_nested(schema: Any, file: Path) -> None:
    """Refuse lists, structs and maps, whose values are counted by none of the estimates below."""
    for field in schema:
        if pa.types.is_nested(_stored(field.type)):
            raise InvalidInput(
                f"Column '{field.name}' of '{file.name}' holds {str(field.type)[:60]}, and a cell "
                "must be one number or text. Leave it out, or write a column for each value in it."
            )


def _check_size(opened: Any, file: Path, budget: Budget) -> None:
    metadata = opened.metadata
    chunks = [
        metadata.row_group(i).column(j)
        for i in range(metadata.num_row_groups)
        for j in range(metadata.num_columns)
    ]
    # Claims may be too small as well: all of them are looked at, and the largest counts.
    values = max(
        sum(chunk.num_values for chunk in chunks), metadata.num_rows * metadata.num_columns
    )
    need = VALUE_BYTES * values + COLUMN_BYTES * metadata.num_columns
    need += sum(max(chunk.total_uncompressed_size, 0) for chunk in chunks)
    budget.check_memory(need, f"'{file.name}'")
    size, kinds = file.stat().st_size, [_stored(field.type) for field in opened.schema_arrow]
    worst_text = 0
    for place, chunk in enumerate(chunks):
        n_values, j = max(chunk.num_values, 0), place % metadata.num_columns
        # At worst every value of a dictionary is as long as the whole of it.
        worst = max(chunk.total_uncompressed_size, size) * n_values
        if chunk.physical_type == FIXED:
            need += 2 * opened.schema.column(j).length * n_values
        elif chunk.physical_type == LONG and _is_text(kinds[j]):
            worst_text += worst
        elif chunk.physical_type == LONG and not pa.types.is_decimal(kinds[j]):
            need += worst
    budget.check_memory(need, f"'{file.name}'")
    if worst_text > budget.max_memory:
        _check_text(opened.schema_arrow, need, file, budget)


def _check_text(schema: Any, need: int, file: Path, budget: Budget) -> None:
    """Count the bytes of all text, whose dictionaries are read but not unfolded."""
    names = [field.name for field in schema if _is_text(_stored(field.type))]
    with pq.ParquetFile(file, read_dictionary=names) as opened:
        for batch in opened.iter_batches(columns=names):
            for column in batch.columns:
                if pa.types.is_dictionary(column.type):
                    lengths = pc.binary_length(column.dictionary)
                    need += 2 * (pc.sum(lengths.take(column.indices)).as_py() or 0)
                else:
                    need += 2 * column.nbytes
            budget.check_memory(need, f"'{file.name}'")


def _is_text(kind: Any) -> bool:
    """Whether values of a type can be read as a dictionary, which is not unfolded."""
    types = pa.types
    known = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_it(kind) for is_it in known)


def _stored(kind: Any) -> Any:
    """Give the type of the values themselves."""
    while pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind.storage_type
    return kind
