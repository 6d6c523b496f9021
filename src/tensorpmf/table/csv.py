"""Text files with one row a line: header, delimiter, encoding, and what goes wrong with them.

Every column is read as text, each distinct text once. What the texts stand for is decided afterwards and from all of
them, not from the first block of the file: "1" in the first megabyte and "n/a" in the second are no error.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from tensorpmf.errors import EmptyFileError, EncodingError, RaggedLineError, SettingError, UnreadableFileError
from tensorpmf.table.arrow import factor_of_texts
from tensorpmf.table.factor import Factor
from tensorpmf.table.source import Source, source_of_texts

_QUOTED = re.compile(r'"[^"]*"')


def source_of_csv(
    path: Path, compression: str | None, names: Sequence[str] | None, delimiter: object, encoding: object
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
        What separates its values; None takes whichever of comma, semicolon, tab and bar the first line has most of
        outside quotes.
    encoding
        How it is encoded.
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'):
        raise SettingError("read_table", "delimiter", "one character, and no quote or line break", delimiter)
    if not isinstance(encoding, str):
        raise SettingError("read_table", "encoding", "the name of an encoding", encoding)
    file = _TextFile(str(path), compression, encoding, has_header=names is None)
    head = file.head(delimiter)
    columns = [name.strip() for name in head.values] if names is None else list(names)

    def load(positions: Sequence[int]) -> tuple[int, Iterator[Factor]]:
        if head.is_all and file.has_header:
            return 0, (Factor.of_objects(columns[ix], []) for ix in positions)
        texts = file.read(head, positions, len(columns))
        return texts.num_rows, map(factor_of_texts, texts.columns)

    def batches(positions: Sequence[int]) -> Iterator[Source]:
        if not (head.is_all and file.has_header):
            for texts in file.read_batches(head, positions, len(columns)):
                yield source_of_texts([columns[ix] for ix in positions], texts)

    return Source(columns, load, repr(str(path)), batches)


@dataclass(frozen=True)
class _Head:
    """The first line that is not blank, how many blank ones stand before it, and whether nothing stands behind it."""

    values: list[str]
    delimiter: str
    n_blank: int
    is_all: bool


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

    @contextmanager
    def lines(self) -> Generator[Iterator[str]]:
        """Open it as lines of text."""
        encoding = "utf-8-sig" if self.encoding.lower() in {"utf-8", "utf8"} else self.encoding
        with self._errors_explained(), io.TextIOWrapper(self.opened(), encoding, newline="") as lines:
            yield lines

    def head(self, delimiter: str | None) -> _Head:
        """Return its first line."""
        with self.lines() as lines:
            for n_blank, line in enumerate(lines):
                if line.strip():
                    delimiter = delimiter or max(",;\t|", key=_QUOTED.sub("", line).count)
                    values = next(csv.reader(chain([line], lines), delimiter=delimiter))
                    return _Head(values, delimiter, n_blank, is_all=next(lines, None) is None)
        raise EmptyFileError(self.path)

    def read(self, head: _Head, positions: Sequence[int], n_columns: int) -> Any:
        """Return an Arrow table of some columns, as dictionaries of texts."""
        from pyarrow.csv import read_csv

        with self._ragged_lines_found(head, n_columns), self.opened() as stream:
            return read_csv(stream, *self._options(head, positions, n_columns))

    def read_batches(self, head: _Head, positions: Sequence[int], n_columns: int) -> Iterator[Any]:
        """Yield the same as Arrow record batches of about a megabyte of text."""
        from pyarrow.csv import open_csv

        with self._ragged_lines_found(head, n_columns), self.opened() as stream:
            yield from open_csv(stream, *self._options(head, positions, n_columns))

    def _options(self, head: _Head, positions: Sequence[int], n_columns: int) -> tuple[Any, Any, Any]:
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions

        wanted = [str(ix) for ix in positions]
        texts = dict.fromkeys(wanted, pa.dictionary(pa.int32(), pa.string()))
        return (
            ReadOptions(
                column_names=[str(ix) for ix in range(n_columns)],
                skip_rows=head.n_blank,
                skip_rows_after_names=int(self.has_header),
                encoding=self.encoding,
                block_size=max(1 << 20, 256 * len(str(head.values))),
            ),
            ParseOptions(delimiter=head.delimiter, newlines_in_values=True),
            ConvertOptions(column_types=texts, include_columns=wanted, strings_can_be_null=False),
        )

    @contextmanager
    def _ragged_lines_found(self, head: _Head, n_columns: int) -> Generator[None]:
        try:
            with self._errors_explained():
                yield
        except UnreadableFileError as error:
            if "columns, got" in error.reason:
                self._find_ragged_line(head.delimiter, n_columns)
            raise

    def _find_ragged_line(self, delimiter: str, n_columns: int) -> None:
        with self.lines() as lines:
            records = csv.reader(lines, delimiter=delimiter)
            for record in records:
                if len(record) not in {0, n_columns}:
                    raise RaggedLineError(self.path, records.line_num, len(record), n_columns, delimiter)

    @contextmanager
    def _errors_explained(self) -> Generator[None]:
        """Turn what Arrow and Python say about a bad file into one clear sentence."""
        import pyarrow as pa

        try:
            yield
        except UnicodeError:
            raise EncodingError(self.path, self.encoding) from None
        except LookupError:
            raise SettingError("read_table", "encoding", "the name of an encoding", self.encoding) from None
        except (OSError, csv.Error, pa.ArrowInvalid) as error:
            message = str(error).splitlines()[0].rstrip(".")
            if "invalid UTF8" in message:
                raise EncodingError(self.path, self.encoding) from None
            if "straddling" in message:
                message = "a line, or a text in quotes, goes on for a megabyte or more; perhaps a quote is not closed"
            raise UnreadableFileError(self.path, "text", message) from None
