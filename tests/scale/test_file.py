"""Rows in a file: the folder is written whole or not at all, used again, refused when it is something else."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorpmf as tp
from tensorpmf.errors import (
    InputError,
    MissingFileError,
    NoRowsError,
    RowsFolderError,
    SettingError,
    UnknownLevelError,
    WeightError,
)
from tensorpmf.fit.reduce import LocalReducer
from tensorpmf.scale import FileReducer, given
from tensorpmf.table.cells import DenseCells

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def table(rng: np.random.Generator) -> tp.CategoricalTable:
    codes = rng.integers(-1, 4, (3_000, 3))
    return tp.CategoricalTable.from_codes(codes, [4, 4, 4], weights=rng.gamma(1.0, 1.0, 3_000))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def fitted(table: Any, reducer: Any) -> tp.FitResult:
    return tp.fit(table, tp.VB(max_rank=3), reducer=reducer, max_iterations=5)


def same(one: tp.FitResult, other: tp.FitResult) -> bool:
    return np.array_equal(one.trace.objective, other.trace.objective) and one.pmf.schema.names == other.pmf.schema.names


def test_a_temporary_folder_is_removed_with_what_reads_it(table: tp.CategoricalTable, temporary: Path) -> None:
    reduce = FileReducer().bind(table)
    assert len(list(temporary.iterdir())) == 1
    del reduce
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_nothing_is_left_where_writing_fails(
    table: tp.CategoricalTable, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(given, "write", full)
    with pytest.raises(OSError, match="No space left"):
        FileReducer().bind(table)
    with pytest.raises(RowsFolderError, match="cannot be written"):
        FileReducer(tmp_path / "rows").bind(table)
    assert list(temporary.iterdir()) == []
    assert list(tmp_path.iterdir()) == [temporary]


def test_a_folder_is_written_once_and_read_again(
    table: tp.CategoricalTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "of" / "rows"
    first = fitted(table, FileReducer(folder))
    assert same(first, fitted(table, LocalReducer()))
    assert [each.name for each in folder.parent.iterdir()] == ["rows"]
    monkeypatch.setattr(given, "write", None)
    assert same(first, fitted(table, FileReducer(str(folder))))


def test_an_empty_folder_may_be_given(table: tp.CategoricalTable, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    assert same(fitted(table, FileReducer(tmp_path / "rows")), fitted(table, LocalReducer()))


def other_rows(folder: Path) -> None:
    FileReducer(folder).bind(tp.CategoricalTable.from_codes([[0], [1]]))


def other_parts(folder: Path) -> None:
    FileReducer(folder, minibatch=500).bind(tp.CategoricalTable.from_codes(np.tile([[0], [1]], (1000, 1))))


def other_things(folder: Path) -> None:
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear all")


def other_index(folder: Path) -> None:
    other_things(folder)
    (folder / "index.json").write_text("[1, 2]")


def a_part(folder: Path) -> None:
    other_rows(folder)
    with (folder / "rows.bin").open("ab") as file:
        file.truncate(8)


def no_index(folder: Path) -> None:
    other_rows(folder)
    (folder / "index.json").unlink()


@pytest.mark.parametrize(
    ("put", "problem"),
    [
        (other_rows, "another table"),
        (other_parts, "another table, or of other settings"),
        (other_things, "something else"),
        (other_index, "something else"),
        (a_part, "not all of them"),
        (no_index, "not all of them"),
    ],
)
def test_a_folder_that_holds_something_else_is_refused_and_left_alone(
    put: Callable[[Path], None], problem: str, table: tp.CategoricalTable, tmp_path: Path
) -> None:
    folder = tmp_path / "rows"
    put(folder)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    with pytest.raises(RowsFolderError, match=problem) as caught:
        FileReducer(folder).bind(table)
    assert caught.value.path == str(folder)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


def test_a_file_where_the_folder_should_be_is_refused(table: tp.CategoricalTable, tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("no folder")
    with pytest.raises(RowsFolderError, match="something else"):
        FileReducer(tmp_path / "rows").bind(table)


@pytest.mark.parametrize("mode", ["r", "c", "r+"])
def test_codes_may_be_mapped_into_memory_and_stay_as_they_are(
    mode: Any, table: tp.CategoricalTable, tmp_path: Path
) -> None:
    table.codes.tofile(tmp_path / "codes")
    mapped = np.memmap(tmp_path / "codes", table.codes.dtype, mode, shape=table.codes.shape)
    expected = table.codes.copy()
    if mode != "r":
        mapped[0] = expected[0] = [1, 2, 3]
    held = tp.CategoricalTable(table.schema, DenseCells(mapped))
    assert same(
        fitted(held, FileReducer(tmp_path / "rows")),
        fitted(tp.CategoricalTable.from_codes(expected, [4, 4, 4]), LocalReducer()),
    )
    assert np.array_equal(mapped, expected)


@pytest.mark.parametrize("setting", ["n_threads", "minibatch"])
def test_settings_are_checked(setting: str) -> None:
    with pytest.raises(SettingError, match=setting):
        FileReducer(**{setting: 0})


def test_how_to_read_is_for_files_only(table: tp.CategoricalTable) -> None:
    with pytest.raises(SettingError, match="reading"):
        FileReducer(reading={"drop": "a"}).bind(table)


def written(path: Path, columns: dict[str, Any]) -> Path:
    """A file of the kind its name tells, in several batches."""
    from pyarrow import csv, feather, ipc, parquet

    data = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(data, path, row_group_size=500)
    elif path.suffix == ".feather":
        feather.write_feather(data, path, chunksize=500)
    elif path.suffix == ".arrow":
        with ipc.new_stream(path, data.schema) as stream:
            stream.write_table(data, max_chunksize=500)
    else:
        csv.write_csv(data, path)
    return path


@pytest.fixture
def columns(rng: np.random.Generator) -> dict[str, Any]:
    """Texts whose dictionary differs from row group to row group, categories, numbers, weights."""
    n = 2_000
    kind = np.arange(n) // 500
    texts = [
        None if hole else f"{'dcba'[k]}{i}" for k, i, hole in zip(kind, kind % 2, rng.random(n) < 0.2, strict=True)
    ]
    categories = pa.array(["no", "yes", None] * 666 + ["yes"] * 2).dictionary_encode()
    numbers = [None if number == 3 else int(number) for number in rng.integers(0, 9, n)]
    return {
        "text": texts,
        "category": categories,
        "number": numbers,
        "real": rng.normal(size=n).round(2),
        "weight": rng.gamma(1.0, 1.0, n).round(3) / n,
    }


@pytest.mark.parametrize("name", ["x.parquet", "x.feather", "x.arrow", "x.csv"])
@pytest.mark.parametrize(
    "reading", [{"bins": {"real": [-1, 0, 1]}, "weights": "weight"}, {"bins": 4, "drop": "weight"}]
)
def test_a_file_is_read_batch_by_batch_as_it_would_be_at_once(
    name: str, reading: dict[str, Any], columns: dict[str, Any], tmp_path: Path
) -> None:
    path = written(tmp_path / name, columns)
    table = tp.read_table(path, **reading)
    at_once, in_batches = fitted(table, LocalReducer()), fitted(path, FileReducer(tmp_path / "rows", reading=reading))
    assert same(at_once, in_batches)
    for one, other in zip(table.schema.columns, in_batches.pmf.schema.columns, strict=True):
        assert (one.name, one.levels, one.ordered, one.edges) == (other.name, other.levels, other.ordered, other.edges)
    assert same(at_once, fitted(str(path), FileReducer(tmp_path / "rows", reading=reading)))
    with pytest.raises(RowsFolderError, match="other settings"):
        FileReducer(tmp_path / "rows", reading={**reading, "columns": ["text"]}).bind(path)


def test_a_file_is_read_by_a_schema(columns: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", columns)
    schema = tp.read_table({"text": ["ax", "by"], "number": [0, 1]}).schema
    reading = {"columns": ["number", "text"], "schema": schema}
    with pytest.raises(UnknownLevelError):
        FileReducer(reading=reading).bind(path)
    reduce = FileReducer(reading={**reading, "unknown": "missing"}).bind(path)
    assert reduce.schema == schema
    with pytest.raises(InputError, match="known already"):
        FileReducer(reading={**reading, "bins": 3}).bind(path)


def test_a_file_without_rows_or_weight_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,w\n")
    schema = tp.read_table({"a": ["x", "y"]}).schema
    with pytest.raises(NoRowsError, match=r"x\.csv"):
        FileReducer().bind(path)
    with pytest.raises(NoRowsError, match=r"x\.csv"):
        FileReducer(reading={"columns": ["a"], "schema": schema}).bind(path)
    path.write_text("a,w\nx,0\ny,0\n")
    with pytest.raises(WeightError, match="sum to zero"):
        FileReducer(reading={"weights": "w"}).bind(path)
    with pytest.raises(MissingFileError):
        FileReducer(tmp_path / "rows").bind(tmp_path / "y.csv")
