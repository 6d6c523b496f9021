"""What the library says in Python, said in options: hints on a command line name what can be typed there."""

from __future__ import annotations

from tensorpmf.errors import SettingError, TensorPMFError, reworded

_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in (
    "bins", "criterion", "delimiter", "encoding", "max_iterations", "max_rank", "missing", "n_starts", "ranks", "seed",
    "validation",
)} | {"n_jobs": "--threads", "n_threads": "--threads"}  # fmt: skip

_SAID = (
    (r"drop=\['(.*?)'\]", r"--drop '\1'"),
    (r"bins=\{'(.*?)': (\d+)\}", r"--bins '\1=\2'"),
    (r"bins=(\d+)", r"--bins \1"),
    (r"missing=\[float\('inf'\), float\('-inf'\)\]", "--missing inf --missing=-inf"),
    (r"encoding='(.*?)', '(.*?)'", r"--encoding \1, \2"),
    (r"delimiter=\.\.\.", "--delimiter"),
    (r'unknown="missing"', "--unknown missing"),
    (r"VB\(max_rank=(.*?)\)", r"--max-rank \1"),
    (r"max_iterations", "--max-iterations"),
    (r" or loosen tolerance", ""),
    (r",? or insist with levels=.*\}", ""),
    (r"; pandas.* reads others", ""),
    (r"\('(quantile|width)', (.+?)\)", r"\1:\2"),
    (r"\s+Hint: (pass values=|for P\(known\)).*", ""),
)
"""What is said of Python, as a pattern, and what is said instead; where no option does the same, nothing."""


def in_options(text: str) -> str:
    """Return a hint or a note with options in place of Python arguments.

    Examples
    --------
    >>> in_options("leave it out with drop=['id'], or cut it with bins={'id': 10}.")
    "leave it out with --drop 'id', or cut it with --bins 'id=10'."
    """
    return reworded(text, _SAID)


def told(mistake: TensorPMFError) -> str:
    """Return what an error says, settings by the names of their options."""
    if isinstance(mistake, SettingError) and mistake.name in _OPTIONS:
        return in_options(f"{_OPTIONS[mistake.name]} must be {mistake.must}, got {mistake.got!r}.")
    return in_options(str(mistake))
