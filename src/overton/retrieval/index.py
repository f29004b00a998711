"""Collections of pages that are searched and read without a network, including the pages that come with Overton.

The search ranks pages by BM25 over titles and texts, with English stemming, in a Tantivy index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from hashlib import file_digest, sha256
from importlib.resources import files
from pathlib import Path

import msgspec
import tantivy

from overton.calls import Hit, Page
from overton.errors import InputError, Problem, Unreadable, reason_of
from overton.files.atomic import cannot_be_written, write_atomic
from overton.retrieval.archive import Archive
from overton.untrusted import decode_json, panics_as_unreadable, read_bytes

_FORMAT = 1
_ABOUT_FILE = "collection.json"
_MAX_ABOUT_BYTES = 1 << 16
_WORD = re.compile(r"\w+")
_MOST_WORDS = 64
_SNIPPET_CHARS = 240
_EXTRA_HITS = 50  # so that ties can be put in order
_HEAP_BYTES = 64_000_000
_SEARCHED_FIELDS = ["title", "text"]


class StoredPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """One page of a collection. `url` is unique in the collection; `date` is YYYY-MM-DD or ''."""

    url: str
    text: str
    title: str = ""
    date: str = ""

    @property
    def body(self) -> bytes:
        """The page's text as bytes. For a page from the web, it is the body as received."""
        return self.text.encode("utf-8", "replace")


def _page_digest(page: StoredPage) -> str:
    """The SHA-256 of all fields of a page, in hexadecimal."""
    return sha256(msgspec.json.encode(page)).hexdigest()


def _collection_digest(pages: Iterable[tuple[str, str]]) -> str:
    """The SHA-256 of a collection's `(url, _page_digest)` pairs, in hexadecimal. The order of pages does not matter."""
    whole = sha256()
    for url, digest in sorted(pages):
        whole.update(f"{digest} {url}\n".encode("utf-8", "replace"))
    return whole.hexdigest()


class _IndexDescription(msgspec.Struct, frozen=True):
    """The description of an index folder: the format, and the digest (hexadecimal) and number of pages of the
    collection.

    `files` has the SHA-256 of each index file. Overton checks these hashes before it opens the index, because a damaged
    file can make Tantivy end the process. An index made by an earlier version has no `files`.
    """

    format: int
    digest: str
    pages: int
    files: dict[str, str] = {}


_decode_description = msgspec.json.Decoder(_IndexDescription).decode


class CollectionIndex:
    """A collection that can be searched and read. `digest` depends only on the pages, not on where they are stored."""

    def __init__(self, index: tantivy.Index, about: _IndexDescription, place: Path | None = None) -> None:
        index.reload()
        self._place = place or Path("memory")
        self.digest = about.digest
        self.pages = about.pages
        self._index = index
        self._searcher = index.searcher()

    def find(self, query: str, top: int) -> tuple[Hit, ...]:
        """Find the `top` pages that match any word of the query, best first. Pages with equal scores are in the order
        of their addresses.

        A query consists of words only. Operators of query languages have no effect.
        """
        with _report_damage(self._place):
            return self._search(query, top)

    def _search(self, query: str, top: int) -> tuple[Hit, ...]:
        words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_MOST_WORDS]
        if not words:
            return ()
        parsed = self._index.parse_query(" ".join(words), _SEARCHED_FIELDS)
        found = self._searcher.search(parsed, limit=top + _EXTRA_HITS, count=False).hits
        pages = [(round(score, 4), _page_of(self._searcher.doc(address)), address) for score, address in found]
        pages.sort(key=lambda entry: (-entry[0], entry[1].url))
        snippets = self._make_snippets(parsed)
        return tuple(
            Hit(page.url, page.title, snippets(self._searcher.doc(address))) for _, page, address in pages[:top]
        )

    def page(self, url: str) -> StoredPage | None:
        """The page at exactly this address; None if the collection lacks it."""
        with _report_damage(self._place):
            return self._find_page(url)

    def _find_page(self, url: str) -> StoredPage | None:
        found = self._searcher.search(tantivy.Query.term_query(self._index.schema, "url", url), limit=1).hits
        return _page_of(self._searcher.doc(found[0][1])) if found else None

    def _make_snippets(self, parsed: tantivy.Query) -> _Snippets:
        generator = tantivy.SnippetGenerator.create(self._searcher, parsed, self._index.schema, "text")
        generator.set_max_num_chars(_SNIPPET_CHARS)
        return _Snippets(generator)


class _Snippets:
    def __init__(self, generator: tantivy.SnippetGenerator) -> None:
        self._generator = generator

    def __call__(self, document: tantivy.Document) -> str:
        """The best-matching excerpt of a text, or the start of the text if only the title matches."""
        fragment = self._generator.snippet_from_doc(document).fragment()
        return " ".join((fragment or str(document.get_first("text"))[:_SNIPPET_CHARS]).split())


def index_in_memory(pages: Iterable[StoredPage]) -> CollectionIndex:
    """A collection of at most a few thousand pages, indexed in memory."""
    index = tantivy.Index(_schema())
    return CollectionIndex(index, _fill(index, pages))


def build_index(pages: Iterable[StoredPage], folder: Path) -> CollectionIndex:
    """Write an index of the pages into an empty folder.

    Raises:
        RunError: the index cannot be written.
    """
    try:
        with panics_as_unreadable():
            index = tantivy.Index(_schema(), path=str(folder))
            about = _fill(index, pages)
    except (OSError, ValueError, Unreadable) as error:  # Tantivy reports disk errors as one of these
        raise cannot_be_written(folder, error) from error
    about = msgspec.structs.replace(about, files=_file_digests(folder))
    write_atomic(folder / _ABOUT_FILE, [msgspec.json.encode(about)])
    return CollectionIndex(index, about)


