"""Models as a JSON document and the arrays it speaks of, and back; no code is run on the way.

Plain JSON values stand for themselves; every other value is an object with one telling key, such as
``{"tuple": [1, 2]}``, ``{"array": "0.weights"}`` or ``{"Column": {"name": "age", ...}}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from importlib import import_module
from math import isfinite
from typing import Any, TypeAlias, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import UnsavableError
from tensorpmf.table.factor import bounds_of, interval

Arrays: TypeAlias = dict[str, NDArray[Any]]
"""Arrays by the name the document calls them by."""

HOMES = {
    "CTF": "fit.coupled",
    "Column": "table.schema",
    "DirichletPosterior": "pmf.posterior",
    "EM": "fit.em",
    "FitResult": "fit.result",
    "LPS": "fit.purified",
    "LowRankPMF": "pmf.lowrank",
    "PurifiedPMF": "pmf.purified",
    "SQUAREM": "fit.squarem",
    "Schema": "table.schema",
    "Status": "fit.contract",
    "Trace": "fit.contract",
    "VB": "fit.vb",
}
"""Where the classes live that a document may hold. These are names, not imports: a room opens when a file needs it."""

_REGISTERED: dict[str, type] = {}


def register(cls: type) -> type:
    """Let model files hold a class of yours: a dataclass made from its fields, or an enum.

    Parameters
    ----------
    cls
        The class; it must be registered before such a file is loaded, too. Usable as a decorator.
    """
    _REGISTERED[cls.__name__] = cls
    return cls


def encode(value: Any, arrays: Arrays, where: str = "") -> Any:
    """Return a value as JSON.

    Parameters
    ----------
    value
        The value.
    arrays
        Where the arrays in it are put.
    where
        What to call its place, in names of arrays and in errors.
    """
    kind = value.__class__
    if issubclass(kind, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
        kind = value.__class__
    if kind in (type(None), str, int, bool) or (kind is float and isfinite(value)):
        return value
    if kind in _WRITTEN:
        return {kind.__name__: _WRITTEN[kind](value)}
    if kind in (tuple, list):
        return {kind.__name__: [encode(item, arrays, f"{where}.{ix}") for ix, item in enumerate(value)]}
    if issubclass(kind, Mapping):
        return {"dict": [[encode(k, arrays, where), encode(v, arrays, f"{where}.{k}")] for k, v in value.items()]}
    if issubclass(kind, np.ndarray) and value.dtype.newbyteorder("=") in _STORABLE:
        return _put_aside(value, arrays, where)
    if (bounds := bounds_of(value)) is not None:
        return {"Interval": [encode(bound, arrays, where) for bound in bounds]}
    if _class_called(kind.__name__) is not kind:
        raise UnsavableError(where.lstrip("."), value)
    if issubclass(kind, Enum):
        return {kind.__name__: value.name}
    names = [field.name for field in fields(value) if field.init]
    return {kind.__name__: {name: encode(getattr(value, name), arrays, f"{where}.{name}") for name in names}}


def decode(document: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the value that :func:`encode` was given.

    Parameters
    ----------
    document
        The value as JSON.
    arrays
        The arrays in it.
    """
    if type(document) is not dict:
        return document
    ((kind, content),) = cast("dict[str, Any]", document).items()
    if kind in _READ:
        return _READ[kind](content)
    if kind in ("tuple", "list"):
        items = [decode(item, arrays) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {decode(k, arrays): decode(v, arrays) for k, v in content}
    if kind == "Interval":
        return interval(*(decode(bound, arrays) for bound in content))
    if kind == "array":
        return arrays[content]
    if kind == "complex":
        return arrays[content].view(np.result_type(arrays[content].dtype, np.complex64))[..., 0]
    cls = _class_called(kind)
    if cls is None:
        raise TypeError(f"{kind} is not known here")
    if issubclass(cls, Enum):
        return cls[content]
    return cls(**{name: decode(item, arrays) for name, item in content.items()})


_WRITTEN: dict[type, Callable[[Any], str]] = {
    float: repr,
    Decimal: str,
    bytes: bytes.hex,
    date: date.isoformat,
    time: time.isoformat,
    datetime: datetime.isoformat,
    timedelta: lambda span: str(span // timedelta.resolution),
    UUID: str,
}
_READ: dict[str, Callable[[str], Any]] = {
    "float": float,
    "Decimal": Decimal,
    "bytes": bytes.fromhex,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "datetime": datetime.fromisoformat,
    "timedelta": lambda text: int(text) * timedelta.resolution,
    "UUID": UUID,
}
_STORABLE = frozenset(np.dtype(code) for code in "?bBhHiIlLqQefdFD")


def _put_aside(array: NDArray[Any], arrays: Arrays, where: str) -> dict[str, str]:
    """Name an array and keep it: in C order, safetensors scrambles others; complex numbers as pairs of real ones."""
    name, is_complex = f"{len(arrays)}{where}", array.dtype.kind == "c"
    kept = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
    arrays[name] = kept[..., None].view(f"f{kept.itemsize // 2}") if is_complex else kept
    return {"complex" if is_complex else "array": name}


def _class_called(name: str) -> Any:
    """Return the class a document calls so, if documents may hold it."""
    if name in HOMES:
        return vars(import_module(f"tensorpmf.{HOMES[name]}"))[name]
    return _REGISTERED.get(name)
