"""What an algorithm, a reducer and a result are: the seam everything hangs on.

Statistics add. An algorithm is four pure methods and never knows where its rows live; a reducer knows where rows live
and never what is computed on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np

from tensorpmf.errors import TensorPMFError
from tensorpmf.typing import Floats, Ints

if TYPE_CHECKING:
    from tensorpmf.kernels.rows import Rows
    from tensorpmf.pmf.base import PMF
    from tensorpmf.pmf.posterior import DirichletPosterior
    from tensorpmf.table.schema import Schema


class Adds(Protocol):
    """Anything whose values add: ``summarise(a) + summarise(b) == summarise(a ⧺ b)``."""

    def __add__(self, other: Self, /) -> Self: ...


State = TypeVar("State")
Stats = TypeVar("Stats", bound=Adds)


@dataclass(frozen=True)
class Info:
    """What a human wants to see of one step.

    Parameters
    ----------
    objective
        The objective of the state that *entered* the step; higher is better.
    rank
        Components that hold mass in the state that left the step.
    rejected
        True when the step only refused a jump: its lack of progress must not look like convergence.
    settled
        True when nothing structural is going on, such as a component dying: then a flat objective means convergence.
    validation
        Mean log-likelihood of rows held out, of the model that would be returned now; starts are compared by it. For
        algorithms that hold rows out; all starts hold out the same.
    """

    objective: float
    rank: int
    rejected: bool = False
    settled: bool = True
    validation: float | None = None

    @property
    def score(self) -> float:
        """What starts are compared by; higher is better."""
        return self.objective if self.validation is None else self.validation


class Algorithm(ABC, Generic[State, Stats]):
    """Settings of an estimator, as a frozen dataclass, and its four pure methods."""

    @abstractmethod
    def start(self, schema: Schema, rng: np.random.Generator) -> State:
        """Return a random starting point."""

    @abstractmethod
    def summarise(self, block: Rows, state: State) -> Stats:
        """Return the statistics of one block of rows; pure."""

    @abstractmethod
    def update(self, state: State, stats: Stats) -> tuple[State, Info]:
        """Return the next state; pure, sees no data."""

    def runner(self) -> Algorithm[Any, Any]:
        """Return the algorithm that is really iterated: itself, or itself wrapped in its own acceleration."""
        return self

    def minibatch(self, n_rows: int) -> int | None:
        """Return about how many rows a step should read unless the caller says so; ``None`` for all."""
        return None

    def least_minibatch(self, schema: Schema) -> int:
        """Return how many rows a step must read at least to be of use."""
        return 1

    def in_parts(self, n_parts: int) -> Algorithm[Any, Any] | None:
        """Return what is really iterated where a step may read one of several parts of the rows, if there is such."""
        return None

    def resume(self, state: Any) -> State:
        """Return where to go on from a state of the algorithm that this one wraps, or of its own."""
        resumed: State = state
        return resumed

    def reads_data(self, state: State) -> bool:
        """Whether the next step needs a pass over the rows; if not, ``update`` is given ``None``."""
        return True

    def part(self, state: State) -> int | None:
        """Return which part of the rows the next step reads; ``None`` for all of them."""
        return None

    def closing(self, state: State) -> State:
        """Return where to take the last step before a run is cut short: it must tell how good the model returned is."""
        return state

    def notes(self, schema: Schema, rank: int) -> tuple[str, ...]:
        """Return what a reader of a result of this rank should know of the settings."""
        return ()

    @abstractmethod
    def finish(self, state: State) -> PMF | DirichletPosterior:
        """Return the model a state stands for."""


class Reduce(Protocol):
    """Maps a function over the row blocks of one table and adds the results in a fixed tree order.

    It may have ``notes``, a tuple of what a reader of a result should know of the rows.
    """

    @property
    def schema(self) -> Schema:
        """Columns and levels of the rows."""
        ...

    @property
    def n_parts(self) -> int:
        """Into how many parts of about equal size the rows are divided."""
        ...

    def __call__(self, summarise: Callable[[Rows, Any], Stats], state: Any, part: int | None = None) -> Stats:
        """Return the sum of ``summarise(block, state)`` over all blocks, or those of one part."""
        ...


class Reducer(Protocol):
    """Knows where rows live: in this process, in a file, on a cluster."""

    def bind(self, table: Any) -> Reduce:
        """Cut a table into fixed blocks, whatever the number of workers, and return what reduces over them."""
        ...


class Status(Enum):
    """How a fit ended. The values are the messages."""

    CONVERGED = "converged"
    MAX_ITERATIONS = "stopped at max_iterations before converging; raise max_iterations or loosen tolerance"
    INTERRUPTED = "interrupted; the best state so far is returned"


class NotConvergedError(TensorPMFError):
    """Raised by :meth:`FitResult.raise_if_failed` when a fit did not converge."""

    def __init__(self, status: Status) -> None:
        self.status = status
        super().__init__(f"the fit did not converge: {status.value}.")


@dataclass(frozen=True, eq=False)
class Trace:
    """One entry a step, which is one pass over the rows unless the algorithm reads a part of them at a time, or none.

    Parameters
    ----------
    objective
        (n_steps,) objective of the state entering the step; higher is better.
    rank
        (n_steps,) components that hold mass.
    seconds
        (n_steps,) time since the start of the fit.
    passes
        (n_steps,) how often each row had been read, by the end of the step.
    """

    objective: Floats
    rank: Ints
    seconds: Floats
    passes: Floats

    @property
    def elbo(self) -> Floats:
        """The objective under its name in variational Bayes."""
        return self.objective

    def __len__(self) -> int:
        return len(self.objective)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and all(
            np.array_equal(getattr(self, column.name), getattr(other, column.name)) for column in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]
