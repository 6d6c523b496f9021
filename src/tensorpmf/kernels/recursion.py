"""The two loops of a limited-memory quasi-Newton direction; between them a vector is multiplied with some metric.

Source: J. Nocedal and S. Wright, "Numerical Optimization", 2006, Algorithm 7.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorpmf.kernels import _native
from tensorpmf.kernels.isa import with_twin
from tensorpmf.typing import Floats


@with_twin
def descend(
    moves: Sequence[Floats], falls: Sequence[Floats], curvatures: Sequence[float], gradient: Floats
) -> tuple[Floats, Sequence[float]]:
    """Return what of a gradient past moves do not explain, and each one's share; the last move comes first.

    Parameters
    ----------
    moves, falls
        (n,) each: past moves, oldest first, and how the gradient fell along them.
    curvatures
        Their inner products.
    gradient
        (n,) the gradient.
    """
    return _native.descend(moves, falls, curvatures, gradient)


@with_twin
def ascend(
    moves: Sequence[Floats],
    falls: Sequence[Floats],
    curvatures: Sequence[float],
    shares: Sequence[float],
    ahead: Floats,
) -> Floats:
    """Return a direction with what past moves explain put back, the first move first.

    Parameters
    ----------
    moves, falls
        (n,) each: past moves, oldest first, and how the gradient fell along them.
    curvatures
        Their inner products.
    shares
        What :func:`descend` said.
    ahead
        (n,) the direction so far.
    """
    return _native.ascend(moves, falls, curvatures, shares, ahead)
