"""Web pages saved as HTML files or in a WARC archive. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warcio.bufferedreaders import ChunkedDataReader
from warcio.recordloader import ArcWarcRecord

from overton.errors import InputError, Problem, Unreadable
from overton.retrieval.limits import PageSkipped, inflate
from overton.retrieval.page_text import page_source
from overton.retrieval.warc import RecordHead, record_at, record_heads
from overton.untrusted import Limit, read_bytes

_PAGES = (".html", ".htm", ".xhtml")
_ARCHIVES = (".warc.gz",)
_MOST_BYTES = 20 * 2**20
_LIMIT = Limit(_MOST_BYTES + 2**20, ratio=1100)
_MOST_PAGES = 10_000
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True)
class SavedPage:
    """The HTML of a page. `place` is the location that messages name. `name` is the file's name without its suffix.
    `url` is the page's address, or '' if the file does not contain the address."""

    place: str
    name: str
    url: str
    html: str


def saved_pages(path: Path) -> Iterator[SavedPage | Problem]:
    """Read the pages of an HTML file, of an archive (.warc.gz), or of all such files in a folder, sorted by name. A
    page that cannot be read becomes a problem.

    Raises:
        InputError: there is no such file, or a folder has more than 10,000 such files.
    """
    for file in _files_at(path):
        if file.name.lower().endswith(_ARCHIVES):
            yield from _archived(file)
        else:
            yield _read_page(file)


def _files_at(path: Path) -> list[Path]:
    kinds = ", ".join((*_PAGES, *_ARCHIVES))
    if not path.exists():
        raise InputError([Problem(str(path), "", "does not exist")])
    try:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    except OSError as error:
        raise InputError([Problem(str(path), "", f"cannot be read: {error.strerror}")]) from error
    files = [file for file in inside if file.is_file() and file.name.lower().endswith((*_PAGES, *_ARCHIVES))]
    if not files or len(files) > _MOST_PAGES:
        reason = f"has more than {_MOST_PAGES:,} pages" if files else f"is not a saved page and contains none ({kinds})"
        raise InputError([Problem(str(path), "", reason)])
    return files


def _read_page(file: Path) -> SavedPage | Problem:
    try:
        body = read_bytes(file, _MOST_BYTES)
    except Unreadable as error:
        return Problem(str(file), "", error.reason)
    except OSError as error:
        return Problem(str(file), "", f"cannot be read: {error.strerror}")
    return SavedPage(str(file), file.stem, "", page_source(body))


def _archived(file: Path) -> Iterator[SavedPage | Problem]:
    """The pages in an archive's responses. Redirects, errors and files of other types are left out."""
    try:
        for head in record_heads(file):
            if head.kind == "response" and (found := _read_response(file, head)) is not None:
                yield found
    except Unreadable as error:
        yield Problem(str(file), f"byte {error.byte or 0:,}", f"{error.reason}; what comes later is not read")
    except OSError as error:
        yield Problem(str(file), "", f"cannot be read: {error.strerror}")


def _read_response(file: Path, head: RecordHead) -> SavedPage | Problem | None:
    try:
        record = record_at(file, head.start, _LIMIT)
        headers = record.http_headers
        kind = (headers.get_header("Content-Type") or "") if headers else ""
        if headers is None or headers.get_statuscode() != "200" or "html" not in kind.lower():
            return None
        body = inflate(_body_of(record), headers.get_header("Content-Encoding") or "", _MOST_BYTES)
    except Unreadable as error:
        return Problem(str(file), head.uri, error.reason)
    except PageSkipped as error:
        return Problem(str(file), head.uri, error.reason)
    charset = _CHARSET.search(kind)
    url = head.uri.strip("<>")
    return SavedPage(f"{file}: {url}", "", url, page_source(body, charset[1] if charset else ""))


def _body_of(record: ArcWarcRecord) -> bytes:
    """The body as received, without the chunk framing that other tools keep."""
    framed = "chunked" in (record.http_headers.get_header("Transfer-Encoding") or "").lower()
    content: bytes = ChunkedDataReader(record.raw_stream).read() if framed else record.raw_stream.read()
    return content
