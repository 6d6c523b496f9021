"""The reducer for rows that need not fit in memory: they lie in a file, block by block, ready for the kernels."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorpmf._check import whole_number
from tensorpmf.errors import RowsFolderError, SettingError
from tensorpmf.fit.contract import Stats
from tensorpmf.fit.reduce import Threads, table_to_learn_from
from tensorpmf.kernels.rows import Rows
from tensorpmf.scale.given import GivenFile, GivenTable
from tensorpmf.scale.stored import Block, read

if TYPE_CHECKING:
    from tensorpmf.table.schema import Schema
    from tensorpmf.table.table import CategoricalTable


@dataclass(frozen=True)
class FileReducer:
    """Reduces over rows in a file, of which only the blocks at work are in memory; same bits as in memory.

    Binding a table sorts, merges and packs its rows batch by batch into one file, as they would be held in memory; a
    pass then maps one block after the other.

    Parameters
    ----------
    folder
        Where the rows are to lie. A folder that holds them already, complete, is used again; one that holds anything
        else is refused. By default a temporary folder, in ``TMPDIR``, that is removed when it is done with.
    n_threads
        How many threads work at once; by default as many as there are processors, or ``TENSORPMF_THREADS``.
    minibatch
        About how many rows make one part, for algorithms that read a part of the rows at a time; by default all.
    reading
        How a file is read that a path leads to: any of the settings of :func:`read_table`, by name; ``weights`` must
        name a column. A file is read batch by batch, twice unless its ``schema`` is among the settings.
    """

    folder: str | os.PathLike[str] | None = None
    n_threads: int | None = None
    minibatch: int | None = None
    reading: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.n_threads is not None:
            whole_number("FileReducer", "n_threads", self.n_threads, at_least=1)
        if self.minibatch is not None:
            whole_number("FileReducer", "minibatch", self.minibatch, at_least=1)

    def bind(self, table: CategoricalTable | Any) -> FileReduce:
        """Write the rows of a table, or of the file at a path, unless they are there already."""
        given = self._given(table)
        if self.folder is None:
            folder, of = Path(tempfile.mkdtemp(prefix="tensorpmf-")), ""
            with _removed_on_error(folder):
                given.write(folder, self.minibatch, of)
        else:
            folder, of = Path(self.folder), given.digest(self.minibatch)
            if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
                _write_whole(given, self.minibatch, folder, of)
        found = read(folder)
        if found is None:
            raise RowsFolderError(str(folder), "it holds something else, or not all of them")
        found_of, schema, parts = found
        if found_of != of:
            raise RowsFolderError(str(folder), "it holds those of another table, or of other settings")
        schema = given.schema or schema
        assert schema is not None, "a file's schema is written with its rows"
        return FileReduce(schema, parts, self.n_threads, temporary=folder if self.folder is None else None)

    def _given(self, table: CategoricalTable | Any) -> GivenTable | GivenFile:
        if isinstance(table, str | os.PathLike):
            return GivenFile(Path(os.fspath(table)).expanduser(), self.reading or {})
        if self.reading:
            raise SettingError("FileReducer", "reading", "left out where there is no file to read", self.reading)
        return GivenTable(table_to_learn_from(table))


class FileReduce:
    """Fixed blocks of one table in a file, and the threads that work on them."""

    def __init__(
        self,
        schema: Schema,
        parts: Sequence[Sequence[Block]],
        n_threads: int | None,
        *,
        temporary: Path | None = None,
    ) -> None:
        self.schema = schema
        self.n_parts = len(parts)
        self._parts = parts
        self._threads = Threads(n_threads)
        if temporary is not None:
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)

    def __call__(self, summarise: Callable[[Rows, Any], Stats], state: Any, part: int | None = None) -> Stats:
        """Return the sum of ``summarise(block, state)`` over all blocks, or those of one part."""

        def read_and_summarise(block: Block, state: Any) -> Stats:
            return summarise(block.rows(), state)

        parts = self._parts if part is None else [self._parts[part]]
        return self._threads.sum([block for blocks in parts for block in blocks], read_and_summarise, state)


def _write_whole(given: GivenTable | GivenFile, minibatch: int | None, folder: Path, of: str) -> None:
    """Write beside the folder, then rename: whoever looks sees nothing or all of it."""
    part = folder.resolve().with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        with _removed_on_error(part):
            given.write(part, minibatch, of)
            part.rename(folder)
    except OSError as error:
        raise RowsFolderError(str(folder), f"it cannot be written ({error.strerror})") from None


@contextmanager
def _removed_on_error(folder: Path) -> Generator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
