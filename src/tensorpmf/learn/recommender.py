"""Recommendation: the distribution of any user's rating of any item, given the user's other ratings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from tensorpmf._check import positive_number, whole_number
from tensorpmf.errors import SettingError, hints_said, listing
from tensorpmf.fit.contract import Algorithm
from tensorpmf.fit.tilt import Tilt, fit_tilt
from tensorpmf.learn.base import AnyBins, PMFEstimator, RandomState
from tensorpmf.learn.ratings import Evidence, Triples, positions
from tensorpmf.learn.voice import Voice, without
from tensorpmf.table.factor import objects
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Floats, Ints

Statistic: TypeAlias = Literal["mean", "median", "mode"]
"""What is told of a distribution: the mean errs least in squares, the median in size, the mode is right most often."""

STATISTICS = ("mean", "median", "mode")

HALF = 0.5 - 1e-12
"""What half of a probability comes to after rounding."""

USERS_AT_ONCE = 1024
"""For so many users the ratings of all items are predicted at once."""

PAIRS_AT_ONCE = 1 << 14
"""So many ratings are predicted at once."""


class PMFRecommender(RegressorMixin, PMFEstimator):
    """Predict ratings by the joint PMF of all items: ``P(rating of this item | the user's other ratings)``.

    Ratings come as lines of user and item, and the rating; or as a sparse matrix of users and items. For users who were
    not there in training no new fit is needed: hand over what is known of them. An item that nobody rated in training
    is expected to be rated like all others.

    The settings are those of :class:`PMFEstimator`; ``bins`` cuts the ratings. Two more correct what a mixture of
    groups misses of a person: that she is generous, or likes slow films more than others of her group do.

    Parameters
    ----------
    tilt_rank
        How many traits of a person, beside generosity, tilt the predicted distributions; 0 leaves them as the joint PMF
        has them. What is tilted is no longer an answer of ``pmf_``; but where users gave twenty ratings or more, 10
        makes the error markedly smaller:
        ``PMFRecommender(VB(8, alpha_factors=0.5), n_models=10, max_iterations=30, tilt_rank=10)``.
    tilt_ridge
        What squared traits cost, in units of the log-likelihood; the more, the smaller they are.

    Attributes
    ----------
    users_
        The users of the training ratings.
    items_
        The items of the training ratings.
    ratings_
        The ratings there are; of ratings that were cut into bins, the mean of each bin.
    results_
        What :func:`tensorpmf.fit` returned, for each model. ``result_`` is the best of them; ``pmf_``, ``rank_``,
        ``schema_`` and ``n_iter_`` are parts of that.
    tilts_
        What each model misses of a user: the items' part of it; None without a tilt.

    Examples
    --------
    >>> tastes = {"action": [5, 4, 1, 2], "romance": [1, 2, 5, 4]}
    >>> films = ["Alien", "Brazil", "Casablanca", "Dracula"]
    >>> lines = [
    ...     (f"{taste} {number}", film, rating)
    ...     for number in range(30)
    ...     for taste, ratings in tastes.items()
    ...     for film, rating in zip(films, ratings)
    ... ]
    >>> recommender = PMFRecommender().fit(lines)
    >>> recommender.recommend(["new"], n=1, known=[("new", "Casablanca", 5), ("new", "Alien", 1)])[0][0][0]
    'Dracula'
    """

    users_: NDArray[Any]
    items_: NDArray[Any]
    ratings_: Floats
    overall_: Floats
    evidence_: Evidence
    tilts_: tuple[Tilt | None, ...]

    def __init__(
        self,
        algorithm: Algorithm[Any, Any] | None = None,
        *,
        bins: AnyBins = "auto",
        n_models: int = 1,
        n_starts: int = 1,
        max_iterations: int = 10_000,
        tolerance: float = 1e-8,
        random_state: RandomState = 0,
        n_threads: int | None = None,
        tilt_rank: int = 0,
        tilt_ridge: float = 16.0,
    ) -> None:
        super().__init__(
            algorithm,
            bins=bins,
            n_models=n_models,
            n_starts=n_starts,
            max_iterations=max_iterations,
            tolerance=tolerance,
            random_state=random_state,
            n_threads=n_threads,
        )
        self.tilt_rank = tilt_rank
        self.tilt_ridge = tilt_ridge

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # not any array will do: its two columns are users and items
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Learn the joint PMF of the ratings of all items.

        Parameters
        ----------
        X
            (n_ratings, 2) lines of user and item, with a third column for the rating if ``y`` is not given; or a SciPy
            sparse matrix whose stored entries are the ratings, one row a user and one column an item.
        y
            (n_ratings,) the ratings.
        """
        tilt_rank = whole_number("PMFRecommender", "tilt_rank", self.tilt_rank, at_least=0)
        tilt_ridge = positive_number("PMFRecommender", "tilt_ridge", self.tilt_ridge)
        rated = Triples.of(X, y)
        bins: Any = self.bins
        with hints_said([(r", or insist with levels=.*\]", "")]):
            table = CategoricalTable.from_triples(rated.users, rated.items, rated.ratings, bins=bins)
        label_of = {str(item): item for item in rated.items}
        self.items_ = objects([label_of[name] for name in table.schema.names])
        self.ratings_ = table.schema.columns[0].values
        self.evidence_ = Evidence.of(rated, table.schema, self.items_)
        self.users_ = objects(list(self.evidence_.users))
        codes = table.cells.compressed().values
        self.overall_ = np.bincount(codes, minlength=len(self.ratings_)) / len(codes)
        self._fit(table)
        self.tilts_ = (None,) * len(self.results_)
        if tilt_rank:
            rng = self._randomness()
            known = (voice.known() for voice in self._voices(table))
            self.tilts_ = tuple(fit_tilt(each, self.ratings_, tilt_rank, tilt_ridge, rng) for each in known)
        return self

    def predict(self, X: Any, *, known: Any = None, statistic: Statistic = "mean") -> Floats:
        """Return (n_pairs,) the rating to expect.

        Parameters
        ----------
        X
            (n_pairs, 2) lines of user and item.
        known
            What is known of the users, as ratings like those that ``fit`` takes; by default the training ratings.
        statistic
            The ``"mean"``, for the smallest squared error; the ``"median"``, for the smallest absolute error; or the
            ``"mode"``, to be right most often.
        """
        if statistic not in STATISTICS:
            raise SettingError("predict", "statistic", f"one of {listing(STATISTICS)}", statistic)
        prob = self.predict_proba(X, known=known)
        if statistic == "mean":
            return np.asarray(prob @ self.ratings_)
        at = np.argmax(prob if statistic == "mode" else np.cumsum(prob, axis=1) >= HALF, axis=1)
        return np.asarray(self.ratings_[at])

    def predict_proba(self, X: Any, *, known: Any = None) -> Floats:
        """Return (n_pairs, n_ratings) the probability of each rating, in the order of ``ratings_``.

        It is given the user's other ratings: if this one is known, it is not looked at.

        Parameters
        ----------
        X
            (n_pairs, 2) lines of user and item.
        known
            What is known of the users, as ratings like those that ``fit`` takes; by default the training ratings.
        """
        check_is_fitted(self)
        asked = Triples.of(X, rated=False)
        evidence = self._evidence(known)
        user_ix, item_ix = positions(asked.users, evidence.users), positions(asked.items, evidence.items)
        hidden = np.where(evidence.holds(user_ix, item_ix), item_ix, -1)
        prob = np.tile(self.overall_, (len(item_ix), 1))
        by_user = np.argsort(user_ix, kind="stable")
        by_user = by_user[item_ix[by_user] >= 0]
        for start in range(0, len(by_user), PAIRS_AT_ONCE):
            pairs = by_user[start : start + PAIRS_AT_ONCE]
            (users, items), row_ix = np.unique([user_ix[pairs], hidden[pairs]], axis=1, return_inverse=True)
            prob[pairs] = self._ratings(without(evidence.table.take(users), items), row_ix, item_ix[pairs])
        return prob

    def _ratings(self, rows: CategoricalTable, row_ix: Ints, item_ix: Ints) -> Floats:
        """(n_pairs, n_ratings) the probability of each rating of an item that its row does not hold."""
        voices = self._voices(rows)
        prob = np.empty((len(item_ix), len(self.ratings_)))
        by_item = np.argsort(item_ix, kind="stable")
        for pairs in np.split(by_item, np.flatnonzero(np.diff(item_ix[by_item])) + 1):
            item = int(item_ix[pairs[0]])
            prob[pairs] = np.mean([voice.ratings(item, row_ix[pairs]) for voice in voices], axis=0)
        return prob

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of the variance of ratings that the mean ratings predicted explain; higher is better.

        Ratings in lines are predicted from those of training. The rows of a sparse matrix are new users: each of their
        ratings is predicted from the others in its row.

        Parameters
        ----------
        X
            The ratings, as for ``fit``.
        y
            (n_ratings,) the ratings, if ``X`` does not hold them.
        sample_weight
            (n_ratings,) how much each rating counts.
        """
        rated = Triples.of(X, y)
        known = X if hasattr(X, "tocoo") else None
        told = self.predict(list(zip(rated.users, rated.items, strict=True)), known=known)
        return float(r2_score(rated.ratings, told, sample_weight=sample_weight))

    def recommend(
        self, users: Sequence[Hashable], n: int = 10, *, known: Any = None, exclude_seen: bool = True
    ) -> list[list[tuple[Hashable, float]]]:
        """Return for each user the items expected to be rated best, and the rating expected; best first.

        Parameters
        ----------
        users
            The users.
        n
            How many items; fewer for users who have rated nearly everything.
        known
            What is known of the users, as ratings like those that ``fit`` takes; by default the training ratings.
        exclude_seen
            Leave out items whose rating by the user is known.
        """
        check_is_fitted(self)
        n = whole_number("recommend", "n", n, at_least=1)
        if isinstance(users, str) or not np.iterable(users):
            raise SettingError("recommend", "users", "a list of users", users)
        evidence = self._evidence(known)
        user_ix = positions(users, evidence.users)
        blocks = [user_ix[start : start + USERS_AT_ONCE] for start in range(0, len(user_ix), USERS_AT_ONCE)]
        return [best for block in blocks for best in self._best(evidence.table.take(block), n, exclude_seen)]

    def _evidence(self, known: Any) -> Evidence:
        return self.evidence_ if known is None else Evidence.of(Triples.of(known), self.schema_, self.items_)

    def _best(self, rows: CategoricalTable, n: int, exclude_seen: bool) -> list[list[tuple[Hashable, float]]]:
        expected = np.asarray(np.mean([voice.means(self.ratings_) for voice in self._voices(rows)], axis=0))
        if exclude_seen:
            expected[rows.codes >= 0] = -np.inf
        order = np.argsort(-expected, axis=1, kind="stable")[:, :n]
        items: list[Hashable] = self.items_.tolist()
        return [
            [(items[ix], row[ix]) for ix in best if row[ix] > -np.inf]
            for row, best in zip(expected.tolist(), order.tolist(), strict=True)
        ]

    def _voices(self, rows: CategoricalTable) -> list[Voice]:
        return [Voice(result.pmf, rows, tilt) for result, tilt in zip(self.results_, self.tilts_, strict=True)]
