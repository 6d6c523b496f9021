"""What a fit returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorpmf.errors import counted
from tensorpmf.fit.contract import NotConvergedError, Status, Trace

if TYPE_CHECKING:
    from typing import Self

    from tensorpmf.pmf.base import PMF
    from tensorpmf.pmf.posterior import DirichletPosterior


@dataclass(frozen=True)
class FitResult:
    """A fitted model and how it came about.

    Parameters
    ----------
    pmf
        The joint distribution.
    posterior
        The Dirichlet posterior it is the mean of; ``None`` for methods that give a point estimate.
    rank
        Components that hold mass.
    status
        How the fit ended.
    trace
        Objective, rank, seconds and passes over the rows, one entry a step.
    algorithm
        The settings that were used.
    notes
        What a reader should know, such as a cap that applied, or columns that no rows connect: of how they depend on
        each other the model says something, the data do not.
    starts
        Final objective of every start, in order, or where rows were held out, their mean log-likelihood; the best one
        is the one returned.
    """

    pmf: PMF
    posterior: DirichletPosterior | None
    rank: int
    status: Status
    trace: Trace
    algorithm: Any
    notes: tuple[str, ...] = ()
    starts: tuple[float, ...] = ()

    @property
    def objective(self) -> float:
        """The last objective of the trace; higher is better."""
        return float(self.trace.objective[-1])

    @property
    def converged(self) -> bool:
        """Whether the fit ended because nothing changed any more."""
        return self.status is Status.CONVERGED

    def raise_if_failed(self) -> Self:
        """Return the result itself, or raise if it did not converge."""
        if not self.converged:
            raise NotConvergedError(self.status)
        return self

    def __repr__(self) -> str:
        n_steps, n_passes = len(self.trace), self.trace.passes[-1]
        passes = "1 pass" if n_passes == 1 else f"{n_passes:,.{6 if n_passes == n_steps else 3}g} passes"
        work = passes if n_passes == n_steps else f"{counted(n_steps, 'step')}, {passes}"
        return (
            f"FitResult(rank {self.rank}, objective {self.objective:.6g}, {self.status.name.lower()} "
            f"after {work} in {self.trace.seconds[-1]:.2g} s)"
        )
