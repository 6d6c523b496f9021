"""Types of the compiled kernels (src/native)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.typing import Codes, Floats, Ints

def available() -> list[str]: ...
def current() -> str: ...
def use(name: str) -> None: ...

class Packing:
    def __init__(self, groups: list[list[int]], n_levels: list[int], missing: list[bool], listed: bool) -> None: ...

class Tables:
    def __init__(
        self, packing: Packing, log_weights: Floats, log_factors: Floats, product: bool, single: bool
    ) -> None: ...

class Rows:
    def index(self, packing: Packing) -> None: ...

def dense_rows(codes: Codes, weights: Floats | None) -> Rows: ...
def compressed_rows(indptr: Ints, columns: Codes, values: Codes, weights: Floats | None) -> Rows: ...
def grouped_rows(
    codes: NDArray[np.unsignedinteger[Any]],
    prefix_states: NDArray[np.uint32],
    prefix_start: NDArray[np.uint32],
    weights: Floats | None,
) -> Rows: ...
def accumulate(packing: Packing, tables: Tables, rows: Rows) -> tuple[Floats, Floats, float]: ...
def log_normaliser(packing: Packing, tables: Tables, rows: Rows) -> Floats: ...
def responsibilities(packing: Packing, tables: Tables, rows: Rows) -> Floats: ...
def digamma(x: Floats) -> Floats: ...
def trigamma(x: Floats) -> Floats: ...
def log_gamma(x: Floats) -> Floats: ...
def expected_log_stacked(alpha: Floats, offsets: Ints, prior: Floats) -> tuple[Floats, float]: ...
def count_marginals(
    codes_by_column: NDArray[np.int32],
    weights: Floats,
    n_levels: Ints,
    subsets: Ints,
    group_starts: Ints,
    counts: Floats,
) -> None: ...
def accumulate_marginals(
    cells: Floats,
    offsets: Ints,
    subsets: Ints,
    group_starts: Ints,
    weights: Floats,
    factors: Floats,
    into_weights: Floats,
    into_factors: Floats,
) -> float: ...
def descend(
    moves: Sequence[Floats], falls: Sequence[Floats], curvatures: Sequence[float], gradient: Floats
) -> tuple[Floats, list[float]]: ...
def ascend(
    moves: Sequence[Floats],
    falls: Sequence[Floats],
    curvatures: Sequence[float],
    shares: Sequence[float],
    ahead: Floats,
) -> Floats: ...
