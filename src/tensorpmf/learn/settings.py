"""The settings of an algorithm, named as scikit-learn names settings of settings: ``algorithm__max_rank``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tensorpmf.errors import UnknownSettingError


def settings_of(algorithm: Any, prefix: str) -> dict[str, Any]:
    """Return the settings of an algorithm, and of the algorithm that it wraps, by name.

    Parameters
    ----------
    algorithm
        The algorithm; anything else has no settings.
    prefix
        What the names begin with.

    Examples
    --------
    >>> from tensorpmf import EM, SQUAREM
    >>> settings_of(SQUAREM(EM(rank=3)), "algorithm")["algorithm__algorithm__rank"]
    3
    """
    if not is_dataclass(algorithm) or isinstance(algorithm, type):
        return {}
    own = {f"{prefix}__{field.name}": getattr(algorithm, field.name) for field in fields(algorithm) if field.init}
    wrapped = {key: value for name, inner in own.items() for key, value in settings_of(inner, name).items()}
    return own | wrapped


def changed(algorithm: Any, settings: Mapping[str, Any]) -> Any:
    """Return an algorithm like another one, but for some settings.

    Parameters
    ----------
    algorithm
        The algorithm; it stays as it is.
    settings
        New values by name; ``algorithm__rank`` is the ``rank`` of the algorithm that it wraps.

    Examples
    --------
    >>> from tensorpmf import EM, SQUAREM
    >>> changed(SQUAREM(EM()), {"algorithm__rank": 4}).algorithm
    EM(rank=4)
    """
    known = [name.removeprefix("__") for name in settings_of(algorithm, "")]
    own: dict[str, Any] = {}
    wrapped: dict[str, dict[str, Any]] = {}
    for path, value in settings.items():
        if path not in known:
            raise UnknownSettingError(type(algorithm).__name__, path, known)
        name, is_wrapped, rest = path.partition("__")
        if is_wrapped:
            wrapped.setdefault(name, {})[rest] = value
        else:
            own[name] = value
    inner = {name: changed(own.pop(name, getattr(algorithm, name)), values) for name, values in wrapped.items()}
    return replace(algorithm, **own, **inner)
