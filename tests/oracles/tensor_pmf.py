"""A PMF that is its tensor, cell by cell: the simplest kind there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.base import PMF
from tensorpmf.table.schema import Schema


@dataclass(frozen=True, eq=False, repr=False)
class TensorPMF(PMF):
    schema: Schema
    tensor: np.ndarray

    def _slab(self, codes: np.ndarray) -> np.ndarray:
        """The tensor with zeros wherever it disagrees with the observed codes of a row."""
        agrees = np.zeros(self.tensor.shape)
        agrees[tuple(slice(None) if code < 0 else int(code) for code in codes)] = 1
        return self.tensor * agrees

    def _log_prob(self, rows: Rows) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log([self._slab(codes).sum() for codes in rows.dense()] or np.empty(0))

    def _conditional(self, column_ix: int, rows: Rows) -> np.ndarray:
        others = tuple(axis for axis in range(self.tensor.ndim) if axis != column_ix)
        prob = np.zeros((rows.n_rows, self.tensor.shape[column_ix]))
        for row_ix, codes in enumerate(np.array(rows.dense())):
            codes[column_ix] = -1
            mass = self._slab(codes).sum(axis=others)
            prob[row_ix] = mass / (mass.sum() or 1)
        return prob

    def _completed(self, rows: Rows, rng: np.random.Generator) -> np.ndarray:
        slabs = (self._slab(codes).ravel() for codes in rows.dense())
        cells = [rng.choice(slab.size, p=slab / slab.sum()) for slab in slabs]
        return np.stack(np.unravel_index(np.array(cells, dtype=int), self.tensor.shape), axis=1)

    def _marginal(self, column_ixs: Sequence[int]) -> TensorPMF:
        gone = tuple(axis for axis in range(self.tensor.ndim) if axis not in column_ixs)
        order = [sorted(column_ixs).index(ix) for ix in column_ixs]
        schema = self.schema.select([self.schema.names[ix] for ix in column_ixs])
        return TensorPMF(schema, self.tensor.sum(axis=gone).transpose(order))

    def _weighed(self, likelihoods: Mapping[int, np.ndarray]) -> TensorPMF | None:
        tensor = self.tensor
        for axis, likelihood in likelihoods.items():
            tensor = tensor * likelihood.reshape([-1 if ix == axis else 1 for ix in range(tensor.ndim)])
        return TensorPMF(self.schema, tensor / tensor.sum()) if tensor.sum() > 0 else None

    def _parts(self) -> str:
        return f"{self.tensor.size} cells"
