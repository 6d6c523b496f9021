"""The files of a data set: from a local copy, or downloaded once and kept; every one is checked before it is read."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from tensorpmf.data.sources import File, Source
from tensorpmf.errors import ChecksumError, DownloadError, MissingCopyError, MissingExtraError

LOCAL_COPIES = "TENSORPMF_DATA"
"""The environment variable that names a folder of local copies; nothing is downloaded then."""


def fetch(source: Source) -> Mapping[str, bytes]:
    """Return the content of the files of a data set, by name.

    If the environment variable ``TENSORPMF_DATA`` names a folder, the files are read from ``<folder>/<name>/``.
    Otherwise they are downloaded from the official address, once, into a folder of the user's (needs the extra
    ``data``).

    Parameters
    ----------
    source
        Which data set.
    """
    copies = os.environ.get(LOCAL_COPIES)
    folder = Path(copies).expanduser() / source.name if copies else kept(source)
    return {file.name: checked(folder / file.name, file, source) for file in source.files}


def kept(source: Source) -> Path:
    """Return the user's folder that holds the files of a data set, downloaded first if they are not there yet."""
    try:
        pooch = import_module("pooch")
    except ModuleNotFoundError:
        raise MissingExtraError("pooch", "data") from None
    folder = Path(pooch.os_cache("tensorpmf")) / source.name
    if not all((folder / file.name).exists() for file in source.files):
        archive = download(pooch, source, folder)
        extract(archive, source, folder)
    return folder


def download(pooch: Any, source: Source, folder: Path) -> Path:
    """Return the archive of a data set, fetched from its official address and checked."""
    name = "archive.zip"
    keeper = pooch.create(path=folder, base_url="", registry={name: source.sha256}, urls={name: source.url})
    try:
        return Path(keeper.fetch(name))
    except (OSError, ValueError) as error:
        if (refusal := getattr(error, "response", None)) is not None:
            refusal.close()  # pooch leaves the connection open
        raise DownloadError(source.url, str(error), source.name) from error


def extract(archive: Path, source: Source, folder: Path) -> None:
    """Put the files that are read beside the archive; each appears whole or not at all."""
    with zipfile.ZipFile(archive) as packed:
        members = {PurePosixPath(member).name: member for member in packed.namelist()}
        for file in source.files:
            if file.name not in members:
                raise DownloadError(source.url, f"the archive holds no {file.name}", source.name)
            half_done = folder / f"{file.name}.part"
            half_done.write_bytes(packed.read(members[file.name]))
            half_done.replace(folder / file.name)


def checked(path: Path, file: File, source: Source) -> bytes:
    """Return the content of a file, or say that it is not there, or not what was published."""
    if not path.is_file():
        raise MissingCopyError(str(path), source.name, source.url)
    content = path.read_bytes()
    if file.sha256 is not None and (found := sha256_of(content, file.rows_after)) != file.sha256:
        raise ChecksumError(str(path), file.sha256, found)
    return content


def sha256_of(content: bytes, rows_after: str | None) -> str:
    """Return the SHA-256 sum of a file, or of its lines after a certain one, whatever their endings.

    Parameters
    ----------
    content
        The file.
    rows_after
        The line after which hashing begins, if there is one like it; ``None`` hashes all bytes as they are.
    """
    if rows_after is not None:
        lines = [line.strip() for line in content.strip().splitlines()]
        head = rows_after.encode()
        content = b"\n".join(lines[lines.index(head) + 1 :] if head in lines else lines)
    return hashlib.sha256(content).hexdigest()
