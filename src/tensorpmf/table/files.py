"""Files that hold a table: what the ending of their names says, and how Parquet and Arrow files are read."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensorpmf.errors import DirectoryError, EmptyFileError, MissingFileError, UnknownFormatError, UnreadableFileError
from tensorpmf.table.csv import source_of_csv
from tensorpmf.table.factor import Factor
from tensorpmf.table.source import Source, is_row_label, source_of_arrow

_TEXT = (".csv", ".tsv", ".txt", ".data")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
ROWS_AT_ONCE = 1 << 16
"""Rows of a batch of a Parquet file."""

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}


def source_of_file(path: Path, names: Sequence[str] | None, delimiter: str | None, encoding: str) -> Source:
    """Return the columns of a file.

    Parameters
    ----------
    path
        Its path.
    names
        For a text file that has no header line: what its columns are called.
    delimiter
        For a text file: what separates its values; None guesses from the first line, but ``.tsv`` says it.
    encoding
        For a text file: how it is encoded.
    """
    ending, compression = format_of(path)
    if ending in _TEXT:
        delimiter = "\t" if ending == ".tsv" and delimiter is None else delimiter
        return source_of_csv(path, compression, names, delimiter, encoding)
    kind = "Parquet" if ending in _PARQUET else "Arrow"
    with _readable(path, kind):
        data = _bytes_of(path, compression)
        source = _of_parquet(data, str(path)) if ending in _PARQUET else _of_arrow(data, str(path))

    def load(positions: Sequence[int]) -> tuple[int, Iterator[Factor]]:
        with _readable(path, kind):
            return source.load(positions)

    def batches(positions: Sequence[int]) -> Iterator[Source]:
        with _readable(path, kind):
            yield from source.batches(positions)

    return replace(source, load=load, batches=batches)


def unpacked(path: Path) -> Path:
    """Return the path without the ending, if any, that tells how the file is compressed."""
    return path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path


def format_of(path: Path) -> tuple[str, str | None]:
    """Return the format and the compression that a file's name tells, or say why it is no table.

    Parameters
    ----------
    path
        Its path.
    """
    if path.is_dir():
        raise DirectoryError(str(path))
    if not path.exists():
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        raise MissingFileError(str(path), [str(sibling) for sibling in siblings])
    compression = _COMPRESSIONS.get(path.suffix.lower())
    ending = unpacked(path).suffix.lower()
    known = (*_TEXT, *_PARQUET, *_ARROW)
    if ending not in known:
        raise UnknownFormatError(str(path), [*known, *(f".csv{packed}" for packed in _COMPRESSIONS)])
    if path.stat().st_size == 0:
        raise EmptyFileError(str(path))
    return ending, compression


@contextmanager
def _readable(path: Path, kind: str) -> Generator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        raise UnreadableFileError(str(path), kind, str(error).splitlines()[0].rstrip(".")) from None


def _bytes_of(path: Path, compression: str | None) -> Any:
    """Return something that Arrow can read anywhere in."""
    import pyarrow as pa

    if compression is None:
        return pa.memory_map(str(path))
    with pa.input_stream(str(path), compression=compression) as stream:
        return pa.BufferReader(stream.read())


def _of_parquet(data: Any, what: str) -> Source:
    """Texts are read as dictionaries, which is several times faster; those of different row groups differ."""
    from pyarrow import parquet, types

    schema = parquet.ParquetFile(data).schema_arrow
    texts = [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]
    file = parquet.ParquetFile(data, read_dictionary=texts)
    names = [name for name in schema.names if not is_row_label(name)]

    def load(positions: Sequence[int]) -> tuple[int, Iterator[Factor]]:
        table = file.read(columns=[names[ix] for ix in positions])
        return source_of_arrow(table, ours=frozenset(texts)).load(range(len(positions)))

    def batches(positions: Sequence[int]) -> Iterator[Source]:
        chosen = [names[ix] for ix in positions]
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=chosen):
            yield source_of_arrow(batch.select(chosen), ours=frozenset(texts))

    return Source(names, load, repr(what), batches)


def _of_arrow(data: Any, what: str) -> Source:
    import pyarrow as pa

    def opened() -> tuple[Any, Iterator[Any]]:
        data.seek(0)
        try:
            file = pa.ipc.open_file(data)
        except pa.ArrowInvalid:  # not the file format, so perhaps the stream format
            data.seek(0)
            stream = pa.ipc.open_stream(data)
            return stream.schema, iter(stream)
        return file.schema, map(file.get_batch, range(file.num_record_batches))

    def load(positions: Sequence[int]) -> tuple[int, Iterator[Factor]]:
        schema, batches = opened()
        return source_of_arrow(pa.Table.from_batches(batches, schema), what=repr(what)).load(positions)

    def batches(positions: Sequence[int]) -> Iterator[Source]:
        chosen = [kept[position] for position in positions]
        for batch in opened()[1]:
            yield source_of_arrow(batch.select(chosen))

    names = opened()[0].names
    kept = [ix for ix, name in enumerate(names) if not is_row_label(name)]
    return Source([names[ix] for ix in kept], load, repr(what), batches)
