"""What a missing cell is filled with: what a level stands for outside, and which of them, or their mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.table.factor import is_number, objects
from tensorpmf.table.schema import Column
from tensorpmf.typing import Floats


def answers(column: Column) -> NDArray[Any]:
    """Return (I,) what each level of a column stands for outside: its label, or a number if it is a bin.

    Parameters
    ----------
    column
        The column.
    """
    labels = column.levels if column.centres is None else column.centres
    return np.array(labels) if all(map(is_number, labels)) else objects(labels)


def best(column: Column, prob: Floats, *, expected: bool = False) -> NDArray[Any]:
    """Return (n,) the likeliest answers of a column, or the values to expect where its levels are numbers.

    Parameters
    ----------
    column
        The column.
    prob
        (n, I) the probability of each level.
    expected
        Whether values are expected.
    """
    values = answers(column)
    if expected and all(map(is_number, values)):
        return np.asarray(prob @ values.astype(np.float64))
    return np.asarray(values[np.argmax(prob, axis=1)])
