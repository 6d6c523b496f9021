"""Locally purified states: tensor networks whose squares, summed over hidden indices, are probabilities.

Source: I. Glasser, R. Sweke, N. Pancotti, J. Eisert and J. I. Cirac, "Expressive power of tensor-network factorizations
for probabilistic modeling", NeurIPS 2019. They train by plain stochastic
gradients; here it is Adam, stopped early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate as running
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorpmf._check import known_rank, positive_number, require_memory, whole_number
from tensorpmf.errors import SettingError
from tensorpmf.fit.contract import Algorithm, Info
from tensorpmf.fit.rounds import Rounds
from tensorpmf.kernels.purified import Chain, Core, Slopes, accumulate, core_slopes
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.purified import PurifiedPMF
from tensorpmf.typing import Floats

if TYPE_CHECKING:
    from tensorpmf.table.schema import Schema

MEMORY_OF_SLOPES, MEMORY_OF_SQUARES = 0.9, 0.999
"""How much of what it remembers Adam keeps at a step."""

LEAST_SLOPE = 1e-8
"""Slopes smaller than this do not move anything far."""

SHRINKAGE = 0.5
"""How long the next step is at most, compared with one that was refused."""

COPIES = 3
"""Arrays of transfers that a fit holds at one time: of the cores, and their slopes while these are added."""

NOISE = 2.0
"""How far from independent columns a start is: so much, divided by the squared rank. With more a large rank comes to
fit noise, with less a small one stays independent for long. Many columns are quieter, so that the last of them still
hears of the first."""


@dataclass(frozen=True, eq=False)
class LPSState:
    """Cores, and what Adam remembers of the slopes.

    Parameters
    ----------
    schema
        The columns.
    cores
        One (I, D_left, D_right, purification) array a column.
    means, squares
        Running means of the derivatives and of their squares, shaped like the cores.
    n_steps
        How many steps these remember.
    rate
        How long a step is.
    before
        The state that led here, if the step may be refused.
    seen
        What was seen of the state before.
    """

    schema: Schema
    cores: tuple[Core, ...]
    means: tuple[Core, ...]
    squares: tuple[Floats, ...]
    n_steps: int
    rate: float
    before: LPSState | None = None
    seen: Info | None = None

    @classmethod
    def at(cls, schema: Schema, cores: Sequence[Core], rate: float) -> LPSState:
        """Return a state with nothing to remember."""
        squares = tuple(np.zeros(core.shape) for core in cores)
        return cls(schema, tuple(cores), tuple(map(np.zeros_like, cores)), squares, 0, rate)

    @cached_property
    def chain(self) -> Chain:
        """The cores as the kernels take them."""
        return Chain.of(self.cores)

    @property
    def rank(self) -> int:
        """The largest bond dimension."""
        return max(self.chain.bonds)


@dataclass(frozen=True)
class LPS(Algorithm[LPSState, Slopes]):
    """A locally purified state of given bond dimension: the likeliest, stopped before it fits noise.

    The joint PMF is a chain of matrices, one for each column and level, squared and summed over hidden indices. It is
    no mixture: neighbouring columns may hang together in detail, distant ones only through all between them. Choose it
    for sequences, or to compare with the literature. On data that come from a mixture :class:`VB` and :class:`EM` are
    nearer to the truth, and their components can be read.

    Rows are read a minibatch a step, by Adam. One in ten is held out, the same ones at every start; after every round
    through the others these judge the model, its cores averaged over the last hundred steps. Once ``patience`` steps
    brought nothing, the best model is returned. Of several starts (``fit(..., n_starts=3)``) the one that the rows held
    out find likeliest is kept; it is worth it where the rank is small. The objective is the log-likelihood of all rows,
    estimated at each step from the rows it reads, and exact at the last, also where ``max_iterations`` or Ctrl-C ended
    training. Where rows are not divided (fewer than ten, or a reducer of your own that does not) none is held out:
    steps that lower the log-likelihood are taken back, and it is climbed to the top.

    A pass costs O(cells x rank⁴ / 4), for complex cores O(cells x rank⁴), whatever the purification; memory, some
    arrays of O(levels of all columns x rank⁴ / 4), at rank 32 a gigabyte for 80 levels. Missing cells are summed out
    exactly, but cost as much as others. A row of weight two counts like two rows.

    Parameters
    ----------
    rank
        The bond dimension; it may be left out only where :func:`select_rank` tries several.
    purification
        How many hidden levels each column has; 1 is a Born machine.
    cores
        ``"real"`` or ``"complex"`` numbers.
    learning_rate
        How long Adam's steps are at first.
    validation
        The share of rows held out.
    patience
        After how many steps that bring nothing training ends.

    Examples
    --------
    >>> import tensorpmf as tp
    >>> from tensorpmf.data import sample_table, synthetic_pmf
    >>> table = sample_table(synthetic_pmf(4, 3, rank=2, seed=0), 2000, seed=1)
    >>> result = tp.fit(table, tp.LPS(rank=2))
    >>> result.rank, result.converged
    (2, True)
    """

    rank: int | None = None
    purification: int = 2
    cores: str = "real"
    learning_rate: float = 0.02
    validation: float = 0.1
    patience: int = 150

    def __post_init__(self) -> None:
        for name in ("rank", "purification", "patience"):
            if name != "rank" or self.rank is not None:
                whole_number("LPS", name, getattr(self, name), at_least=1)
        if self.cores not in ("real", "complex"):
            raise SettingError("LPS", "cores", '"real" or "complex"', self.cores)
        positive_number("LPS", "learning_rate", self.learning_rate)
        if not positive_number("LPS", "validation", self.validation) < 1:
            raise SettingError("LPS", "validation", "a fraction between 0 and 1", self.validation)

    def with_rank(self, rank: int) -> LPS:
        """Return the same settings for another bond dimension."""
        return replace(self, rank=rank)

    def minibatch(self, n_rows: int) -> int | None:
        """Return 500, but no more than a part to be held out, and so many that there are at most 50 parts."""
        return max(min(500, int(min(self.validation, 0.5) * n_rows)), n_rows // 50) or None

    def in_parts(self, n_parts: int) -> Algorithm[Any, Any]:
        """Return training in rounds through the parts, some of which are held out."""
        return Rounds(self, n_parts)

    def start(self, schema: Schema, rng: np.random.Generator) -> LPSState:
        """Return cores near those of independent, uniform columns."""
        bonds, cores = self._bonds(schema.n_levels), list[Core]()
        loudness = min(NOISE / max(bonds) ** 2, 1.0) * min(1.0, (5 / schema.n_columns) ** 0.5)
        for n, left, right in zip(schema.n_levels, bonds[:-1], bonds[1:], strict=True):
            noise = rng.normal(size=(n, left, right, self.purification, 2))
            core = (noise[..., 0] + 1j * noise[..., 1]) / np.sqrt(2) if self.cores == "complex" else noise[..., 0]
            cores.append(_like_identity(left, right)[:, :, None] + loudness * core)
        return LPSState.at(schema, cores, self.learning_rate)

    def summarise(self, block: Rows, state: LPSState) -> Slopes:
        """Return the log-likelihood of one block, unnormalised, and its derivatives with respect to the transfers."""
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        return accumulate(block.dense(), weights, state.chain)

    def update(self, state: LPSState, stats: Slopes) -> tuple[LPSState, Info]:
        """Take a step, or take back one that lowered the log-likelihood."""
        slopes = self.normalised(state, stats)
        if state.before is not None and state.seen is not None and not slopes.log_likelihood >= state.seen.objective:
            calm = LPSState.at(state.schema, state.before.cores, SHRINKAGE * state.rate)
            return replace(calm, seen=state.seen), replace(state.seen, rejected=True)
        info = Info(slopes.log_likelihood, state.rank)
        return replace(self.step(state, slopes), before=replace(state, before=None), seen=info), info

    def normalised(self, state: LPSState, stats: Slopes) -> Slopes:
        """Return the slopes of the log-likelihood, from those of the rows: a row that shows nothing, taken off."""
        nothing = np.full((1, len(state.cores)), -1)
        return stats + replace(accumulate(nothing, np.array([-stats.weight]), state.chain), weight=0.0)

    def step(self, state: LPSState, slopes: Slopes) -> LPSState:
        """Return where a step of Adam leads."""
        if slopes.weight == 0:
            return state
        n_steps, cores, means, squares = state.n_steps + 1, list[Core](), list[Core](), list[Floats]()
        for core, mean, square, each in zip(state.cores, state.means, state.squares, slopes.transfers, strict=True):
            slope = core_slopes(core, each) / slopes.weight
            means.append(MEMORY_OF_SLOPES * mean + (1 - MEMORY_OF_SLOPES) * slope)
            squares.append(MEMORY_OF_SQUARES * square + (1 - MEMORY_OF_SQUARES) * np.abs(slope) ** 2)
            size = np.sqrt(squares[-1] / (1 - MEMORY_OF_SQUARES**n_steps)) + LEAST_SLOPE
            cores.append(core + state.rate / (1 - MEMORY_OF_SLOPES**n_steps) * means[-1] / size)
        return LPSState(state.schema, tuple(cores), tuple(means), tuple(squares), n_steps, state.rate)

    def finish(self, state: LPSState) -> PurifiedPMF:
        """Return the model of the last state that was not refused."""
        return PurifiedPMF(state.schema, (state.before or state).cores)

    def _bonds(self, n_levels: Sequence[int]) -> list[int]:
        """Return the bond dimensions: the rank, but no more than the columns to the left, or right, can make use of."""
        sizes, most = [self.purification * n for n in n_levels], known_rank("LPS", self.rank)

        def grown(bond: int, size: int) -> int:
            return min(bond * size, most)

        rightwards = list(running(sizes, grown, initial=1))
        leftwards = list(running(reversed(sizes), grown, initial=1))
        bonds = [1, *map(min, rightwards[1:-1], leftwards[-2:0:-1]), 1]
        of_columns = zip(n_levels, bonds[:-1], bonds[1:], strict=True)
        require_memory("LPS", "rank", most, COPIES * sum(n * (left * right) ** 2 for n, left, right in of_columns) // 4)
        return bonds


def _like_identity(left: int, right: int) -> Floats:
    """(left, right) the identity, or where it is not square, several of them side by side, as long as one."""
    fewer, more = sorted((left, right))
    same = np.arange(left)[:, None] % fewer == np.arange(right) % fewer
    return np.asarray(same * np.sqrt(fewer / more))
