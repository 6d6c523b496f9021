"""Text files: what their texts stand for, their shapes and encodings, and what goes wrong with them."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tensorpmf as tp
from tensorpmf.errors import (
    EmptyFileError,
    EncodingError,
    NoRowsError,
    NotNumericError,
    RaggedLineError,
    SettingError,
    UnknownLevelError,
    UnreadableFileError,
    WeightError,
)

TEXT = "id,size,stars,price,sold\n01, S ,3,1.5,true\n02,L,?,2,FALSE\n03,,1,1e1,True\n"
COLUMNS = {
    "id": ["01", "02", "03"],
    "size": ["S", "L", None],
    "stars": [3, None, 1],
    "price": [1.5, 2.0, 10.0],
    "sold": [True, False, True],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_texts_become_what_they_stand_for(path: Path) -> None:
    table = tp.read_table(written(path, TEXT))
    assert table.to_columns() == COLUMNS
    kinds = [type(column.levels[0]) for column in table.schema.columns]
    assert kinds == [str, str, int, float, bool]
    assert tp.read_table(str(path)) == table
    assert tp.read_table(path, schema=table.schema) == table
    assert tp.read_table(path, columns=["stars", "id"]).to_columns() == {
        "stars": [3, None, 1],
        "id": ["01", "02", "03"],
    }


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "1.0", "2"], [1.0, 1.0, 2.0]),
        ([".5", "5.", "+1", "-1E-2"], [0.5, 5.0, 1.0, -0.01]),
        (["1", "02"], ["1", "02"]),
        (["00.5", "1"], ["00.5", "1"]),
        (["1", "x"], ["1", "x"]),
        (["1_000", "2"], ["1_000", "2"]),
        (["1234567890123456788", "1234567890123456789"], [1234567890123456788, 1234567890123456789]),
        (["123456789012345678901", "123456789012345678900", "1"], [123456789012345678901, 123456789012345678900, 1]),
        (["123456789012345678901", "1.5"], [123456789012345678901.0, 1.5]),
        (["true", "no"], ["true", "no"]),
        (["inf", "low"], ["inf", "low"]),
        (["inf", "-inf"], ["inf", "-inf"]),
        (["2020-01-02", "2020-01-03"], ["2020-01-02", "2020-01-03"]),
        (["None", "y"], ["None", "y"]),
        (["NA", "n/a", "x"], [None, None, "x"]),
    ],
)
def test_all_texts_of_a_column_decide(path: Path, texts: list[str], labels: list[object]) -> None:
    column = tp.read_table(written(path, "\n".join(["a", *texts]) + "\n")).to_columns()["a"]
    assert column == labels
    assert list(map(type, column)) == list(map(type, labels))


def test_a_late_text_decides_as_much_as_an_early_one(path: Path) -> None:
    """Reading the first megabyte as integers, and then failing, is what Arrow does when left alone."""
    table = tp.read_table(written(path, "a,b\n" + "1,2\n" * 400_000 + "x,2.5\n"))
    assert [column.levels for column in table.schema.columns] == [("1", "x"), (2.0, 2.5)]
    assert table.codes[-1].tolist() == [1, 1]
    assert table.codes[:-1].max() == 0


def test_markers_of_missing_cells_are_texts(path: Path) -> None:
    written(path, "a,b\nx,-9\n?,1\n,2\n")
    assert tp.read_table(path).to_columns() == {"a": ["x", None, None], "b": [-9, 1, 2]}
    assert tp.read_table(path, missing=[-9]).to_columns() == {"a": ["x", "?", None], "b": [None, 1, 2]}
    assert tp.read_table(path, missing=[]).to_columns()["a"] == ["x", "?", None]


@pytest.mark.parametrize("marker", ["NA", "#N/A", "#NA", "<NA>", "n/a", "NULL", "nan"])
def test_what_spreadsheets_and_pandas_write_is_missing(path: Path, marker: str) -> None:
    assert tp.read_table(written(path, f"a\n1\n{marker}\n")).to_columns() == {"a": [1, None]}


def test_declared_levels_are_spelt_as_in_the_file(path: Path) -> None:
    levels = {"id": ["03", "02", "01"], "stars": [1, 2, 3], "sold": [True, False], "price": [10, 2, 1.5]}
    table = tp.read_table(written(path, TEXT), levels=levels)
    assert table.to_columns() == COLUMNS
    assert table.codes[:, 0].tolist() == [2, 1, 0]
    with pytest.raises(UnknownLevelError, match="column 'size' has no level 'L'"):
        tp.read_table(path, levels={"size": ["S", "M"]})
    assert tp.read_table(path, levels={"size": ["S", "M"]}, unknown="missing").to_columns()["size"] == ["S", None, None]


def test_new_rows_are_read_as_the_schema_says(path: Path) -> None:
    train = tp.read_table({"code": ["1", "2", "x"], "n": [1.5, 2.5, 9.0], "when": ["a", "b", "c"]}, bins={"n": [2, 8]})
    rows = tp.read_table(written(path, "n,code\n100,1\n-3,2\n7,\n"), schema=train.schema)
    assert rows.to_columns() == {"code": ["1", "2", None], "n": [">= 8", "< 2", "[2, 8)"], "when": [None] * 3}
    labels = tp.read_table(written(path, 'n\n"[2, 8)"\n2\n'), schema=train.schema)
    assert labels.codes[:, 1].tolist() == [1, 1]


def test_blanks_around_names_and_texts_do_not_count(path: Path) -> None:
    table = tp.read_table(written(path, " a , b\n x , ? \n y, 2\nx ,1\n"))
    assert table.to_columns() == {"a": ["x", "y", "x"], "b": [None, 2, 1]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_first_line_tells_the_delimiter(path: Path, delimiter: str) -> None:
    table = tp.read_table(written(path, delimiter.join(["a b", "c_d", "e\n1", "2", "x y\n"])))
    assert table.to_columns() == {"a b": [1], "c_d": [2], "e": ["x y"]}


def test_delimiters_within_quotes_do_not_count(path: Path) -> None:
    table = tp.read_table(written(path, '"last, first, title";born\n"Lovelace, Ada, Countess";1815\n'))
    assert table.to_columns() == {"last, first, title": ["Lovelace, Ada, Countess"], "born": [1815]}


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "\r"])
def test_a_delimiter_is_one_character(path: Path, delimiter: str) -> None:
    with pytest.raises(SettingError, match="delimiter must be one character"):
        tp.read_table(written(path, "a,b\n1,2\n"), delimiter=delimiter)


def test_other_delimiters_and_endings(tmp_path: Path) -> None:
    assert tp.read_table(written(tmp_path / "a.txt", "a:b\nx:y\n"), delimiter=":").n_columns == 2
    assert tp.read_table(written(tmp_path / "a.tsv", "a,b\tc\nx\ty\n")).schema.names == ("a,b", "c")
    assert tp.read_table(written(tmp_path / "b.tsv", "a,b\tc\nx,y\tz\n"), delimiter=",").schema.names == ("a", "b\tc")


def test_a_file_without_a_header_line(tmp_path: Path) -> None:
    file = written(tmp_path / "votes.data", "democrat,n,?\nrepublican,y,n\n")
    assert tp.read_table(file, names=["party", "a", "b"]).to_columns()["b"] == [None, "n"]
    with pytest.raises(RaggedLineError, match=r"line 1 of '.*votes.data' has 3 values where 1 column should be"):
        tp.read_table(file, names=["party"])


def test_quotes_newlines_and_blank_lines(path: Path) -> None:
    table = tp.read_table(written(path, '\n\n"a\nb","c"\n"x, ""y""","2\n3"\n\nz,4\n'))
    assert table.to_columns() == {"a\nb": ['x, "y"', "z"], "c": ["2\n3", "4"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252"])
def test_encodings(path: Path, encoding: str) -> None:
    written(path, "é,b\nü,1\nö,2\n".encode(encoding))
    table = tp.read_table(path, encoding=encoding)
    assert table.to_columns() == {"é": ["ü", "ö"], "b": [1, 2]}
    assert tp.read_table(path, encoding=encoding, schema=table.schema) == table


@pytest.mark.parametrize("text", ["a,b\né,1\n", "é,b\nx,1\n", "a,b\n" + "x,1\n" * 300_000 + "é,1\n"])
def test_a_wrong_encoding_is_told(path: Path, text: str) -> None:
    with pytest.raises(EncodingError, match=r"'.*table.csv' is not a text in utf-8") as caught:
        tp.read_table(written(path, text.encode("latin-1")))
    assert (caught.value.path, caught.value.encoding) == (str(path), "utf-8")
    assert "encoding='latin-1'" in caught.value.hint


def test_an_encoding_nobody_knows(path: Path) -> None:
    with pytest.raises(SettingError, match="encoding must be the name of an encoding, got 'klingon'"):
        tp.read_table(written(path, TEXT), encoding="klingon")


@pytest.mark.parametrize("setting", [{"encoding": None}, {"delimiter": 5}])
def test_what_is_no_text_is_told(path: Path, setting: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=r"read_table: .* must be"):
        tp.read_table(written(path, TEXT), **setting)


@pytest.mark.parametrize(
    ("text", "line", "n_values"),
    [
        ("a,b\n1,2\n1,2,3\n", 3, 3),
        ("a,b\n\n1,2\n\n1\n", 5, 1),
        ('a,b\n"1\n1",2\n1,2,3,4\n', 4, 4),
        ("a,b\n" + "1,2\n" * 400_000 + "3\n", 400_002, 1),
    ],
)
def test_a_ragged_line_is_told_with_its_number(path: Path, text: str, line: int, n_values: int) -> None:
    with pytest.raises(
        RaggedLineError, match=f"line {line} of '.*table.csv' has {n_values} values? where 2 columns should be"
    ) as caught:
        tp.read_table(written(path, text))
    error = caught.value
    assert (error.path, error.line, error.n_values, error.n_columns) == (str(path), line, n_values, 2)
    assert "separated by ','" in error.hint


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff\n"])
def test_an_empty_file_is_told(path: Path, text: str) -> None:
    with pytest.raises(EmptyFileError, match=r"'.*table.csv' is empty") as caught:
        tp.read_table(written(path, text))
    assert caught.value.path == str(path)


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "\na,b\n\n"])
def test_a_header_alone_is_no_table(path: Path, text: str) -> None:
    with pytest.raises(NoRowsError, match=r"'.*table.csv' has no rows"):
        tp.read_table(written(path, text), weights="a")
    schema = tp.read_table({"a": [1], "b": [2]}).schema
    assert tp.read_table(path, schema=schema).codes.shape == (0, 2)


