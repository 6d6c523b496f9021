"""Labels go out and come back the same, through every library and file; rows in blocks are rows as a whole."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import tensorpmf as tp
from tensorpmf import CategoricalTable, Column, Schema
from tensorpmf.errors import InputError, MissingExtraError, WeightError
from tensorpmf.table.read import encode_batches
from tensorpmf.table.text import MISSING
from tensorpmf.testing.strategies import schemas, tables

ARROW = schemas(mixed=False).flatmap(lambda schema: tables(schema, weighted=False))
"""Tables whose columns have labels of one kind each, as Arrow and polars want it."""


def plain(table: CategoricalTable) -> list[tuple[Any, ...]]:
    return [(column.name, column.levels, list(map(type, column.levels))) for column in table.schema.columns]


def same(back: CategoricalTable, table: CategoricalTable) -> None:
    assert plain(back) == plain(table)
    assert np.array_equal(back.codes, table.codes)


WRITERS: dict[str, Callable[[CategoricalTable], Any]] = {
    "columns": CategoricalTable.to_columns,
    "Arrow": CategoricalTable.to_arrow,
    "pandas": CategoricalTable.to_pandas,
    "polars": CategoricalTable.to_polars,
    "rows": lambda table: [
        dict(zip(table.schema.names, row, strict=True)) for row in zip(*table.to_columns().values(), strict=True)
    ],
}


@pytest.mark.parametrize("kind", WRITERS)
@given(table=ARROW)
def test_a_known_schema_gets_every_label_back(kind: str, table: CategoricalTable) -> None:
    same(table.schema.encode(WRITERS[kind](table)), table)


@pytest.mark.parametrize("kind", ["Arrow", "pandas"])
@given(table=ARROW)
def test_data_frames_declare_levels_and_order(kind: str, table: CategoricalTable) -> None:
    assume(table.n_rows and table.cells.n_observed.all())
    back = tp.read_table(WRITERS[kind](table))
    same(back, table)
    assert back.schema == table.schema


@given(tables())
def test_columns_and_pandas_hold_labels_of_any_kind(table: CategoricalTable) -> None:
    same(table.schema.encode(table.to_columns()), table)
    same(table.schema.encode(table.to_pandas()), table)


@given(table=ARROW)
def test_files_give_every_label_back(tmp_path_factory: pytest.TempPathFactory, table: CategoricalTable) -> None:
    folder = tmp_path_factory.mktemp("files")
    arrow = table.to_arrow()
    parquet.write_table(arrow, folder / "a.parquet", row_group_size=2)
    feather.write_feather(arrow, str(folder / "a.feather"), chunksize=2)
    plain_arrow = pa.table({name: pa.array(values) for name, values in table.to_columns().items()})
    parquet.write_table(plain_arrow, folder / "plain.parquet", row_group_size=2)
    for path in folder.iterdir():
        same(tp.read_table(path, schema=table.schema), table)


def written(path: Path, table: CategoricalTable) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.schema.names)
        for row in zip(*table.to_columns().values(), strict=True):
            writer.writerow(["NA" if label is None else label for label in row])
    return path


@given(table=ARROW)
def test_text_files_give_every_label_back(tmp_path_factory: pytest.TempPathFactory, table: CategoricalTable) -> None:
    texts = [str(label) for column in table.schema.columns for label in column.levels]
    assume(all(text == text.strip() and text not in {"", *MISSING} for text in texts))
    path = written(tmp_path_factory.mktemp("files") / "a.csv", table)
    same(tp.read_table(path, schema=table.schema), table)
    assume(table.n_rows and table.cells.n_observed.all())
    same(tp.read_table(path, levels={column.name: column.levels for column in table.schema.columns}), table)


@given(tables(), st.integers(1, 4))
def test_rows_in_blocks_are_rows_as_a_whole(table: CategoricalTable, size: int) -> None:
    columns = table.to_columns()
    parts = [slice(start, start + size) for start in range(0, table.n_rows, size)]
    blocks = [table.schema.encode({name: values[part] for name, values in columns.items()}) for part in parts]
    for block, part in zip(blocks, parts, strict=True):
        assert block == table.with_weights(None).take(part)


@given(schemas(mixed=False).flatmap(tables), st.integers(1, 3))
def test_record_batches_are_encoded_one_by_one(table: CategoricalTable, size: int) -> None:
    arrow = pa.table({name: pa.array(values) for name, values in table.to_columns().items()})
    weights = np.ones(table.n_rows) if table.row_weights is None else table.row_weights
    batches = arrow.append_column("weight", pa.array(weights)).to_batches(max_chunksize=size)
    blocks = list(encode_batches(batches, table.schema, weights="weight"))
    assert [block.n_rows for block in blocks] == [batch.num_rows for batch in batches]
    start = 0
    for block in blocks:
        assert block.schema is table.schema
        assert block == table.take(slice(start, start + block.n_rows))
        start += block.n_rows
    assert start == table.n_rows


def test_batches_have_dictionaries_markers_and_unknown_labels_of_their_own() -> None:
    schema = Schema((Column("a", ("x", "y")), Column("b", (1, 2))))
    batches = [pa.record_batch({"a": pa.array(v).dictionary_encode()}) for v in (["y", "?", None], ["x", "z", "y"])]
    codes = [block.codes.tolist() for block in encode_batches(batches, schema, missing=["?"], unknown="missing")]
    assert codes == [[[1, -1], [-1, -1], [-1, -1]], [[0, -1], [-1, -1], [1, -1]]]
    weighed = [pa.record_batch({"b": [1, 2], "w": [0.0, 0.0]}), pa.record_batch({"b": [1], "w": [-1.0]})]
    blocks = encode_batches(weighed, schema, weights="w")
    assert next(blocks).total_weight == 0
    with pytest.raises(WeightError, match=r"row 0 has -1\.0"):
        next(blocks)


def test_labels_that_polars_has_no_type_for() -> None:
    """Arrow has one for these, of which polars would make bytes."""
    keys = (UUID(int=1), UUID(int=2))
    table = CategoricalTable.from_codes([[0], [1]], schema=Schema((Column("x", keys),)))
    assert table.to_arrow()["x"].to_pylist() == table.to_pandas()["x"].tolist() == list(keys)
    with pytest.raises(InputError, match="the levels of column 'x' are of no single type that polars knows"):
        table.to_polars()


def test_labels_that_arrow_has_no_type_for() -> None:
    for levels in ((1, "a"), ("a", b"a"), ((1, 2), "x"), (frozenset(), 1), (1, 2**70)):
        table = CategoricalTable.from_codes([[0], [1]], schema=Schema((Column("x", levels),)))
        assert table.to_columns() == {"x": list(levels)}
        assert table.to_pandas()["x"].tolist() == list(levels)
        for write in (table.to_arrow, table.to_polars):
            with pytest.raises(InputError, match="the levels of column 'x' are of no single type that Arrow knows"):
                write()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_told(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = CategoricalTable.from_codes([[0]])
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=f"this needs {library}, which is not installed") as caught:
        getattr(table, f"to_{library}")()
    assert f"tensorpmf[{library}]" in caught.value.hint
