"""Text files with one row a line: header, delimiter, encoding, and what goes wrong with them.

Every column is read as text, each distinct text once. What the texts stand for is decided afterwards and from all of
them, not from the first block of the file: "1" in the first megabyte and "n/a" in the second are no error.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from tensorpmf.errors import EmptyFileError, EncodingError, RaggedLineError, SettingError, UnreadableFileError
from tensorpmf.table.arrow import factor_of_arrow
from tensorpmf.table.factor import Factor, objects
from tensorpmf.table.source import Source


def source_of_csv(
    path: Path, compression: str | None, names: Sequence[str] | None, delimiter: str | None, encoding: str
) -> Source:
    """Return the columns of a text file.

    Parameters
    ----------
    path
        Its path.
    compression
        How it is compressed.
    names
        What its columns are called, if it has no header line.
    delimiter
        What separates its values; None takes whichever of comma, semicolon, tab and bar the first line has most of.
    encoding
        How it is encoded.
    """
    file = _TextFile(str(path), compression, encoding, has_header=names is None)
    head = file.head(delimiter)
    columns = [name.strip() for name in head.values] if names is None else list(names)

    def load(positions: Sequence[int]) -> tuple[int, Iterator[Factor]]:
        texts = file.read(head, positions, len(columns))
        factors = (_factor(columns[ix], column) for ix, column in zip(positions, texts.columns, strict=True))
        return texts.num_rows, factors

    return Source(columns, load, repr(str(path)))


def _factor(name: str, column: Any) -> Factor:
    factor = factor_of_arrow(name, column, declared=False)
    return factor.relabelled(objects([text.strip() for text in factor.labels]), is_text=True)


@dataclass(frozen=True)
class _Head:
    """The first line that is not blank, and how many blank ones stand before it."""

    values: list[str]
    delimiter: str
    n_blank: int


@dataclass(frozen=True)
class _TextFile:
    path: str
    compression: str | None
    encoding: str
    has_header: bool

    def opened(self) -> Any:
        """Return the stream of its bytes."""
        import pyarrow as pa

        return pa.input_stream(self.path, compression=self.compression)

    def head(self, delimiter: str | None) -> _Head:
        """Return its first line."""
        encoding = "utf-8-sig" if self.encoding.lower() in {"utf-8", "utf8"} else self.encoding
        with self._errors_explained(), io.TextIOWrapper(self.opened(), encoding, newline="") as lines:
            for n_blank, line in enumerate(lines):
                if line.strip():
                    delimiter = delimiter or max(",;\t|", key=line.count)
                    return _Head(next(csv.reader(chain([line], lines), delimiter=delimiter)), delimiter, n_blank)
        raise EmptyFileError(self.path)

    def read(self, head: _Head, positions: Sequence[int], n_columns: int) -> Any:
        """Return an Arrow table of some columns, as dictionaries of texts."""
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions

        wanted = [str(ix) for ix in positions]
        texts = dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string()))
        convert = ConvertOptions(column_types=texts, include_columns=wanted, strings_can_be_null=False)
        try:
            with self._errors_explained():
                return self._parsed(head, n_columns, convert)
        except _Ragged:
            self._find_ragged_line(head, n_columns, convert)

    def _parsed(self, head: _Head, n_columns: int, convert: Any, **options: Any) -> Any:
        from pyarrow.csv import ParseOptions, ReadOptions, read_csv

        read = ReadOptions(
            column_names=[str(ix) for ix in range(n_columns)],
            skip_rows=head.n_blank,
            skip_rows_after_names=int(self.has_header),
            encoding=self.encoding,
            block_size=max(1 << 20, 256 * len(str(head.values))),
            use_threads=not options,
        )
        parse = ParseOptions(delimiter=head.delimiter, newlines_in_values=True, **options)
        with self.opened() as stream:
            return read_csv(stream, read, parse, convert)

    def _find_ragged_line(self, head: _Head, n_columns: int, convert: Any) -> NoReturn:
        """Read again, line after line, because only so does Arrow know where it is."""

        def complain(row: Any) -> NoReturn:
            raise RaggedLineError(self.path, row.number, row.actual_columns, n_columns, head.delimiter)

        self._parsed(head, n_columns, convert, invalid_row_handler=complain)
        raise AssertionError("a line was ragged the first time")

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        """Turn what Arrow and Python say about a bad file into one clear sentence."""
        import pyarrow as pa

        try:
            yield
        except UnicodeError:
            raise EncodingError(self.path, self.encoding) from None
        except LookupError:
            raise SettingError("read_table", "encoding", "the name of an encoding", self.encoding) from None
        except (OSError, csv.Error, pa.ArrowInvalid) as error:
            message = str(error).splitlines()[0]
            if "invalid UTF8" in message:
                raise EncodingError(self.path, self.encoding) from None
            if "columns, got" in message:
                raise _Ragged from None
            raise UnreadableFileError(self.path, "text", message) from None


class _Ragged(Exception):
    """Some line has too many or too few values."""