def test_weights_in_a_file(path: Path) -> None:
    table = tp.read_table(written(path, "a,n\nx,1\ny,2.5\nx,3\n"), weights="n")
    assert (table.schema.names, table.row_weights.tolist()) == (("a",), [1, 2.5, 3])
    with pytest.raises(WeightError, match="row 1 has nan"):
        tp.read_table(written(path, "a,n\nx,1\ny,\n"), weights="n")
    with pytest.raises(WeightError, match="row 0 has nan"):
        tp.read_table(written(path, "a,n\nx,\ny,\n"), weights="n")
    for text in ("a,n\nx,\ny,\n", "a,n\n1,\nx,\n"):  # the culprit is named, not the first
        with pytest.raises(NotNumericError, match="column 'a' holds 'x', which is no number, so it cannot weigh rows"):
            tp.read_table(written(path, text), weights="a")


def test_what_cannot_be_cut_is_named(path: Path) -> None:
    with pytest.raises(NotNumericError, match="column 'a' holds 'many', which is no number, so it cannot be cut"):
        tp.read_table(written(path, "a,b\n1,x\n2.5,y\nmany,z\n"), bins={"a": 2})


@pytest.mark.parametrize("marker", [-9, "-9", -9.0])
def test_a_number_marks_missing_cells_however_it_is_written(path: Path, marker: object) -> None:
    table = tp.read_table(written(path, "a,b\n-9.0,-9\n2.5,x\n"), missing=[marker])
    assert table.to_columns() == {"a": [None, 2.5], "b": [None, "x"]}


