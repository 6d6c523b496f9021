"""The pass over the rows that everything is made of: responsibilities, and the statistics they add up to.

EM hands it logarithms of probabilities, VB hands it expected logarithms; it cannot tell. An impossible row (every
component gives it probability zero) has log-normaliser ``-inf`` and responsibilities zero: it adds to no statistic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tensorpmf.kernels import _native, isa
from tensorpmf.kernels.isa import with_twin
from tensorpmf.kernels.packing import Packing
from tensorpmf.kernels.rows import Rows
from tensorpmf.typing import Floats

PRODUCT_STATES = {"double": 64, "single": 12}
"""A row that shows so many states at most is a product of probabilities; else a sum of logs, which cannot underflow."""


@dataclass(frozen=True, eq=False)
class LogTables:
    """Log-weights and log-factors of a model, stacked over its columns; ``-inf`` is a probability of zero.

    Parameters
    ----------
    log_weights
        (R,) log lambda, or its expectation.
    log_factors
        (n_stacked_levels, R) log a of column ``n`` and level ``i`` in row ``offsets[n] + i``, or its expectation.
    precision
        Of the work inside a row; what rows add up to is kept in double precision.
    """

    log_weights: Floats
    log_factors: Floats
    precision: Literal["double", "single"] = "double"
    _ready: dict[object, _native.Tables] = field(default_factory=dict[object, "_native.Tables"], repr=False)

    @property
    def rank(self) -> int:
        """How many components there are."""
        return len(self.log_weights)

    def ready_for(self, packing: Packing, as_product: bool) -> _native.Tables:
        """Return the tables as the compiled kernels take them for some packing; they are kept.

        Parameters
        ----------
        packing
            How columns are packed.
        as_product
            Whether as probabilities, or as logs.
        """
        key = packing, as_product, isa.current()
        if key not in self._ready:
            log_weights = np.ascontiguousarray(self.log_weights, dtype=np.float64)
            log_factors = np.ascontiguousarray(self.log_factors, dtype=np.float64)
            single = self.precision == "single"
            self._ready[key] = _native.Tables(packing.native, log_weights, log_factors, as_product, single)
        return self._ready[key]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_ready": {}}


@dataclass(frozen=True, eq=False)
class Counts:
    """What one pass over rows adds up; the counts of two blocks add.

    Parameters
    ----------
    weights
        (R,) sum over rows of weight times rho (eq:alpha_lambda without its prior).
    factors
        (n_stacked_levels, R) the same over the rows that show each level (eq:alpha_a without its prior).
    log_norm
        Sum over rows of weight times log sum over r of gamma_rt (eq:gamma_rt).
    """

    weights: Floats
    factors: Floats
    log_norm: float

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.weights + other.weights, self.factors + other.factors, self.log_norm + other.log_norm)


@with_twin
def accumulate(rows: Rows, tables: LogTables) -> Counts:
    """Return the statistics of one pass over the rows (eq:gamma_rt, eq:rho_rt, eq:alpha_lambda, eq:alpha_a).

    Parameters
    ----------
    rows
        The rows.
    tables
        The model.
    """
    return Counts(*_native.accumulate(*_native_of(rows, tables)))


@with_twin
def log_normaliser(rows: Rows, tables: LogTables) -> Floats:
    """Return (n_rows,) log sum over r of gamma_rt: the log-probability of each row, missing cells summed out.

    Parameters
    ----------
    rows
        The rows.
    tables
        The model.
    """
    return _native.log_normaliser(*_native_of(rows, tables))


@with_twin
def responsibilities(rows: Rows, tables: LogTables) -> Floats:
    """Return (n_rows, R) the probability that each component explains each row (eq:rho_rt).

    Parameters
    ----------
    rows
        The rows.
    tables
        The model.
    """
    return _native.responsibilities(*_native_of(rows, tables))


def _native_of(rows: Rows, tables: LogTables) -> tuple[_native.Packing, _native.Tables, _native.Rows]:
    as_product = rows.n_shown <= PRODUCT_STATES[tables.precision]
    return rows.packing.native, tables.ready_for(rows.packing, as_product), rows.native
