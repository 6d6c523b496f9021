"""Array aliases; the axis names are in each alias's line."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Real numbers; the shape is told where it is used. The component axis is last, everywhere."""

Codes: TypeAlias = NDArray[np.signedinteger[Any]]
"""(n_rows, n_columns) level codes, from 0; ``-1`` is missing."""

Ints: TypeAlias = NDArray[np.int64]
"""Whole numbers: counts and positions."""
