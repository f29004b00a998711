"""From a spec and its arguments to a search engine, or a source of pages, that answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from overton.calls import Price, Settings
from overton.errors import InputError, MissingExtra, Problem
from overton.pairs import checked_base_url
from overton.retrieval.specs import PAGE_FORMS, SEARCH_FORMS, Spec, parse_spec, published, read_arguments

if TYPE_CHECKING:
    from overton.retrieval.answering import PageAnswerer, PageSource, SearchAnswerer, Searcher
    from overton.retrieval.archived import Contents
    from overton.retrieval.engines.service import Service
    from overton.retrieval.index import CollectionIndex

__all__ = ["Source", "open_pages", "open_search", "pages_for"]

_NEEDED = ("aiohttp", "lxml_html_clean", "protego", "tantivy", "trafilatura", "warcio")
_TOP = {"starter": 3, "archive": 100}
_TOP_OF_THE_WEB = 20
_SEARCH_CONNECTIONS = {"google": 4, "brave": 1, "searxng": 4}
_WEB_CONNECTIONS = 32
_LOCAL_CONNECTIONS = 64
_TIMEOUT = 30.0
_DIGITS = 16

Arguments = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Source:
    """A search engine or a source of pages, with what a host knows of any answerer.

    `answerer` also has `keep_in(folder)`: called before the first call, it has everything that is found and read kept
    in the archive in that folder. `connections` is how many calls it takes at a time at most.
    """

    answerer: SearchAnswerer | PageAnswerer
    connections: int
    family: str
    settings: Settings = field(default_factory=Settings)
    price: Price | None = None
    series: str = ""
    reasons: bool = False

    def keep_in(self, folder: Path) -> None:
        """Keep everything that is found and read in the archive in this folder, from the next call on.

        Raises:
            RunError: it cannot be written to.
        """
        self.answerer.keep_in(folder)


def open_search(spec: str, args: Arguments = (), *, top: int | None = None, need_key: bool = True) -> Source:
    """Open the search engine that a spec names. Nothing is asked of it yet.

    Specs are `starter`, `index/DIR`, `archive/RUN`, `google`, `brave` and `searxng/http://HOST:PORT`. Arguments are
    `top` (hits a query, 1 to 100: 20 by default, 3 of the starter pages, all that an archive holds), `connections`,
    and for services `timeout` (seconds) and `base_url`; the keyword `top` holds where the arguments have none. Without
    `need_key`, a missing key is no error yet.

    Raises:
        InputError: the spec or its arguments are wrong, a key is missing, a folder is not there.
        MissingExtra: the optional part 'retrieval' is not installed.
    """
    parsed = parse_spec(spec, SEARCH_FORMS, "--search")
    values = read_arguments(parsed, args, searches=True)
    _require()
    hits = values.get("top") or top or _TOP.get(parsed.kind, _TOP_OF_THE_WEB)
    from overton.retrieval.answering import SearchAnswerer

    searcher = _searcher(parsed, values, hits, need_key)
    connections = values.get("connections") or _SEARCH_CONNECTIONS.get(parsed.kind, _LOCAL_CONNECTIONS)
    return Source(SearchAnswerer(searcher, name=published(spec)), connections, parsed.kind)


def open_pages(spec: str, args: Arguments = ()) -> Source:
    """Open the source of pages that a spec names. Nothing is asked of it yet.

    Specs are `starter`, `index/DIR`, `archive/RUN` and `web`. Arguments are `connections`; for `web` also `allow` (a
    host, repeatable), `max_bytes`, `timeout` and `delay` (seconds), `per_host` and `agent`, see
    `overton.retrieval.limits`; for an archive `max_bytes`.

    Raises:
        InputError: the spec or its arguments are wrong, a folder is not there.
        MissingExtra: the optional part 'retrieval' is not installed.
    """
    parsed = parse_spec(spec, PAGE_FORMS, "--pages")
    values = read_arguments(parsed, args, searches=False)
    _require()
    from overton.retrieval.answering import PageAnswerer

    connections = values.get("connections") or (_WEB_CONNECTIONS if parsed.kind == "web" else _LOCAL_CONNECTIONS)
    return Source(PageAnswerer(_pages(parsed, values), name=published(spec)), connections, parsed.kind)


def pages_for(search: str) -> str:
    """The source of pages that goes with a search engine: a collection's or an archive's own, else the web.

    Raises:
        InputError: there is no such search engine.
    """
    parsed = parse_spec(search, SEARCH_FORMS, "--search")
    return search if parsed.kind in {"starter", "index", "archive"} else "web"


def _require() -> None:
    if any(find_spec(name) is None for name in _NEEDED):
        raise MissingExtra("searching and reading pages", "retrieval")


def _searcher(spec: Spec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    if spec.kind in {"google", "brave", "searxng"}:
        return _engine(spec, values, top, need_key)
    if spec.kind == "archive":
        from overton.retrieval.archived import ArchivedSearch

        load = _contents(spec)
        return ArchivedSearch(load, f"archive/{load().hits_digest[:_DIGITS]}", top)
    from overton.retrieval.local import LocalSearch

    return LocalSearch(*_collection(spec), top)


def _pages(spec: Spec, values: dict[str, Any]) -> PageSource:
    from overton.retrieval.limits import Limits

    values.pop("connections", None)
    limits = Limits(**{**values, "allow": frozenset(values.get("allow", ()))})
    if spec.kind == "web":
        from overton.retrieval.web import WebPages

        return WebPages(limits)
    if spec.kind == "archive":
        from overton.retrieval.archived import ArchivedPages

        load = _contents(spec)
        return ArchivedPages(load, f"archive/{load().pages_digest[:_DIGITS]}", limits)
    from overton.retrieval.local import LocalPages

    return LocalPages(*_collection(spec))


def _collection(spec: Spec) -> tuple[Callable[[], CollectionIndex], str]:
    """How a collection is opened, and its identity, which is known without opening it."""
    if spec.kind == "starter":
        from overton.retrieval.starter_pages import starter_digest, starter_index

        return starter_index, f"starter/{starter_digest()[:_DIGITS]}"
    from overton.retrieval.index import about_index

    folder = Path(spec.rest).expanduser()
    return partial(_opened, folder), f"index/{about_index(folder).digest[:_DIGITS]}"


def _contents(spec: Spec) -> Callable[[], Contents]:
    from overton.retrieval.archived import archive_file

    path = archive_file(Path(spec.rest).expanduser())
    stat = path.stat()
    return partial(_read_through, path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _opened(folder: Path) -> CollectionIndex:
    """One open index for search and pages."""
    from overton.retrieval.index import open_index

    return open_index(folder)


@lru_cache(maxsize=4)
def _read_through(path: Path, size: int, changed: int) -> Contents:
    """One reading for search and pages, as long as the file (of `size` bytes) has not `changed` (nanoseconds)."""
    from overton.retrieval.archived import contents_of

    return contents_of(path)


def _engine(spec: Spec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    if spec.kind == "google":
        return _google(spec, values, top, need_key)
    if spec.kind == "brave":
        return _brave(spec, values, top, need_key)
    from overton.retrieval.engines.searxng import SearXNG

    try:
        url = checked_base_url(spec.rest)
    except ValueError as error:
        raise InputError([Problem("--search", "searxng/...", str(error))]) from None
    host = urlsplit(url).hostname or ""
    return SearXNG(_service(f"searxng/{host}", url.removesuffix("/search") + "/search", values), host, top)


def _google(spec: Spec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    from overton.retrieval.engines.google import BASE_URL, Google
    from overton.retrieval.keys import key_from

    key = key_from("GOOGLE_API_KEY", spec.text, needed=need_key)
    engine = key_from("GOOGLE_CSE_ID", spec.text, needed=need_key)
    return Google(_service(spec.text, BASE_URL, values, key, engine), key, engine, top)


def _brave(spec: Spec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    from overton.retrieval.engines.brave import BASE_URL, Brave
    from overton.retrieval.keys import key_from

    key = key_from("BRAVE_API_KEY", spec.text, needed=need_key)
    return Brave(_service(spec.text, BASE_URL, values, key), key, top)


def _service(name: str, url: str, values: dict[str, Any], *keys: Any) -> Service:
    from overton.retrieval.engines.service import Service

    return Service(name, values.get("base_url") or url, keys=keys, timeout=values.get("timeout") or _TIMEOUT)
