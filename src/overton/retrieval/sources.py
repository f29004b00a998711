"""Functions that open search engines and sources of pages, given their specs and arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from overton.calls import Reach, Settings
from overton.calls.model import Model
from overton.errors import InputError, MissingExtra, Problem, suggestion
from overton.key_values import (
    Reader,
    address_of,
    checked_base_url,
    number,
    path_of,
    values_of,
    whole,
    without_credentials,
)
from overton.retrieval.limits import FetchLimits

if TYPE_CHECKING:
    from overton.retrieval.answerers import PageAnswerer, PageSource, SearchAnswerer, Searcher
    from overton.retrieval.archive_search import ArchiveIndex
    from overton.retrieval.index import CollectionIndex
    from overton.retrieval.search_engines import SearchClient


_NEEDED_PACKAGES = ("aiohttp", "lxml_html_clean", "protego", "tantivy", "trafilatura", "warcio")
_DEFAULT_TOP = {"starter": 3, "archive": 100}
_DEFAULT_WEB_TOP = 20
_SEARCH_CONNECTIONS = {"serper": 4, "google": 4, "brave": 1, "searxng": 4}
_WEB_CONNECTIONS = 32
_LOCAL_CONNECTIONS = 64
_TIMEOUT_S = 30.0
_DIGEST_CHARS = 16

_Arguments = Sequence[tuple[str, str]]


def open_search(
    spec: str, args: _Arguments = (), *, top: int | None = None, need_key: bool = True, resumed: bool = False
) -> Model:
    """Open the search engine that a spec names. No queries are made yet.

    Specs are `starter`, `index/DIR`, `archive/RUN`, `serper`, `brave` and `searxng/http://HOST:PORT`. Only a `resumed`
    run may still use `google`. All take the arguments `connections` and `top` (hits per query, 1 to 100). By default,
    `top` is 3 for `starter`, 100 for `archive/RUN`, and 20 for all others. Services also take `timeout` (seconds), and
    all services except `searxng` take `base_url`. The keyword `top` applies if the arguments have no `top`. Without
    `need_key`, a missing key does not raise an error yet.

    Raises:
        InputError: the spec or its arguments are wrong, a key or a folder is missing, or new runs may not use the
            engine.
        MissingExtra: the optional part 'retrieval' is not installed.
    """
    parsed = _parse_spec(spec, _SEARCH_FORMS, "--search")
    if parsed.kind in _ENDED_ENGINES and not resumed:
        raise InputError([Problem("--search", spec, _ENDED_ENGINES[parsed.kind])])
    values = _read_arguments(parsed, args, searches=True)
    _require_packages()
    hits = values.get("top") or top or _DEFAULT_TOP.get(parsed.kind, _DEFAULT_WEB_TOP)
    from overton.retrieval.answerers import SearchAnswerer

    searcher = _open_searcher(parsed, values, hits, need_key)
    connections = values.get("connections") or _SEARCH_CONNECTIONS.get(parsed.kind, _LOCAL_CONNECTIONS)
    return _as_model(SearchAnswerer(searcher, name=public_source_spec(spec)), connections, parsed)


def open_pages(spec: str, args: _Arguments = ()) -> Model:
    """Open the source of pages that a spec names. Nothing is fetched yet.

    Specs are `starter`, `index/DIR`, `archive/RUN` and `web`. All take the argument `connections`. An archive also
    takes `max_bytes`. `web` also takes `allow` (a host, repeatable), `max_bytes`, `timeout` and `delay` (seconds),
    `per_host` and `agent`; see `overton.retrieval.limits`.

    Raises:
        InputError: the spec or its arguments are wrong, or a folder is missing.
        MissingExtra: the optional part 'retrieval' is not installed.
    """
    parsed = _parse_spec(spec, _PAGE_FORMS, "--pages")
    values = _read_arguments(parsed, args, searches=False)
    _require_packages()
    from overton.retrieval.answerers import PageAnswerer

    connections = values.get("connections") or (_WEB_CONNECTIONS if parsed.kind == "web" else _LOCAL_CONNECTIONS)
    return _as_model(
        PageAnswerer(_open_page_source(parsed, values), name=public_source_spec(spec)), connections, parsed
    )


def _as_model(answerer: SearchAnswerer | PageAnswerer, connections: int, spec: _SourceSpec) -> Model:
    return Model(
        answerer=answerer,
        settings=Settings(),
        connections=connections,
        price=None,
        family=spec.kind,
        series="",
        reasons=False,
        keep_in=answerer.keep_in,
    )


def reach_of(spec: str, args: _Arguments = (), *, searches: bool) -> list[Reach]:
    """The addresses and folders that a search engine or a source of pages may reach because the user named them.

    A search service's usual address with its usual key is not included. Ordinary web pages are not included either.
    Nothing is opened, and no key is read.

    Raises:
        InputError: the spec or its arguments are wrong.
    """
    form, place = (_SEARCH_FORMS, "--search") if searches else (_PAGE_FORMS, "--pages")
    parsed = _parse_spec(spec, form, place)
    values = _read_arguments(parsed, args, searches=searches)
    if parsed.kind in _FOLDER_KINDS:
        return [Reach(str(path_of(parsed.rest, place).resolve()), opens=True)]
    if parsed.kind == "searxng":
        return [Reach(address_of(_searxng_url(parsed)))]
    if "base_url" in values:
        return [Reach(address_of(values["base_url"]), " and ".join(_VARIABLES[parsed.kind]))]
    return [Reach(f"{host}, even at a private address") for host in values.get("allow", ())]


def pages_for(search: str) -> str:
    """The spec of the source of pages that belongs to a search engine. It is the same spec if the engine searches a
    collection or an archive. Otherwise it is 'web'.

    Raises:
        InputError: there is no such search engine.
    """
    parsed = _parse_spec(search, _SEARCH_FORMS, "--search")
    return search if parsed.kind in {"starter", "index", "archive"} else "web"


def _require_packages() -> None:
    if any(find_spec(name) is None for name in _NEEDED_PACKAGES):
        raise MissingExtra("searching and reading pages", "retrieval")


def _open_searcher(spec: _SourceSpec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    if spec.kind in {"serper", "google", "brave", "searxng"}:
        return _open_engine(spec, values, top, need_key)
    if spec.kind == "archive":
        from overton.retrieval.archive_search import ArchivedSearch

        load = _archive_opener(spec)
        return ArchivedSearch(load, f"archive/{load().hits_digest[:_DIGEST_CHARS]}", top)
    from overton.retrieval.index import LocalSearch

    return LocalSearch(*_collection_opener(spec), top)


def _open_page_source(spec: _SourceSpec, values: dict[str, Any]) -> PageSource:
    values.pop("connections", None)
    limits = FetchLimits(**{**values, "allow": frozenset(values.get("allow", ()))})
    if spec.kind == "web":
        from overton.retrieval.web import WebPages

        return WebPages(limits)
    if spec.kind == "archive":
        from overton.retrieval.archive_search import ArchivedPages

        load = _archive_opener(spec)
        return ArchivedPages(load, f"archive/{load().pages_digest[:_DIGEST_CHARS]}", limits)
    from overton.retrieval.index import LocalPages

    return LocalPages(*_collection_opener(spec))


def _collection_opener(spec: _SourceSpec) -> tuple[Callable[[], CollectionIndex], str]:
    """A function that opens a collection, and the collection's identity, which is known without opening it."""
    if spec.kind == "starter":
        from overton.retrieval.index import starter_digest, starter_index

        return starter_index, f"starter/{starter_digest()[:_DIGEST_CHARS]}"
    from overton.retrieval.index import about_index

    folder = path_of(spec.rest, "archive or index")
    return partial(_open_collection, folder), f"index/{about_index(folder).digest[:_DIGEST_CHARS]}"


