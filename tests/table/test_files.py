"""Files by the ending of their names, and the paths that lead nowhere."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import tensorpmf as tp
from tensorpmf.errors import (
    DirectoryError,
    EmptyFileError,
    MissingFileError,
    UnknownColumnError,
    UnknownFormatError,
    UnreadableFileError,
)

TABLE = pa.table({"size": ["S", "L", None], "stars": [3, None, 1], "w": [1.0, 2.5, 1.0]})
READ = tp.read_table(TABLE, weights="w")


def test_parquet_and_arrow_files(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=1)
    parquet.write_table(TABLE, tmp_path / "a.pq", use_dictionary=False, compression="gzip")
    feather.write_feather(TABLE, str(tmp_path / "a.feather"))
    feather.write_feather(TABLE, str(tmp_path / "b.FEATHER"), compression="zstd")
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)
    with pa.OSFile(str(tmp_path / "a.ipc"), "wb") as sink, pa.ipc.new_file(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)
    for plain in list(tmp_path.iterdir()):
        (tmp_path / f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert len(list(tmp_path.iterdir())) == 12
    for path in tmp_path.iterdir():
        assert tp.read_table(path, weights="w") == READ, path
        assert tp.read_table(path, columns="stars") == READ.select(["stars"]).with_weights(None), path
        with pytest.raises(UnknownColumnError, match="there is no column 'price'"):
            tp.read_table(path, columns=["price"])


def test_the_row_labels_that_pandas_writes_are_no_variable(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": ["S", "L", None, "S"], "stars": [3.0, None, 1.0, 2.0]}).iloc[[3, 0, 2]]
    frame.to_parquet(tmp_path / "a.parquet")
    feather.write_feather(pa.Table.from_pandas(frame), str(tmp_path / "a.feather"))
    assert parquet.read_schema(tmp_path / "a.parquet").names == ["size", "stars", "__index_level_0__"]
    for source in (pa.Table.from_pandas(frame), tmp_path / "a.parquet", tmp_path / "a.feather"):
        assert tp.read_table(source) == tp.read_table(frame)


def test_a_path_may_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "votes.csv").write_text("a\nx\n")
    assert tp.read_table("~/votes.csv").n_rows == 1


def test_importing_the_reader_imports_no_library() -> None:
    heavy = "{'pyarrow', 'pandas', 'polars', 'narwhals', 'scipy'}"
    code = f"import sys, tensorpmf.table.read; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_names_may_have_dots(tmp_path: Path) -> None:
    (tmp_path / "v1.2.csv").write_text("a\nx\n")
    assert tp.read_table(tmp_path / "v1.2.csv").n_rows == 1


def test_a_path_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").touch()
    with pytest.raises(MissingFileError, match=r"there is no file '.*vote.csv'") as caught:
        tp.read_table(tmp_path / "vote.csv")
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.path == str(tmp_path / "vote.csv")
    assert "votes.csv" in caught.value.hint
    with pytest.raises(MissingFileError):
        tp.read_table(tmp_path / "nowhere" / "votes.csv")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError, match="is a directory") as caught:
        tp.read_table(tmp_path)
    assert isinstance(caught.value, IsADirectoryError)
    assert caught.value.path == str(tmp_path)


@pytest.mark.parametrize("name", ["votes.xlsx", "votes", "votes.gz", ".csv"])
def test_an_ending_nobody_knows(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a\nx\n")
    with pytest.raises(UnknownFormatError, match=r"does not tell its format\. Known endings: \.csv, \.tsv") as caught:
        tp.read_table(tmp_path / name)
    assert caught.value.path.endswith(name)
    assert ".parquet" in caught.value.known


@pytest.mark.parametrize(("name", "kind"), [("a.parquet", "Parquet"), ("a.arrow", "Arrow"), ("a.feather", "Arrow")])
def test_files_that_are_not_what_they_say(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    for content in (b"size,stars\nS,3\n", np.random.default_rng(0).bytes(1_000), b"PAR1" * 10, b"ARROW1" * 10):
        path.write_bytes(content)
        with pytest.raises(UnreadableFileError, match=f"cannot be read as {kind}") as caught:
            tp.read_table(path)
        assert (caught.value.path, caught.value.kind) == (str(path), kind)
    path.write_bytes(b"")
    with pytest.raises(EmptyFileError):
        tp.read_table(path)


def test_truncated_files(tmp_path: Path) -> None:
    for name, write in (("a.parquet", parquet.write_table), ("a.feather", feather.write_feather)):
        path = tmp_path / name
        write(pa.table({"x": np.arange(10_000) % 7}), str(path))
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(UnreadableFileError):
            tp.read_table(path)
