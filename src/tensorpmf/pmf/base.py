"""What every joint PMF answers, whatever it is made of.

A kind of PMF says how to do five things on arrays, and what it is made of (the abstract methods); every query is
written once, here, on top of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from tensorpmf._check import generator, whole_number
from tensorpmf.errors import ImpossibleEvidenceError, InputError, NoMixtureError, SettingError, counted
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.estimate import MOST_CELLS, Estimate, cells, exact_mean, n_cells, sampled_mean
from tensorpmf.pmf.evidence import Known, describe_row, read_evidence
from tensorpmf.pmf.rows_of import Impossible, RowsLike, Unknown, blocks_of, read_rows
from tensorpmf.table.schema import Column, Schema
from tensorpmf.table.summary import MOST_LETTERS_OF_A_NAME, name_of, printable, shortened
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Codes, Floats

N_DRAWS = 100_000
"""How many draws a Monte Carlo answer is made of."""


class PMF(ABC):
    """A joint distribution over the columns of a schema.

    Wherever a query takes ``rows``, these may be a :class:`CategoricalTable`, a data frame, a list of mappings from
    column names to labels, or a (n_rows, n_columns) integer array of codes, such as ``table.codes`` (an array of labels
    that are whole numbers goes through ``schema.encode`` first). Columns that are not there, and missing cells, are
    summed out.
    """

    schema: Schema

    # What a kind of PMF says.

    @abstractmethod
    def _log_prob(self, rows: Rows) -> Floats:
        """(n_rows,) log-probabilities, missing cells summed out."""

    @abstractmethod
    def _conditional(self, column_ix: int, rows: Rows) -> Floats:
        """(n_rows, I) probabilities of a column's levels given the other cells; zeros where these are impossible."""

    @abstractmethod
    def _completed(self, rows: Rows, rng: np.random.Generator) -> Codes:
        """(n_rows, n_columns) codes, missing cells drawn given the others; the rows are possible."""

    @abstractmethod
    def _marginal(self, column_ixs: Sequence[int]) -> Self:
        """Sum out the columns that are not among these, and put these in this order."""

    @abstractmethod
    def _weighed(self, likelihoods: Mapping[int, Floats]) -> Self | None:
        """Multiply by a function (I,) of each of some columns and normalise; None if everything becomes zero."""

    @abstractmethod
    def _parts(self) -> str:
        """Tell in a few words, of 50 letters at most, what it is made of."""

    # Probabilities.

    def log_prob(self, rows: RowsLike, *, unknown: Unknown = "error") -> Floats:
        """Return (n_rows,) log-probabilities of rows; missing cells are summed out, and ``-inf`` is impossible.

        Parameters
        ----------
        rows
            The rows.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        """
        return self._log_prob(read_rows(rows, self.schema, unknown))

    def prob(self, rows: RowsLike, *, unknown: Unknown = "error") -> Floats:
        """Return (n_rows,) probabilities of rows; missing cells are summed out.

        Parameters
        ----------
        rows
            The rows.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        """
        return np.exp(self.log_prob(rows, unknown=unknown))

    def conditional(
        self, column: str, rows: RowsLike, *, unknown: Unknown = "error", impossible: Impossible = "error"
    ) -> Floats:
        """Return (n_rows, I) probabilities of a column's levels, given each row's other cells.

        The column's own cells are not looked at.

        Parameters
        ----------
        column
            The column asked for.
        rows
            What is known.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        impossible
            What to do with a row whose other cells have probability zero together: ``"error"``, or take them all as
            ``"missing"``, so that the answer is the column's marginal.
        """
        ix, known = self.schema.ix(column), read_rows(rows, self.schema, unknown)
        prob = self._conditional(ix, known)
        odd = prob.sum(axis=1) == 0
        self._refuse(known, odd, impossible, but=ix)
        if odd.any():
            prob[odd] = self._conditional(ix, self._nothing_known(1))
        return prob

    def responsibilities(self, rows: RowsLike, *, unknown: Unknown = "error") -> Floats:
        """Return (n_rows, R) the probability that each component made each row; only a mixture has components.

        Parameters
        ----------
        rows
            The rows.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        """
        raise NoMixtureError(type(self).__name__)

    def to_dense(self, most_cells: int = MOST_CELLS) -> Floats:
        """Return the probability tensor, one axis a column.

        Parameters
        ----------
        most_cells
            Refuse to make a larger tensor than this.
        """
        levels = self.schema.n_levels
        blocks = [self.prob(codes) for codes in cells(levels, most_cells)]
        return np.concatenate(blocks).reshape(levels)

    # PMFs from PMFs.

    def marginal(self, names: str | Iterable[str]) -> Self:
        """Return the PMF of one or some columns, in the order given; the others are summed out.

        Parameters
        ----------
        names
            A column name, or several.
        """
        return self._marginal([self.schema.ix(name) for name in self._group(names)])

    def given(self, known: Mapping[str, Known] | None = None, /, **columns: Known) -> Self:
        """Return the PMF of the other columns, given what is known of some.

        A column known to have one level leaves the result. One known to have a level out of a *set* (or list, or
        array) stays, with probability zero outside the set: which of the levels it has is still open.

        Parameters
        ----------
        known
            A level, or a set of levels, by column name; for names that are no Python identifiers.
        **columns
            A level, or a set of levels, by column name.
        """
        if not isinstance(cast("object", known), Mapping | None):
            raise SettingError("given", "what is known", "a mapping from column names to levels", known)
        known = known or {}
        for name in columns.keys() & known.keys():
            raise InputError(f"column {name!r} is given twice.", hint="say once what is known of it.")
        evidence = read_evidence(self.schema, {**known, **columns})
        remaining = [ix for ix in range(len(self.schema)) if ix not in evidence or evidence[ix].is_set]
        if not remaining:
            raise InputError("every column is known, so nothing is left to ask.", hint="for P(known), use prob([...]).")
        weighed = self._weighed({ix: item.likelihood for ix, item in evidence.items()})
        if weighed is None:
            raise ImpossibleEvidenceError(", ".join(map(str, evidence.values())))
        return weighed._marginal(remaining)

    # One column: what to expect.

    @overload
    def expect(self, column: str, *, values: ArrayLike | None = None) -> float: ...

    @overload
    def expect(
        self, column: str, rows: RowsLike, *, values: ArrayLike | None = None, unknown: Unknown = "error"
    ) -> Floats: ...

    def expect(
        self, column: str, rows: RowsLike = None, *, values: ArrayLike | None = None, unknown: Unknown = "error"
    ) -> float | Floats:
        """Return the expected value of a column, or one for each row given its other cells.

        Parameters
        ----------
        column
            The column; its levels are numbers, or ``values`` are given.
        rows
            What is known, if anything.
        values
            (I,) the number each level stands for.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        """
        expected = self._levels(column, rows, unknown) @ self._values(column, values)
        return float(expected[0]) if rows is None else expected

    @overload
    def median(self, column: str, *, values: ArrayLike | None = None) -> float: ...

    @overload
    def median(
        self, column: str, rows: RowsLike, *, values: ArrayLike | None = None, unknown: Unknown = "error"
    ) -> Floats: ...

    def median(
        self, column: str, rows: RowsLike = None, *, values: ArrayLike | None = None, unknown: Unknown = "error"
    ) -> float | Floats:
        """Return the lower median of a column, or one for each row given its other cells: the least absolute error.

        Parameters
        ----------
        column
            The column; its levels are numbers, or ``values`` are given.
        rows
            What is known, if anything.
        values
            (I,) the number each level stands for.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        """
        numbers = self._values(column, values)
        order = np.argsort(numbers, kind="stable")
        below = np.cumsum(self._levels(column, rows, unknown)[:, order], axis=1)
        medians = numbers[order[np.argmax(below >= 0.5 - 1e-12, axis=1)]]
        return float(medians[0]) if rows is None else medians

    @overload
    def most_likely(self, column: str) -> Hashable: ...

    @overload
    def most_likely(
        self, column: str, rows: RowsLike, *, unknown: Unknown = "error"
    ) -> np.ndarray[tuple[int], np.dtype[np.object_]]: ...

    def most_likely(
        self, column: str, rows: RowsLike = None, *, unknown: Unknown = "error"
    ) -> Hashable | np.ndarray[tuple[int], np.dtype[np.object_]]:
        """Return the most likely level of a column, or one for each row given its other cells; the first of equals.

        Parameters
        ----------
        column
            The column.
        rows
            What is known, if anything.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        """
        levels = self.schema[column].levels
        best = np.argmax(self._levels(column, rows, unknown), axis=1)
        return levels[int(best[0])] if rows is None else np.fromiter(levels, dtype=object, count=len(levels))[best]

    # Drawing.

    def sample(self, n: int, rng: np.random.Generator) -> CategoricalTable:
        """Draw complete rows.

        Parameters
        ----------
        n
            How many rows.
        rng
            Where randomness comes from.
        """
        nothing, rng = self._nothing_known(whole_number("sample", "n", n, at_least=0)), generator("sample", rng)
        return CategoricalTable.from_codes(self._completed(nothing, rng), schema=self.schema)

    def complete(self, rows: RowsLike, rng: np.random.Generator, *, unknown: Unknown = "error") -> CategoricalTable:
        """Draw the missing cells of rows, each row's jointly, given its observed cells.

        Called m times it makes m imputations.

        Parameters
        ----------
        rows
            The rows.
        rng
            Where randomness comes from.
        unknown
            What to do with labels the schema does not have: ``"error"``, or take them as ``"missing"``.
        """
        known, rng = read_rows(rows, self.schema, unknown), generator("complete", rng)
        self._refuse(known, np.isneginf(self._log_prob(known)))
        return CategoricalTable.from_codes(self._completed(known, rng), weights=known.weights, schema=self.schema)

    # Information, in nats.

    def average(
        self, function: Callable[[Codes], Floats], *, n_draws: int = N_DRAWS, rng: np.random.Generator | None = None
    ) -> Estimate:
        """Return the mean of a function of rows under this PMF.

        It is exact, by enumeration, up to 2·10⁷ cells, and a Monte Carlo mean with its standard error beyond.

        Parameters
        ----------
        function
            From (n, n_columns) codes to (n,) values.
        n_draws
            How many draws a Monte Carlo answer is made of, at least 2.
        rng
            Where randomness comes from; by default always the same.
        """
        if n_cells(self.schema.n_levels) <= MOST_CELLS:
            return exact_mean(function, self.log_prob, self.schema.n_levels)
        n_draws, rng = whole_number("average", "n_draws", n_draws, at_least=2), generator("average", rng, optional=True)
        values = np.empty(n_draws)
        for block in blocks_of(n_draws):
            values[block] = function(self._completed(self._nothing_known(block.stop - block.start), rng))
        return sampled_mean(values)

    def entropy(self, *, n_draws: int = N_DRAWS, rng: np.random.Generator | None = None) -> Estimate:
        """Return the entropy in nats; see :meth:`average` for how exact it is.

        Parameters
        ----------
        n_draws
            How many draws a Monte Carlo answer is made of.
        rng
            Where randomness comes from; by default always the same.
        """
        return self.average(lambda codes: -self.log_prob(codes), n_draws=n_draws, rng=rng)

    def mutual_information(
        self,
        a: str | Iterable[str],
        b: str | Iterable[str],
        *,
        n_draws: int = N_DRAWS,
        rng: np.random.Generator | None = None,
    ) -> Estimate:
        """Return in nats how much one column, or group, tells about another; see :meth:`average` for how exact it is.

        Parameters
        ----------
        a
            A column name, or several.
        b
            A column name, or several others.
        n_draws
            How many draws a Monte Carlo answer is made of.
        rng
            Where randomness comes from; by default always the same.
        """
        group_a, group_b = self._group(a), self._group(b)
        both, only_a, only_b = self.marginal([*group_a, *group_b]), self.marginal(group_a), self.marginal(group_b)

        def log_ratio(codes: Codes) -> Floats:
            of_a, of_b = codes[:, : len(group_a)], codes[:, len(group_a) :]
            return both.log_prob(codes) - only_a.log_prob(of_a) - only_b.log_prob(of_b)

        return both.average(log_ratio, n_draws=n_draws, rng=rng)

    # Words for people.

    def __repr__(self) -> str:
        shown = self.schema.columns[:8]
        width = max(len(name_of(column)) for column in shown)
        lines = [f"{name_of(column):{width}}  {self._in_words(column, room=76 - width)}" for column in shown]
        more = [f"… {len(self.schema) - len(shown)} more columns"] * (len(self.schema) > len(shown))
        headline = f"{type(self).__name__} of {counted(len(self.schema), 'column')}, {self._parts()}"
        return "\n  ".join([headline, *lines, *more])

    def _in_words(self, column: Column, room: int, most: int = 4) -> str:
        """Tell the likeliest levels, as many as there is room for, one at least."""
        prob, told = self._levels(column.name, None)[0], list[str]()
        for ix in np.argsort(-prob, kind="stable")[:most]:
            level = shortened(printable(str(column.levels[ix])), MOST_LETTERS_OF_A_NAME)
            told.append(f"{level} {100 * prob[ix]:.3g}%")
        while len(told) > 1 and len(", ".join([*told, "…"])) > room:
            told.pop()
        return ", ".join(told + ["…"] * (column.n_levels > len(told)))

    # Steps the queries share.

    def _group(self, names: str | Iterable[str]) -> list[str]:
        is_one = isinstance(names, str) or not hasattr(names, "__iter__")
        group = cast("list[str]", [names] if is_one else list(names))
        if not group or len(set(group)) < len(group):
            raise InputError(f"expected one or several different column names, got {group!r}.")
        return group

    def _nothing_known(self, n: int) -> Rows:
        return Rows.from_codes(np.full((n, len(self.schema)), -1, dtype=np.int8), self.schema.n_levels)

    def _levels(self, column: str, rows: RowsLike, unknown: Unknown = "error") -> Floats:
        """(n_rows, I) probabilities of a column's levels; one row of them when nothing is known."""
        if rows is None:
            return self.marginal(column).to_dense()[None]
        return self.conditional(column, rows, unknown=unknown)

    def _values(self, column: str, values: ArrayLike | None) -> Floats:
        if values is None:
            return self.schema[column].values
        n_levels = self.schema[column].n_levels
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (n_levels,) or not np.isfinite(numbers).all():
            raise SettingError(column, "values", f"{n_levels} finite numbers, one a level", values)
        return numbers

    def _refuse(
        self,
        rows: Rows,
        odd: np.ndarray[tuple[int], np.dtype[np.bool_]],
        impossible: Impossible = "error",
        but: int | None = None,
    ) -> None:
        """Raise for the first impossible row, if there is one that is an error; ``but`` was not looked at."""
        if impossible not in ("error", "missing"):
            raise SettingError("a query", "impossible", "'error' or 'missing'", impossible)
        if impossible == "error" and odd.any():
            row_ix = int(np.argmax(odd))
            codes = np.array(rows.take(slice(row_ix, row_ix + 1)).dense()[0])
            if but is not None:
                codes[but] = -1
            raise ImpossibleEvidenceError(f"row {row_ix}: {describe_row(self.schema, codes)}")
