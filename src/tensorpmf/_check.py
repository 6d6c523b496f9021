"""Checks of settings and arguments at the public doors: the value comes back, or the caller learns what it must be."""

from __future__ import annotations

import os
from math import isfinite
from operator import index

import numpy as np

from tensorpmf.errors import SettingError, sized


def whole_number(owner: str, name: str, value: object, *, at_least: int) -> int:
    """Return a whole number that is large enough.

    Parameters
    ----------
    owner
        Whose setting it is.
    name
        What the setting is called.
    value
        What the caller gave.
    at_least
        The smallest number allowed.
    """
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        number = at_least - 1
    if number < at_least or isinstance(value, bool):
        raise SettingError(owner, name, f"a whole number >= {at_least}", value)
    return number


def positive_number(owner: str, name: str, value: object, *, zero: bool = False) -> float:
    """Return a finite number above zero.

    Parameters
    ----------
    owner
        Whose setting it is.
    name
        What the setting is called.
    value
        What the caller gave.
    zero
        Whether zero is allowed too.
    """
    try:
        number = -1.0 if isinstance(value, str | bytes) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = -1.0
    if not isfinite(number) or number < 0 or (number == 0 and not zero):
        raise SettingError(owner, name, f"a finite number {'>=' if zero else '>'} 0", value)
    return number


def known_rank(owner: str, rank: int | None) -> int:
    """Return the rank that an algorithm was told.

    Parameters
    ----------
    owner
        The algorithm.
    rank
        What its settings say.
    """
    if rank is None:
        raise SettingError(owner, "rank", "a whole number >= 1 here (select_rank tries several, VB finds it)", None)
    return int(rank)


def require_memory(owner: str, name: str, value: object, n_numbers: int) -> None:
    """Refuse a setting with which a fit would need more memory than the machine has.

    Parameters
    ----------
    owner
        Whose setting it is.
    name
        What the setting is called.
    value
        What the caller gave.
    n_numbers
        How many numbers a fit holds at one time.
    """
    there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 8 * n_numbers > there_is:
        must = f"smaller: a fit would need {sized(8 * n_numbers)} of memory, and there are {sized(there_is)}"
        raise SettingError(owner, name, must, value)


def function(owner: str, name: str, value: object) -> None:
    """Refuse what is neither a function nor None.

    Parameters
    ----------
    owner
        Whose setting it is.
    name
        What the setting is called.
    value
        What the caller gave.
    """
    if value is not None and not callable(value):
        raise SettingError(owner, name, "a function, or None", value)


def default_threads() -> int:
    """Return how many threads work when nobody says: ``TENSORPMF_THREADS``, or as many as there are processors."""
    told = os.environ.get("TENSORPMF_THREADS")
    if not told:
        return os.cpu_count() or 1
    return whole_number("the environment", "TENSORPMF_THREADS", int(told) if told.isdecimal() else told, at_least=1)


def generator(owner: str, rng: object, *, optional: bool = False) -> np.random.Generator:
    """Return where randomness comes from.

    Parameters
    ----------
    owner
        Who draws.
    rng
        What the caller gave.
    optional
        Whether None is allowed, and stands for one that is always the same.
    """
    if rng is None and optional:
        return np.random.default_rng(0)
    if not isinstance(rng, np.random.Generator):
        raise SettingError(owner, "rng", "a NumPy generator, such as numpy.random.default_rng(0)", rng)
    return rng


def seeded(owner: str, seed: object) -> np.random.Generator:
    """Return the randomness that a seed stands for.

    Parameters
    ----------
    owner
        Who draws.
    seed
        What the caller gave: a number, or where randomness comes from already.
    """
    try:
        return np.random.default_rng(seed)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise SettingError(owner, "seed", "a whole number >= 0 or a NumPy generator", seed) from None
