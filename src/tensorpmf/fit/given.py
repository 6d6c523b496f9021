"""Fitting to marginals that are known already, with no rows behind them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf.errors import MarginalError, SettingError
from tensorpmf.fit.contract import Algorithm
from tensorpmf.fit.coupled import CTF
from tensorpmf.fit.marginals import SubsetTally
from tensorpmf.fit.result import FitResult
from tensorpmf.fit.run import fit
from tensorpmf.fit.subsets import position, require_connected
from tensorpmf.kernels.marginals import Subsets
from tensorpmf.table.schema import Schema, require_schema
from tensorpmf.typing import Floats

Tables: TypeAlias = Mapping[Sequence[Hashable], ArrayLike]


def fit_marginals(schema: Schema, marginals: Tables, algorithm: Algorithm[Any, Any], **settings: Any) -> FitResult:
    """Learn a joint PMF from marginals alone, whoever counted them.

    Parameters
    ----------
    schema
        The columns.
    marginals
        For each tuple of column names or positions, all equally long, an array with one axis a column; each is divided
        by its sum.
    algorithm
        A :class:`CTF`, or a wrapper of one; which subsets there are is taken from the marginals.
    **settings
        As of :func:`fit`.

    Examples
    --------
    >>> import numpy as np, tensorpmf as tp
    >>> schema = tp.Schema.from_n_levels([2, 2, 2])
    >>> both_or_neither = np.zeros((2, 2, 2))
    >>> both_or_neither[0, 0], both_or_neither[1, 1] = [0.3, 0.3], [0.1, 0.3]
    >>> result = fit_marginals(schema, {("x1", "x2", "x3"): both_or_neither}, tp.CTF(rank=2))
    >>> round(abs(result.objective), 6), result.pmf.weights.round(3).tolist()
    (0.0, [0.4, 0.6])
    """
    require_schema("fit_marginals", schema)
    inner: Any = algorithm
    while hasattr(inner, "algorithm"):
        inner = inner.algorithm
    if not isinstance(inner, CTF):
        raise SettingError("fit_marginals", "algorithm", "a CTF with its settings, or a wrapper of one", algorithm)
    if not isinstance(cast("object", marginals), Mapping):
        raise SettingError("fit_marginals", "marginals", "a mapping from tuples of columns to arrays", marginals)
    return fit(marginals, algorithm, reducer=GivenMarginals(schema), **settings)


@dataclass(frozen=True)
class GivenMarginals:
    """A reducer that takes marginals where others take a table of rows.

    Parameters
    ----------
    schema
        The columns.
    """

    schema: Schema

    def bind(self, table: Any) -> Given:
        """Make the marginals the answer to every pass."""
        return Given(self.schema, tally_of(self.schema, table))


@dataclass(frozen=True, eq=False)
class Given:
    """Answers every pass with the same tally."""

    schema: Schema
    tally: SubsetTally
    n_parts: int = 1

    def __call__(self, summarise: Any, state: Any, part: int | None = None) -> Any:
        """Return the tally."""
        return self.tally


def tally_of(schema: Schema, marginals: Tables) -> SubsetTally:
    """Return marginals as if they had been counted.

    Parameters
    ----------
    schema
        The columns.
    marginals
        For each tuple of column names or positions, an array with one axis a column.
    """
    given: dict[tuple[int, ...], Floats] = {}
    for named, table in marginals.items():
        columns = _positions(schema, named)
        given[columns] = _checked(schema, columns, table)
    if len({len(columns) for columns in given}) != 1:
        raise MarginalError("there must be some, all of equally many columns")
    by_columns = {frozenset(columns): (columns, table) for columns, table in given.items()}
    if len(by_columns) < len(marginals):
        raise MarginalError("those of some columns are given twice")
    subsets = Subsets.of(list(given), schema.n_levels)
    require_connected(subsets.columns, schema)
    cells = np.empty(subsets.n_cells)
    for wanted, into in zip(subsets.columns.tolist(), subsets.tables(cells), strict=True):
        columns, table = by_columns[frozenset(wanted)]
        into[...] = table.transpose([columns.index(column) for column in wanted])
    return SubsetTally(subsets, cells=cells)


def _positions(schema: Schema, columns: Sequence[Hashable]) -> tuple[int, ...]:
    if isinstance(columns, str) or not isinstance(cast("object", columns), Sequence):
        raise MarginalError(f"each needs a tuple of columns as its key, not {columns!r}")
    return tuple(position(column, schema) for column in columns)


def _checked(schema: Schema, columns: tuple[int, ...], given: ArrayLike) -> Floats:
    named = f"that of {', '.join(repr(schema.names[column]) for column in columns)}"
    shape = tuple(schema.n_levels[column] for column in columns)
    if len(set(columns)) < max(len(columns), 2):
        raise MarginalError(f"{named} must be of two different columns or more")
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise MarginalError(f"{named} must be an array of numbers") from None
    if table.shape != shape:
        raise MarginalError(f"{named} must have shape {shape}, got {table.shape}")
    if not (np.isfinite(table).all() and (table >= 0).all() and table.any()):
        raise MarginalError(f"{named} must be finite, not negative, and not all zero")
    return table
