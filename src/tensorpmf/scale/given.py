"""What rows can be written from: a table, or a file of which only a batch is in memory at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf import __version__
from tensorpmf.errors import NoRowsError, WeightError
from tensorpmf.fit.reduce import n_parts_for
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.scale.stored import let_go, write
from tensorpmf.table.cells import code_type
from tensorpmf.table.files import format_of
from tensorpmf.table.schema import Schema
from tensorpmf.table.stream import read_in_batches
from tensorpmf.table.table import CategoricalTable

HASHED_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class GivenTable:
    """A table, whose arrays may be mapped into memory."""

    table: CategoricalTable

    @property
    def schema(self) -> Schema:
        """What its columns are."""
        return self.table.schema

    def digest(self, minibatch: int | None) -> str:
        """Return what tells its rows, cut into such parts, from others."""
        rows = rows_of(self.table)
        digest = blake2b(f"{__version__} {minibatch} {rows.n_levels}".encode(), digest_size=32)
        for name, array in self.table.arrays().items():
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            for start in range(0, len(array), HASHED_AT_ONCE):
                digest.update(np.ascontiguousarray(array[start : start + HASHED_AT_ONCE]).data)
                let_go(rows)
        return digest.hexdigest()

    def write(self, folder: Path, minibatch: int | None, of: str) -> None:
        """Write its rows into a folder."""
        write(None, rows_of(self.table), n_parts_for(self.table.n_rows, minibatch), folder, of)


@dataclass(frozen=True)
class GivenFile:
    """A file, and how it is read."""

    path: Path
    reading: Mapping[str, Any]

    schema = None
    """What its columns are is found out when its rows are written."""

    def digest(self, minibatch: int | None) -> str:
        """Return what tells its rows, cut into such parts, from others."""
        format_of(self.path)
        told = {name: value.columns if isinstance(value, Schema) else value for name, value in self.reading.items()}
        with self.path.open("rb") as file:
            content = file_digest(file, lambda: blake2b(digest_size=32)).hexdigest()
        return blake2b(f"{__version__} {minibatch} {content} {told}".encode(), digest_size=32).hexdigest()

    def write(self, folder: Path, minibatch: int | None, of: str) -> None:
        """Write its rows into a folder: as codes first, then ready for the kernels."""
        codes_path, weights_path = folder / "codes.bin", folder / "weights.bin"
        schema, tables = read_in_batches(self.path, **self.reading)
        n_rows, total_weight, has_weights = 0, 0.0, self.reading.get("weights") is not None
        with codes_path.open("wb") as codes, weights_path.open("wb") as weights:
            for table in tables:
                n_rows, total_weight = n_rows + table.n_rows, total_weight + table.total_weight
                codes.write(np.ascontiguousarray(table.codes).data)
                weights.write(b"" if table.row_weights is None else table.row_weights.data)
        if not n_rows:
            raise NoRowsError(repr(str(self.path)))
        if not total_weight:
            raise WeightError("sum to zero")
        kind = code_type(max(schema.n_levels))
        rows = Rows(
            schema.n_levels,
            codes=_mapped(codes_path, kind, (n_rows, schema.n_columns)),
            weights=_mapped(weights_path, np.dtype(np.float64), (n_rows,)) if has_weights else None,
        )
        write(schema, rows, n_parts_for(n_rows, minibatch), folder, of)
        codes_path.unlink()
        weights_path.unlink()


def _mapped(path: Path, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return np.memmap(path, kind, "r", shape=shape)
