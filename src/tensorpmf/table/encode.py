"""From the raw values of a column to codes, when it is known which column it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import NonFiniteError, NotNumericError, UnknownLevelError
from tensorpmf.table.cells import code_type
from tensorpmf.table.factor import Factor
from tensorpmf.table.schema import Column
from tensorpmf.table.text import no_number, typed
from tensorpmf.typing import Codes, Floats

Unknown: TypeAlias = Literal["error", "missing"]
"""What to do with a label that a column does not have among its levels."""


def encoded(column: Column, factor: Factor, unknown: Unknown = "error") -> Codes:
    """Return the (n_rows,) codes of raw values in a known column.

    Parameters
    ----------
    column
        The column.
    factor
        The raw values.
    unknown
        What to do with labels that occur and that the column does not have.
    """
    if column.edges is not None and factor.is_text and (meant := typed(factor)).numbers is not None:
        factor = meant
    if column.edges is not None and factor.labels.dtype.kind in "iuf":
        codes = np.searchsorted(column.edges, finite_numbers(column.name, factor), side="right")
    else:
        codes = codes_of(column, factor.labels.tolist(), are_texts=factor.is_text)
        if unknown == "error" and (codes < 0).any():
            lost = np.flatnonzero((codes < 0) & (factor.mass() > 0))
            if lost.size:
                raise UnknownLevelError(column.name, factor.labels.tolist()[lost[0]], column.levels, may_skip=True)
    return factor.spread(codes.astype(code_type(column.n_levels)), -1)


def codes_of(column: Column, labels: Iterable[Hashable], *, are_texts: bool = False) -> NDArray[np.int64]:
    """Return the code of each label, ``-1`` where the column does not have it.

    Parameters
    ----------
    column
        The column.
    labels
        The labels.
    are_texts
        Whether they are texts that stand for the column's labels.
    """

    def code(label: Any) -> int:
        try:
            return column.code(column.parse(label) if are_texts else label)
        except UnknownLevelError:
            return -1

    return np.array([code(label) for label in labels], dtype=np.int64)


def finite_numbers(name: str, factor: Factor) -> Floats:
    """Return the (n_labels,) labels as numbers, or an error if some are none, or infinite.

    Parameters
    ----------
    name
        The column's name.
    factor
        The raw values.
    """
    numbers = factor.numbers
    if numbers is None:
        raise NotNumericError(name, no_number(factor.labels.tolist()), "cannot be cut into bins")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise NonFiniteError(name, float(numbers[wrong[0]]))
    return numbers
