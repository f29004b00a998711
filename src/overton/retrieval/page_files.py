"""Pages from a folder of text files, HTML files and JSON lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from overton.errors import InputError, Problem, Unreadable
from overton.retrieval.index import StoredPage
from overton.retrieval.page_text import PageBody, clean, extract, one_line
from overton.untrusted import decode_json

_KINDS = {".html": "html", ".htm": "html", ".xhtml": "html", ".txt": "text", ".md": "text", ".jsonl": "lines"}
_INCOMPLETE_PREFIX = "is not complete JSON: "
_decode = msgspec.json.Decoder().decode
_FILE_LIMIT = 20 * 2**20
_LINE_LIMIT = 16 * 2**20
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|")
_ADDRESS = re.compile(r"[^\s\x00-\x1f\x7f]{1,4096}")


@dataclass
class FolderOfPages:
    """A reader of a folder's pages, in the order of their paths. It also collects problems.

    A text or HTML file is one page. Its address is `file:///`, followed by the path in the folder. Each line of a
    `.jsonl` file is one page, with `url` and `text`, and optionally `title` and `date` (YYYY-MM-DD). `skipped` counts
    other files by their suffix. Hidden files are ignored.
    """

    folder: Path
    problems: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    _seen: dict[str, str] = field(default_factory=dict)

    def pages(self) -> Iterator[StoredPage]:
        """All pages that can be read.

        Raises:
            InputError: the folder does not exist.
        """
        if not self.folder.is_dir():
            raise InputError([Problem(str(self.folder), "", "there is no such folder")])
        for path in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            if not any(part.startswith(".") for part in path.relative_to(self.folder).parts):
                yield from self._read_file(path)

    def _read_file(self, path: Path) -> Iterator[StoredPage]:
        kind = _KINDS.get(path.suffix.lower())
        if kind is None:
            self.skipped[path.suffix.lower() or "no suffix"] += 1
            return
        try:
            yield from self._read_lines(path) if kind == "lines" else self._read_whole_file(path, kind)
        except OSError as error:
            self._note(path, "", f"cannot be read: {error.strerror}")

    def _read_whole_file(self, path: Path, kind: str) -> Iterator[StoredPage]:
        if path.stat().st_size > _FILE_LIMIT:
            self._note(path, "", f"is larger than {_FILE_LIMIT >> 20} MiB")
            return
        try:
            found = extract(PageBody(path.read_bytes(), kind="html" if kind == "html" else "text"))
        except RecursionError:
            self._note(path, "", "cannot be parsed: its tags are nested too deeply")
            return
        if not found.text:
            self._note(path, "", "contains no text")
            return
        url = f"file:///{quote(path.relative_to(self.folder).as_posix())}"
        yield from self._keep_if_new(StoredPage(url, found.text, found.title or path.stem, found.date), path, "")

    def _read_lines(self, path: Path) -> Iterator[StoredPage]:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_LINE_LIMIT + 1):
                number += 1
                if len(line) > _LINE_LIMIT:
                    self._note(path, f"line {number}", f"is longer than {_LINE_LIMIT >> 20} MiB; the rest is not read")
                    return
                if line.strip():
                    yield from self._read_line(line, path, f"line {number}")

    def _read_line(self, line: bytes, path: Path, place: str) -> Iterator[StoredPage]:
        try:
            entry = decode_json(line, _decode)
        except Unreadable as error:
            self._note(path, place, f"is not JSON: {error.reason.removeprefix(_INCOMPLETE_PREFIX)}")
            return
        if not isinstance(entry, dict):
            self._note(path, place, "is not an object with 'url' and 'text'")
            return
        wrong = list(_unusable_keys(entry))
        for key, reason in wrong:
            self._note(path, f"{place}, {key}", reason)
        if not wrong:
            title, date = one_line(entry.get("title")), one_line(entry.get("date"))
            yield from self._keep_if_new(StoredPage(entry["url"], clean(entry["text"]), title, date), path, place)

    def _keep_if_new(self, page: StoredPage, path: Path, place: str) -> Iterator[StoredPage]:
        here = f"{path.relative_to(self.folder)}{f', {place}' if place else ''}"
        earlier = self._seen.setdefault(page.url, here)
        if earlier != here:
            self._note(path, f"{place}, url" if place else "url", f"is also the address of {earlier}")
            return
        yield page

    def _note(self, path: Path, key: str, reason: str) -> None:
        self.problems.append(Problem(str(path.relative_to(self.folder)), key, reason))


def _unusable_keys(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each key of a JSON line whose value cannot be used, with the reason."""
    for key in ("url", "text"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            yield key, "is missing" if key not in entry else "is not text, or is empty"
    for key in ("title", "date"):
        if not isinstance(entry.get(key, ""), str | None):
            yield key, "is not text"
    url, date = entry.get("url"), entry.get("date")
    if isinstance(url, str) and url.strip() and not _ADDRESS.fullmatch(url):
        yield "url", "has spaces, control characters or more than 4,096 characters"
    if isinstance(date, str) and not _DATE.fullmatch(date):
        yield "date", f"{date[:30]!r} is not written YYYY-MM-DD"
