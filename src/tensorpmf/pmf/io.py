"""The model file: one safetensors file with one JSON document, checked by SHA-256; reading it runs no code.

Numbers lie in the file as arrays; everything else is the document under the metadata key ``tensorpmf``: first the
SHA-256 of the whole file (taken with the digest's own 64 places as zeros), then the format version, then the model as
nested values. Plain JSON values stand for themselves, all others are an object with one telling key, such as
``{"tuple": [1, 2]}``, ``{"array": "pmf.weights"}`` or ``{"Column": {"name": "age", ...}}``.
Equal models give equal bytes.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from hashlib import sha256
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.errors import ModelFileError, UnsavableError

FORMAT = 1

_HOMES = {
    "Column": "table.schema",
    "DirichletPosterior": "pmf.posterior",
    "FitResult": "fit.result",
    "LowRankPMF": "pmf.lowrank",
    "Schema": "table.schema",
    "Status": "fit.contract",
    "Trace": "fit.contract",
    "VB": "fit.vb",
}
"""Where the classes live that a file may hold. These are names, not imports: a room is opened when a file needs it."""

_REGISTERED: dict[str, type] = {}

_KEY = "tensorpmf"
_NO_DIGEST = "0" * 64
_MARK = b'"tensorpmf":"{\\"sha256\\":\\"'
"""What stands before the digest; it cannot occur in a JSON string, so the first one is the one."""


def register(cls: type) -> type:
    """Let model files hold a class of yours: a dataclass whose fields are its constructor's arguments, or an enum.

    Parameters
    ----------
    cls
        The class; register it again before loading such a file. Usable as a decorator.
    """
    _REGISTERED[cls.__name__] = cls
    return cls


def save(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fit's result, a PMF or a posterior into one file, whole or not at all.

    Parameters
    ----------
    model
        What to keep.
    path
        Where; a file that is there is replaced.
    """
    if not is_dataclass(model):
        raise UnsavableError("it", model)
    raw = to_bytes(model)
    try:
        _write_whole(raw, Path(path).resolve())
    except OSError as error:
        raise ModelFileError(str(path), f"it cannot be written ({error.strerror})") from None


def load(path: str | os.PathLike[str]) -> Any:
    """Read what :func:`save` wrote; its SHA-256 is checked first, and no code is run.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    FitResult, LowRankPMF, DirichletPosterior, ...
        An object equal to the one saved.
    """
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise ModelFileError(str(path), "there is no such file") from None
    except OSError as error:
        raise ModelFileError(str(path), f"it cannot be read ({error.strerror})") from None
    return from_bytes(raw, str(path))


def to_bytes(model: object) -> bytes:
    """Return the bytes of a model file.

    Parameters
    ----------
    model
        What to keep.
    """
    from safetensors.numpy import load, save

    arrays: dict[str, NDArray[Any]] = {}
    encoded = _encode(model, "", arrays)
    document = {"sha256": _NO_DIGEST, "format": FORMAT, "model": encoded}
    unsigned = save(arrays, {_KEY: json.dumps(document, separators=(",", ":"))})
    written = load(unsigned)
    assert all(np.array_equal(written[name], array) for name, array in arrays.items()), "arrays are written as they are"
    at = _digest_at(unsigned)
    assert at is not None, "the digest stands where a reader looks for it"
    return unsigned[:at] + _digest(unsigned, at) + unsigned[at + 64 :]


def from_bytes(raw: bytes, path: str) -> Any:
    """Return the model that the bytes of a model file hold.

    Parameters
    ----------
    raw
        The bytes.
    path
        What to call them in an error.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    at = _digest_at(raw)
    if at is None:
        raise ModelFileError(path, "it is not a tensorpmf model", hint="models are written by tensorpmf.save.")
    if _digest(raw, at) != raw[at : at + 64]:
        raise ModelFileError(path, "it is damaged or cut short: its SHA-256 does not match")
    try:
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
        document = json.loads(header["__metadata__"][_KEY])
        readable = document["format"] <= FORMAT
        model = _decode(document["model"], load(raw)) if readable else None
    except (AttributeError, IndexError, KeyError, RecursionError, SafetensorError, TypeError, ValueError) as error:
        raise ModelFileError(path, f"what it says makes no model ({error})") from error
    if not readable:
        written = f"its format is {document['format']}, but this version of tensorpmf reads up to {FORMAT}"
        raise ModelFileError(path, written, hint="install a newer tensorpmf.")
    return model


def _digest_at(raw: bytes) -> int | None:
    found = raw.find(_MARK)
    return None if found < 0 else found + len(_MARK)


def _digest(raw: bytes, at: int) -> bytes:
    """SHA-256 of the bytes, the digest itself taken as zeros."""
    digest = sha256(raw[:at])
    digest.update(_NO_DIGEST.encode())
    digest.update(memoryview(raw)[at + 64 :])
    return digest.hexdigest().encode()


def _write_whole(raw: bytes, target: Path) -> None:
    """Write beside the target, then rename: whoever looks sees the old file or the new one."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _class_called(name: str) -> type | None:
    if name in _HOMES:
        return getattr(import_module(f"tensorpmf.{_HOMES[name]}"), name)
    return _REGISTERED.get(name)


def _encode(value: object, where: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a value as JSON; arrays are put aside under the name of their place."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or type(value) in (str, int, bool) or (type(value) is float and isfinite(value)):
        return value
    if type(value) is float:
        return {"float": repr(value)}
    if type(value) in (datetime, date):
        return {type(value).__name__: value.isoformat()}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_encode(v, f"{where}.{ix}", arrays) for ix, v in enumerate(value)]}
    if isinstance(value, Mapping):
        return {"dict": [[_encode(k, where, arrays), _encode(v, f"{where}.{k}", arrays)] for k, v in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return _encode_array(value, where, arrays)
    if _class_called(type(value).__name__) is not type(value):
        raise UnsavableError(where.lstrip(".") or "it", value)
    if isinstance(value, Enum):
        return {type(value).__name__: value.name}
    kept = [field.name for field in fields(value) if field.init]
    return {type(value).__name__: {name: _encode(getattr(value, name), f"{where}.{name}", arrays) for name in kept}}


def _encode_array(value: NDArray[Any], where: str, arrays: dict[str, NDArray[Any]]) -> dict[str, str]:
    """Put an array aside, C-contiguous, since safetensors scrambles others; complex numbers as pairs of real ones."""
    copy = np.array(value, dtype=value.dtype.newbyteorder("="), order="C")
    is_complex = copy.dtype.kind == "c"
    name = f"{len(arrays)}{where}"
    arrays[name] = copy.view(copy.real.dtype) if is_complex else copy
    return {"complex" if is_complex else "array": name}


def _decode(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return what :func:`_encode` was given."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    match kind:
        case "float":
            return float(content)
        case "date" | "datetime":
            return {"date": date, "datetime": datetime}[kind].fromisoformat(content)
        case "tuple" | "list":
            items = [_decode(item, arrays) for item in content]
            return items if kind == "list" else tuple(items)
        case "dict":
            return {_decode(k, arrays): _decode(v, arrays) for k, v in content}
        case "array":
            return arrays[content]
        case "complex":
            pairs = arrays[content]
            return pairs.view(np.result_type(pairs.dtype, np.complex64))
    cls = _class_called(kind)
    if cls is None:
        raise TypeError(f"a {kind} is not known here")
    if issubclass(cls, Enum):
        return cls[content]
    return cls(**{name: _decode(item, arrays) for name, item in content.items()})
