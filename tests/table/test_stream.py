"""Files read batch by batch: what is learnt is what would be learnt from the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.errors import (
    ContinuousColumnError,
    RaggedLineError,
    TooManyLevelsError,
    UnobservedColumnError,
    UnreadableFileError,
)
from tensorpmf.table import stream
from tensorpmf.table.stream import read_in_batches


def test_levels_are_those_of_all_batches_in_their_natural_order(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    lines = [f"{number},{'NA' if number % 7 == 0 else number % 3}" for number in range(60_000, 0, -1) for _ in range(3)]
    path.write_text("\n".join(["big,small", *lines]))
    schema, tables = read_in_batches(path, drop="big")
    whole = tp.read_table(path, drop="big")
    assert schema == whole.schema
    batches = list(tables)
    assert len(batches) > 1
    np.testing.assert_array_equal(np.concatenate([batch.codes for batch in batches]), whole.codes)


def test_columns_of_too_many_values_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["a,b", *(f"{number / 7},{number % 2}" for number in range(100))]))
    with pytest.raises(ContinuousColumnError, match="bins"):
        read_in_batches(path)
    monkeypatch.setattr(stream, "MOST_LABELS", 50)
    with pytest.raises(TooManyLevelsError, match=r"schema=read_table\(sample, bins=\.\.\.\)"):
        read_in_batches(path, bins={"a": [3, 5]})
    schema, tables = read_in_batches(
        path, schema=tp.read_table({"a": [1.5, 4, 9], "b": [0, 1, 1]}, bins={"a": [3]}).schema
    )
    assert schema.names == ("a", "b")
    assert sum(table.n_rows for table in tables) == 100


def test_weights_below_one_do_not_make_levels_too_many(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["a,w", *(f"v{number % 30},0.001" for number in range(200))]))
    schema, _ = read_in_batches(path, weights="w")
    assert schema == tp.read_table(path, weights="w").schema


def test_an_unobserved_column_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,\n2,NA\n")
    with pytest.raises(UnobservedColumnError):
        read_in_batches(path)


def test_bad_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n2\n")
    with pytest.raises(RaggedLineError):
        read_in_batches(path)
    path = tmp_path / "x.parquet"
    path.write_text("no such thing")
    with pytest.raises(UnreadableFileError):
        read_in_batches(path)