@pytest.mark.parametrize("ending", ["gz", "zst", "bz2", "lz4"])
def test_compressed_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table.csv.{ending}"
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(TEXT.encode())
    assert tp.read_table(path).to_columns() == COLUMNS


def test_a_damaged_compressed_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv.gz", gzip.compress(b"a,b\n" + np.random.default_rng(0).bytes(10_000))[:-500])
    with pytest.raises((UnreadableFileError, EncodingError)) as caught:
        tp.read_table(path)
    assert caught.value.path == str(path)
    with pytest.raises(UnreadableFileError, match="cannot be read as text: zlib inflate failed"):
        tp.read_table(written(tmp_path / "b.csv.gz", b"a,b\n1,2\n"))


@pytest.mark.parametrize("text", ["a\n" + "x" * 3_000_000 + "\ny\n", 'a,b\n1,2\n"3,4\n' + "5,6\n" * 600_000])
def test_a_cell_of_megabytes_is_refused(path: Path, text: str) -> None:
    with pytest.raises(UnreadableFileError, match="goes on for a megabyte or more; perhaps a quote is not closed"):
        tp.read_table(written(path, text))


def test_five_thousand_columns(path: Path, rng: np.random.Generator) -> None:
    codes = rng.integers(0, 3, (30, 5_000))
    text = "\n".join([",".join(f"c{ix}" for ix in range(5_000)), *(",".join(map(str, row)) for row in codes)])
    table = tp.read_table(written(path, text), levels={f"c{ix}": [0, 1, 2] for ix in range(5_000)})
    assert np.array_equal(table.codes, codes)


def test_reading_a_file_does_not_import_pandas(path: Path) -> None:
    code = f"import sys, tensorpmf as tp; tp.read_table({str(written(path, TEXT))!r}); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