def _file_digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each of Tantivy's files, in hexadecimal, by name. Lock files are left out."""
    return {path.name: _file_digest(path) for path in sorted(folder.iterdir()) if path.suffix != ".lock"}


def _file_digest(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def _check_files(folder: Path, digests: dict[str, str]) -> None:
    """Refuse an index with changed files. Names that lead out of the folder are not followed.

    Raises:
        InputError: a file is missing or has changed.
    """
    present = {path.name: path for path in folder.iterdir() if path.is_file()}
    for name, digest in digests.items():
        if name not in present or _file_digest(present[name]) != digest:
            raise _unusable_error(folder, f"the index is damaged ({name} was changed); index the pages again")


def about_index(folder: Path) -> _IndexDescription:
    """The description of the index in a folder. The pages are not read.

    Raises:
        InputError: there is no index, or it has another format.
    """
    try:
        about = decode_json(read_bytes(folder / _ABOUT_FILE, _MAX_ABOUT_BYTES), _decode_description)
    except (FileNotFoundError, NotADirectoryError):
        raise _unusable_error(
            folder, "there is no index; make one with 'overton corpus index DIR --out INDEX'"
        ) from None
    except (OSError, Unreadable) as error:
        said = reason_of(error)
        raise _unusable_error(folder, f"{_ABOUT_FILE} cannot be read: {said}") from error
    if about.format != _FORMAT:
        raise _unusable_error(
            folder, f"it has format {about.format}; this version reads {_FORMAT}: index the pages again"
        )
    return about


def open_index(folder: Path) -> CollectionIndex:
    """The index that `build_index` wrote into a folder.

    Raises:
        InputError: there is no index, or the index has another format or is damaged.
    """
    about = about_index(folder)
    with _report_damage(folder):
        _check_files(folder, about.files)
        return CollectionIndex(tantivy.Index.open(str(folder)), about, folder)


@contextmanager
def _report_damage(folder: Path) -> Iterator[None]:
    """Turn Tantivy's errors about a damaged index into input errors. They occur when the index is opened, or when a
    part of it is first used."""
    try:
        with panics_as_unreadable():
            yield
    except (OSError, ValueError) as error:
        raise _unusable_error(folder, f"the index is damaged ({error}): index the pages again") from error
    except Unreadable as error:
        raise _unusable_error(folder, "the index is damaged: index the pages again") from error


def _unusable_error(folder: Path, reason: str) -> InputError:
    return InputError([Problem("index", str(folder), reason)])


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("date", stored=True, tokenizer_name="raw", index_option="basic")
    for name in _SEARCHED_FIELDS:
        builder.add_text_field(name, stored=True, tokenizer_name="en_stem")
    return builder.build()


def _fill(index: tantivy.Index, pages: Iterable[StoredPage]) -> _IndexDescription:
    # One thread, because scores would depend on which thread was faster.
    writer = index.writer(_HEAP_BYTES, num_threads=1)
    digests: list[tuple[str, str]] = []
    for page in pages:
        writer.add_document(tantivy.Document(url=[page.url], title=[page.title], date=[page.date], text=[page.text]))
        digests.append((page.url, _page_digest(page)))
    writer.commit()
    writer.wait_merging_threads()
    return _IndexDescription(_FORMAT, _collection_digest(digests), len(digests))


def _page_of(document: tantivy.Document) -> StoredPage:
    url, text, title, date = (str(document.get_first(name) or "") for name in ("url", "text", "title", "date"))
    return StoredPage(url, text, title, date)


class LocalSearch:
    """A search engine for a collection, with at most `top` hits per query. `load` opens the collection at the first
    search."""

    def __init__(self, load: Callable[[], CollectionIndex], identity: str, top: int) -> None:
        self.identity = f"{identity}+top{top}"
        self._load = load
        self._top = top

    @cached_property
    def _collection(self) -> CollectionIndex:
        return self._load()

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first."""
        return self._collection.find(query, self._top)

    async def close(self) -> None:
        """Nothing to release."""


class LocalPages:
    """A source of pages that reads a collection, whose pages are already text."""

    def __init__(self, load: Callable[[], CollectionIndex], identity: str) -> None:
        self.identity = identity
        self._load = load

    @cached_property
    def _collection(self) -> CollectionIndex:
        return self._load()

    async def read(self, url: str, archive: Archive | None) -> Page:
        """The page at `url`. A page that is not in the collection counts as skipped."""
        stored = self._collection.page(url)
        if stored is None:
            return Page(url, skipped="not in the collection")
        if archive is not None:
            archive.text(url, stored.body)
        return Page(url, stored.title, stored.date, stored.text, sha256(stored.body).hexdigest())

    async def close(self) -> None:
        """Nothing to release."""


@lru_cache(maxsize=1)
def _starter_pages() -> tuple[StoredPage, ...]:
    read = msgspec.json.Decoder(StoredPage).decode_lines
    folder = files("overton.retrieval") / "starter"
    found = sorted(file.name for file in folder.iterdir() if file.name.endswith(".jsonl")) if folder.is_dir() else []
    if not found:
        raise InputError("this installation of Overton lacks its starter pages: reinstall it")
    return tuple(page for name in found for page in read((folder / name).read_bytes()))


def starter_digest() -> str:
    """The digest of the starter pages, without indexing them."""
    return _collection_digest((page.url, _page_digest(page)) for page in _starter_pages())


@lru_cache(maxsize=1)
def starter_index() -> CollectionIndex:
    """The starter pages, indexed in memory once per process, which takes a fraction of a second."""
    return index_in_memory(_starter_pages())