def _archive_opener(spec: _SourceSpec) -> Callable[[], ArchiveIndex]:
    from overton.retrieval.archive_search import archive_file

    path = archive_file(path_of(spec.rest, "archive or index"))
    stat = path.stat()
    return partial(_read_archive, path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4)
def _open_collection(folder: Path) -> CollectionIndex:
    """Open an index. Search and pages share one open index."""
    from overton.retrieval.index import open_index

    return open_index(folder)


@lru_cache(maxsize=4)
def _read_archive(path: Path, size: int, changed: int) -> ArchiveIndex:
    """Read an archive. Search and pages share the content while the file's `size` (bytes) and time of change
    (nanoseconds) stay the same."""
    from overton.retrieval.archive_search import contents_of

    return contents_of(path)


def _open_engine(spec: _SourceSpec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    if spec.kind == "serper":
        return _open_serper(spec, values, top, need_key)
    if spec.kind == "google":
        return _open_google(spec, values, top, need_key)
    if spec.kind == "brave":
        return _open_brave(spec, values, top, need_key)
    from overton.retrieval.search_engines import SearXNG

    url = _searxng_url(spec)
    host = urlsplit(url).hostname or ""
    return SearXNG(_make_client(f"searxng/{host}", url.removesuffix("/search") + "/search", values), host, top)


def _searxng_url(spec: _SourceSpec) -> str:
    try:
        return checked_base_url(spec.rest)
    except ValueError as error:
        raise InputError([Problem("--search", "searxng/...", str(error))]) from None


_VARIABLES = {
    "serper": ("SERPER_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GOOGLE_CSE_ID"),
    "brave": ("BRAVE_API_KEY",),
}


def _open_serper(spec: _SourceSpec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    from overton.retrieval.search_engines import SERPER_URL, Serper, key_from

    key = key_from(_VARIABLES["serper"][0], spec.text, needed=need_key)
    return Serper(_make_client(spec.text, SERPER_URL, values, key), key, top)


def _open_google(spec: _SourceSpec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    from overton.retrieval.search_engines import GOOGLE_URL, Google, key_from

    key, engine = (key_from(variable, spec.text, needed=need_key) for variable in _VARIABLES["google"])
    return Google(_make_client(spec.text, GOOGLE_URL, values, key, engine), key, engine, top)


def _open_brave(spec: _SourceSpec, values: dict[str, Any], top: int, need_key: bool) -> Searcher:
    from overton.retrieval.search_engines import BRAVE_URL, Brave, key_from

    key = key_from(_VARIABLES["brave"][0], spec.text, needed=need_key)
    return Brave(_make_client(spec.text, BRAVE_URL, values, key), key, top)


def _make_client(name: str, url: str, values: dict[str, Any], *keys: Any) -> SearchClient:
    from overton.retrieval.search_engines import SearchClient

    return SearchClient(name, values.get("base_url") or url, keys=keys, timeout=values.get("timeout") or _TIMEOUT_S)


_SEARCH_FORMS = ("starter", "index/DIR", "archive/RUN", "serper", "brave", "searxng/http://HOST:PORT")
_ENDED_ENGINES = {
    "google": "Google's search API takes no new customers and ends on 1 January 2027: use 'serper', which returns"
    " Google's results (SERPER_API_KEY)"
}
"""Search engines that new runs may not use, with the reason. Runs that began with them may continue."""
_PAGE_FORMS = ("starter", "index/DIR", "archive/RUN", "web")
_KINDS_WITHOUT_REST = {"starter", "serper", "google", "brave", "web"}
_FOLDER_KINDS = {"index", "archive"}


@dataclass(frozen=True)
class _SourceSpec:
    """The parts of a spec: `kind` precedes the first slash, and `rest` (a folder or an address) follows it."""

    text: str
    kind: str
    rest: str


def _parse_spec(text: str, forms: Sequence[str], place: str) -> _SourceSpec:
    """Split a spec into its parts. `place` is the option that contained the spec, for messages.

    Raises:
        InputError: the spec has none of the known forms; the message lists them.
    """
    kind, slash, rest = text.partition("/")
    kinds = [form.partition("/")[0] for form in forms]
    known = f"known are {', '.join(forms)}"
    ended = _ENDED_ENGINES if forms is _SEARCH_FORMS else {}
    if not text.isprintable() or kind not in {*kinds, *ended}:
        hint = suggestion(kind.lower(), kinds)
        raise InputError([Problem(place, _safe_spec(text), f"unknown{hint} ({known})")])
    if bool(slash and rest) == (kind in _KINDS_WITHOUT_REST):
        raise InputError([Problem(place, _safe_spec(text), f"write it in full ({known})")])
    return _SourceSpec(text, kind, rest)


def public_source_spec(spec: str) -> str:
    """The spec without the path of its folder, such as 'index/pages'."""
    return with_folder(spec, lambda folder: PurePath(folder).name)


def with_folder(spec: str, changed: Callable[[str], str]) -> str:
    """The spec with another folder; unchanged if it names no folder."""
    kind, slash, rest = spec.partition("/")
    return f"{kind}/{changed(rest)}" if slash and kind in _FOLDER_KINDS else spec


def _safe_spec(text: str) -> str:
    """The spec for use in a message: credentials in an address are removed."""
    shown = without_credentials(text)
    return "".join(character if character.isprintable() else "?" for character in shown)[:200]


def _read_agent(text: str) -> str:
    if not (re.fullmatch(r"[A-Za-z][A-Za-z_-]*(/[!-~]+)?( [ -~]+)?", text) and len(text) <= 256):
        raise ValueError("not an agent name: write it like StudyBot/1.0 (+https://example.org/study)")
    return text


def _read_host(text: str) -> str:
    host = text.strip().lower().removeprefix("[").removesuffix("]").rstrip(".")
    if not host or re.search(r"[\s/@?#\\]", host) or (":" in host and host.count(":") < 2):
        raise ValueError(f"'{text[:60]}' is not a host: give its name or IP address, without scheme or port")
    return host


_Readers = Mapping[str, Reader]

_COMMON_READERS: _Readers = {"connections": whole(1, 1_000)}
_SERVICE_READERS: _Readers = {"base_url": checked_base_url, "timeout": number(0.01, 600, of="seconds")}
_LIMIT_READERS: _Readers = {
    "allow": _read_host,
    "max_bytes": whole(1, 2**30),
    "timeout": number(0.01, 600, of="seconds"),
    "per_host": whole(1, 64),
    "delay": number(0, 60, of="seconds"),
    "agent": _read_agent,
}
_SEARCH_READERS: dict[str, _Readers] = {
    "serper": _SERVICE_READERS,
    "google": _SERVICE_READERS,
    "brave": _SERVICE_READERS,
    "searxng": {"timeout": _SERVICE_READERS["timeout"]},
}
_PAGE_READERS: dict[str, _Readers] = {"web": _LIMIT_READERS, "archive": {"max_bytes": _LIMIT_READERS["max_bytes"]}}
_REPEATABLE_KEYS = {"allow"}


def _read_arguments(spec: _SourceSpec, args: Sequence[tuple[str, str]], *, searches: bool) -> dict[str, Any]:
    """Turn `(key, value)` pairs into checked values. A repeatable key gives a list.

    Raises:
        InputError: some keys are unknown or given twice, or values are out of range; the error lists all problems.
    """
    own = (_SEARCH_READERS if searches else _PAGE_READERS).get(spec.kind, {})
    known = {**_COMMON_READERS, **({"top": whole(1, 100)} if searches else {}), **own}
    values, problems = values_of(args, known, f"arguments of {_safe_spec(spec.text)}", repeatable=_REPEATABLE_KEYS)
    if problems:
        raise InputError(problems)
    return values
