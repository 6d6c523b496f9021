"""The model file: one safetensors file with one JSON document, checked by SHA-256; reading it runs no code.

Numbers lie in the file as arrays; all else is the document, under the metadata key ``tensorpmf``: first the SHA-256 of
the whole file (taken with the digest's own 64 places as zeros), then the format version, then the model. Equal models
give equal bytes.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import is_dataclass
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE
from typing import Any

from tensorpmf.errors import ModelFileError, UnsavableError
from tensorpmf.pmf.document import Arrays, decode, encode

FORMAT = 1

_KEY = "tensorpmf"
_NO_DIGEST = "0" * 64
_MARK = b'"tensorpmf":"{\\"sha256\\":\\"'
"""What stands before the digest; it cannot occur inside a JSON string, so the first one is the one."""


def save(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fit's result, a PMF or a posterior into one file, whole or not at all.

    Parameters
    ----------
    model
        What to keep.
    path
        Where; a file that is there is replaced, and what is no file, such as a pipe or ``/dev/null``, is written to.
    """
    if not is_dataclass(model):
        raise UnsavableError("", model)
    raw, target = to_bytes(model), Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(raw)
        else:
            _write_whole(raw, target.resolve())
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

    arrays: Arrays = {}
    document = {"sha256": _NO_DIGEST, "format": FORMAT, "model": encode(model, arrays)}
    unsigned = save(arrays, {_KEY: json.dumps(document, separators=(",", ":"))})
    written = load(unsigned)
    assert all(written[name].tobytes() == array.tobytes() for name, array in arrays.items()), "arrays stay as they are"
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
        model = decode(document["model"], load(raw)) if readable else None
    except (
        ArithmeticError,
        AttributeError,
        IndexError,
        KeyError,
        RecursionError,
        SafetensorError,
        TypeError,
        ValueError,
    ) as error:
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
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(S_IMODE(target.stat().st_mode))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    folder = os.open(target.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
