from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorpmf.errors import SettingError
from tensorpmf.pmf.kruskal import kruskal_max_rank


@pytest.mark.parametrize(
    ("n_levels", "rank"),
    [
        ([10] * 5, 23),  # the paper's synthetic data
        ([10] * 100, 450),  # MovieLens
        ([3] * 16 + [2], 17),  # Votes
        ([10] * 4 + [3], 19),  # Iris
        ([40] * 5 + [2], 98),  # Occupancy
        ([2, 3, 3, 14, 9, 2, 2, 2, 3, 2], 16),  # Credit
        ([3] * 10, 10),  # Website
        ([7], 1),
        ([4, 4], 1),
        ([1, 1, 1], 1),
        ([1000, 2, 2], 2),
    ],
)
def test_it_gives_the_initial_ranks_of_the_paper(n_levels: list[int], rank: int) -> None:
    assert kruskal_max_rank(n_levels) == rank


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_it_is_the_largest_rank_the_inequality_allows(n_levels: list[int]) -> None:
    allowed = [
        rank
        for rank in range(1, sum(n_levels) + 1)
        if sum(min(n, rank) for n in n_levels) >= 2 * rank + len(n_levels) - 1
    ]
    assert kruskal_max_rank(n_levels) == max(allowed, default=1)


@pytest.mark.parametrize("n_levels", [[], [0, 2], [2.5, 3.0], [[2, 3]]])
def test_what_is_no_list_of_level_counts_is_refused(n_levels: list[int]) -> None:
    with pytest.raises(SettingError, match="n_levels must be whole numbers >= 1") as caught:
        kruskal_max_rank(n_levels)
    assert caught.value.owner == "kruskal_max_rank"
