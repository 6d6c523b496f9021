"""Rows in a file: batches of arrays one after the other, mapped into memory only while a block is read.

An index of rows by state would have to be made anew for every pass, so there is none; in double precision the kernels
add in the same order with one and without.
"""

from __future__ import annotations

import json
import mmap
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensorpmf.fit.reduce import n_blocks_for, part_of
from tensorpmf.kernels.blocks import block_of, lay_out
from tensorpmf.kernels.packing import Groups, Packing, listed
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.sorting import Sorted
from tensorpmf.pmf.document import decode, encode
from tensorpmf.table.schema import Schema

ROWS, INDEX = "rows.bin", "index.json"

ALIGNED = 64
"""Every array begins at a multiple of so many bytes."""


@dataclass(frozen=True)
class Batch:
    """Where the arrays of a batch lie in a file, and how they make rows.

    Parameters
    ----------
    start, stop
        The first byte, and the first that is out again.
    arrays
        Name, type, shape and first byte, counted from the batch's, of each array.
    n_levels
        How many levels each column has.
    groups
        How columns are packed, prefix first, if the rows are sorted.
    missing
        Whether each column has missing cells, if the rows are sorted.
    n_prefix_groups
        How many groups are the prefix.
    """

    start: int
    stop: int
    arrays: tuple[tuple[str, str, tuple[int, ...], int], ...]
    n_levels: tuple[int, ...]
    groups: Groups = ()
    missing: tuple[bool, ...] = ()
    n_prefix_groups: int = 0

    def rows(self, path: Path) -> Rows:
        """Return the rows, mapped into memory for as long as they are used."""
        mapped = np.memmap(path, np.uint8, "r", self.start, (self.stop - self.start,))
        arrays: dict[str, Any] = {name: np.ndarray(shape, kind, mapped, at) for name, kind, shape, at in self.arrays}
        weights = arrays.pop("weights", None)
        if not self.groups:
            return Rows(self.n_levels, **arrays, weights=weights, packed_as=listed(self.n_levels))
        ready = Sorted(_packing(self.n_levels, self.groups, self.missing), self.n_prefix_groups, **arrays)
        return Rows(self.n_levels, weights=weights, sorted=ready)


@dataclass(frozen=True)
class Block:
    """Some rows of a batch in a file, counted from the batch's first."""

    path: Path
    batch: Batch
    start: int
    stop: int

    def rows(self) -> Rows:
        """Return the rows, mapped into memory for as long as they are used."""
        return block_of(self.batch.rows(self.path), slice(self.start, self.stop))


def append(rows: Rows, file: IO[bytes]) -> Batch:
    """Write rows that are ready for the kernels at the end of a file.

    Parameters
    ----------
    rows
        The rows.
    file
        The file, opened for writing.
    """
    ready = rows.sorted
    names = ("codes", "indptr", "columns", "values") if ready is None else ("codes", "prefix_states", "prefix_start")
    found = {name: getattr(ready or rows, name) for name in names} | {"weights": rows.weights}
    start = file.tell()
    arrays: list[tuple[str, str, tuple[int, ...], int]] = []
    for name, array in found.items():
        if array is not None:
            arrays.append((name, array.dtype.str, array.shape, file.tell() - start))
            file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
            file.write(bytes(-file.tell() % ALIGNED))
    batch = Batch(start, file.tell(), tuple(arrays), rows.n_levels)
    if ready is None:
        return batch
    packing, n_prefix_groups = ready.packing, ready.n_prefix_groups
    return replace(batch, groups=packing.groups, missing=packing.missing, n_prefix_groups=n_prefix_groups)


@lru_cache(maxsize=64)
def _packing(n_levels: tuple[int, ...], groups: Groups, missing: tuple[bool, ...]) -> Packing:
    """Return a packing; the same one for equal arguments, because it keeps what the kernels make of it."""
    return Packing(n_levels, groups, missing)


def write(schema: Schema | None, rows: Rows, n_parts: int, folder: Path, of: str) -> None:
    """Write rows, ready for the kernels, into a folder; the index comes last.

    Parameters
    ----------
    schema
        What the columns are, if nobody will know otherwise.
    rows
        The rows; they may be mapped into memory.
    n_parts
        Into how many parts they are divided.
    folder
        The folder.
    of
        What the index is to call the rows.
    """
    batches: list[Batch] = []
    parts: list[list[tuple[int, int, int]]] = []
    with (folder / ROWS).open("wb") as file:

        def keep(batch: Rows) -> int:
            batches.append(append(batch, file))
            return len(batches) - 1

        for part in range(n_parts):
            some = part_of(rows, part, n_parts)

            def take(span: slice, some: Rows = some) -> Rows:
                let_go(some)
                return some.take(span)

            spans = lay_out(some, keep, n_blocks_for(some.n_rows), take)
            parts.append([(batch, span.start, span.stop) for batch, span in spans])
        n_bytes = file.tell()
    index = {
        "of": of,
        "schema": None if schema is None else encode(schema, {}),
        "n_bytes": n_bytes,
        "batches": encode([astuple(batch) for batch in batches], {}),
        "parts": parts,
    }
    (folder / INDEX).write_text(json.dumps(index), "utf-8")


def read(folder: Path) -> tuple[str, Schema | None, list[list[Block]]] | None:
    """Return what a folder calls its rows, their columns, and the blocks of each part; None if it is not complete.

    Parameters
    ----------
    folder
        The folder.
    """
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_text("utf-8"))
        batches: list[Batch] = [Batch(*values) for values in decode(index["batches"], {})]
        schema = decode(index["schema"], {})
        parts: list[list[tuple[int, int, int]]] = index["parts"]
        is_whole = (folder / ROWS).stat().st_size == index["n_bytes"]
        blocks = [[Block(folder / ROWS, batches[ix], start, stop) for ix, start, stop in part] for part in parts]
    except (OSError, AttributeError, LookupError, TypeError, ValueError):
        return None
    return (index["of"], schema, blocks) if is_whole else None


def let_go(rows: Rows) -> None:
    """Unload what is in memory of rows that are mapped into it; it is loaded again where it is needed.

    Parameters
    ----------
    rows
        The rows.
    """
    for array in (rows.codes, rows.indptr, rows.columns, rows.values, rows.weights):
        base: Any = array
        while isinstance(base, np.ndarray):
            is_private = isinstance(base, np.memmap) and base.mode == "c"  # what was written would be lost
            base = None if is_private else base.base
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)
