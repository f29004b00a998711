"""Collections of pages for local search: building an index, and trying it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from overton.errors import InputError, MissingExtra, Problem
from overton.files.atomic import new_folder

if TYPE_CHECKING:
    from overton.calls import Hit
    from overton.retrieval.page_files import FolderOfPages

__all__ = [
    "Collection",
    "index",
    "search",
]


@dataclass(frozen=True)
class Collection:
    """An index in a folder: its digest (SHA-256, hexadecimal), its number of pages, and the pages and files left out of
    it.

    `problems` lists the pages that could not be read. `skipped` counts the files of other types, by suffix.
    """

    path: Path
    digest: str
    pages: int
    problems: tuple[Problem, ...]
    skipped: Mapping[str, int]


def index(folder: str | Path, out: str | Path, *, lenient: bool = False) -> Collection:
    """Index a folder of text, HTML and JSON lines for `--search index/OUT`; see `overton.retrieval.page_files`.

    With `lenient`, unreadable pages are left out and listed. Otherwise, nothing is written if any page cannot be read.

    Raises:
        InputError: pages cannot be read (the error lists all of them), the folder has no pages, or `out` exists
            already.
        RunError: the index cannot be written.
        MissingExtra: the optional part 'retrieval' is not installed.
    """
    _check_installed()
    from overton.retrieval.index import build_index
    from overton.retrieval.page_files import FolderOfPages

    source = FolderOfPages(Path(folder))
    with new_folder(Path(out)) as fresh:
        made = build_index(source.pages(), fresh)
        _check_pages(source, made.pages, lenient)
    return Collection(Path(out), made.digest, made.pages, tuple(source.problems), dict(source.skipped))


def search(collection: str | Path, query: str, *, top: int = 10) -> tuple[Hit, ...]:
    """Search an index as a run does, and return the hits. The name 'starter' selects the starter pages.

    Raises:
        InputError: no such index exists.
        MissingExtra: the optional part 'retrieval' is not installed.
    """
    _check_installed()
    from overton.retrieval.index import open_index, starter_index

    opened = starter_index() if str(collection) == "starter" else open_index(Path(collection))
    return opened.find(query, top)


def _check_installed() -> None:
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("tantivy", "trafilatura")):
        raise MissingExtra("a local collection", "retrieval")


def _check_pages(source: FolderOfPages, pages: int, lenient: bool) -> None:
    if source.problems and not lenient:
        raise InputError(source.problems)
    if not pages:
        raise InputError([Problem(str(source.folder), "", "contains no readable page (.txt, .md, .html, .jsonl)")])
