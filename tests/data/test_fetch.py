"""Files of data sets: local copies, downloads from a server of our own, and what can go wrong with either."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tensorpmf.data.fetch import fetch, sha256_of
from tensorpmf.data.sources import SOURCES, File, Source
from tensorpmf.errors import ChecksumError, DownloadError, MissingCopyError, MissingExtraError

CONTENT = {"a.csv": b"1,2\n", "b.arff": b"% anything\r\n@data\r\n1\r\n2\r\n"}
FILES = (
    File("a.csv", hashlib.sha256(CONTENT["a.csv"]).hexdigest()),
    File("b.arff", hashlib.sha256(b"1\n2").hexdigest(), rows_after="@data"),
)


def packed(content: dict[str, bytes]) -> bytes:
    """A zip archive with everything in one folder, as GroupLens packs it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        for name, data in content.items():
            members.writestr(f"folder-1M/{name}", data)
    return archive.getvalue()


class Publisher(BaseHTTPRequestHandler):
    """Hands out archives by path and remembers what it was asked for."""

    archives: dict[str, bytes] = {"/good.zip": packed(CONTENT), "/poor.zip": packed({"a.csv": CONTENT["a.csv"]})}  # noqa: RUF012
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        archive = self.archives.get(self.path)
        self.send_response(404 if archive is None else 200)
        self.end_headers()
        self.wfile.write(archive or b"")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a publisher; what is downloaded goes to a folder of this test's."""
    monkeypatch.delenv("TENSORPMF_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Publisher, "asked", [])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Publisher)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def source(publisher: str) -> Source:
    return Source("toy", "Toy", f"{publisher}/good.zip", None, FILES, "public domain", "nobody")


def kept_at(tmp_path: Path, name: str) -> Path:
    return next(tmp_path.rglob(name))


def test_what_was_downloaded_is_kept(source: Source, tmp_path: Path) -> None:
    assert fetch(source) == CONTENT
    kept_at(tmp_path, "archive.zip").unlink()
    assert fetch(source) == CONTENT
    assert Publisher.asked == ["/good.zip"]
    assert not list(tmp_path.rglob("*.part"))


def test_an_archive_that_is_not_the_published_one_is_refused(source: Source, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="hash"):
        fetch(replace(source, sha256="0" * 64))
    assert not list(tmp_path.rglob("a.csv"))
    good = hashlib.sha256(Publisher.archives["/good.zip"]).hexdigest()
    assert fetch(replace(source, sha256=good)) == CONTENT


def test_a_file_that_was_changed_is_refused(source: Source, tmp_path: Path) -> None:
    fetch(source)
    path = kept_at(tmp_path, "a.csv")
    path.write_bytes(b"1,3\n")
    with pytest.raises(ChecksumError, match="not the file that was published") as caught:
        fetch(source)
    assert caught.value.path == str(path)
    assert caught.value.found == hashlib.sha256(b"1,3\n").hexdigest()


@pytest.mark.parametrize(("path", "problem"), [("missing.zip", "404"), ("poor.zip", r"holds no b\.arff")])
def test_what_cannot_be_had_says_how_else_to_get_it(source: Source, publisher: str, path: str, problem: str) -> None:
    with pytest.raises(DownloadError, match=problem) as caught:
        fetch(replace(source, url=f"{publisher}/{path}"))
    assert caught.value.hint is not None
    assert "TENSORPMF_DATA" in caught.value.hint


def test_local_copies_are_read_and_nothing_is_downloaded(
    source: Source, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TENSORPMF_DATA", str(tmp_path))
    for folder in ("", "toy/a.csv"):  # nothing at all, then a folder in the place of a file
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        with pytest.raises(MissingCopyError, match=r"'toy' has no local copy: there is no file '.*a\.csv'") as caught:
            fetch(source)
        assert caught.value.hint == f"unpack {source.url} there, or unset TENSORPMF_DATA to have it downloaded."
    (tmp_path / "toy/a.csv").rmdir()
    for name, data in CONTENT.items():
        (tmp_path / "toy" / name).write_bytes(data)
    assert fetch(source) == CONTENT
    assert Publisher.asked == []


def test_without_pooch_the_extra_is_named(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"tensorpmf\[data\]"):
        fetch(source)


def test_only_the_rows_of_some_files_are_hashed() -> None:
    unix, windows = b"@relation x\n@data\n1,2\n3,4\n", b"@relation x-y\r\n\r\n@data\r\n1,2\r\n3,4 \r\n\r\n"
    assert sha256_of(unix, "@data") == sha256_of(windows, "@data")
    assert sha256_of(unix, None) != sha256_of(windows, None)
    assert sha256_of(unix, "@data") != sha256_of(unix.replace(b"1", b"2"), "@data")
    assert sha256_of(b"<html>not found</html>", "@data") != sha256_of(unix, "@data")  # of something else all counts


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_tells_its_address_its_sums_its_terms_and_whom_to_cite(source: Source) -> None:
    assert source.url.startswith(("https://archive.ics.uci.edu/static/public/", "https://files.grouplens.org/"))
    sums = [source.sha256] if source.sha256 else [file.sha256 for file in source.files]
    assert all(isinstance(value, str) and len(bytes.fromhex(value)) == 32 for value in sums)
    assert source.licence
    assert "https://doi.org/10." in source.citation
