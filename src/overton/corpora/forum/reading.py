"""Posts and comments from files, one after another, whatever the files' size, and a tally of what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from overton.corpora.forum.documents import is_document, things
from overton.corpora.forum.unpacking import Damaged, unpack, whole_lines
from overton.errors import InputError, Problem, Unreadable
from overton.studies.forum import Comment, Post
from overton.untrusted import decode_json

__all__ = ["Tally", "notes_on", "read_comments", "read_posts"]

_RAW = msgspec.json.Decoder(msgspec.Raw).decode

LONGEST_LINE = 1 << 24
"""A post or a comment is at most this many bytes of JSON; longer lines are skipped."""

LONGEST_DOCUMENT = 1 << 26
"""A response of the API is at most this many bytes."""

_NOT_JSON = "not JSON"
_WRONG_TYPE = "a field is missing or of the wrong type"

T = TypeVar("T", Post, Comment)


def read_posts(
    paths: Path | Sequence[Path], *, community: str | None = None, tally: Tally | None = None
) -> Iterator[Post]:
    """The posts in NDJSON dumps (plain, zstandard or gzip) or in saved responses of the API, in file order.

    `community` keeps those of one community ('AmItheAsshole', in any case). Unreadable lines are counted in `tally` and
    skipped; other things in responses of the API are ignored.

    Raises:
        InputError: a file cannot be read, or none contains a post.
    """
    return _read(_listed(paths), _Kind(Post, "t3", "post", community), tally or Tally())


def read_comments(
    paths: Path | Sequence[Path], *, community: str | None = None, tally: Tally | None = None
) -> Iterator[Comment]:
    """The comments in the same kinds of files, including replies nested in responses of the API. See `read_posts`."""
    return _read(_listed(paths), _Kind(Comment, "t1", "comment", community), tally or Tally())


class _Kind(Generic[T]):
    """Which things are wanted, and how they are decoded."""

    def __init__(self, type_: type[T], thing: str, name: str, community: str | None) -> None:
        self.name = name
        self.thing = thing
        self.community = None if community is None else community.removeprefix("r/").casefold()
        self.shown = "" if community is None else f" of {community}"
        self.decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type_)

    def wanted(self, records: list[T]) -> list[T]:
        if self.community is None:
            return records
        return [record for record in records if (record.subreddit or "").casefold() == self.community]


def _listed(paths: Path | Sequence[Path]) -> Sequence[Path]:
    return [paths] if isinstance(paths, Path) else paths


def _read(paths: Sequence[Path], kind: _Kind[T], tally: Tally) -> Iterator[T]:
    before = tally.records
    for path in paths:
        for records in _of_file(path, kind, tally):
            wanted = kind.wanted(records)
            tally.records += len(wanted)
            yield from wanted
    if tally.records == before:
        raise InputError([Problem(", ".join(map(str, paths)), "", _nothing(kind, tally))])


def _nothing(kind: _Kind[T], tally: Tally) -> str:
    found = "".join(f"; {skipped}" for skipped in tally.skipped.values())
    hint = "; are posts and comments swapped?" if _WRONG_TYPE in tally.skipped else ""
    return f"there is no {kind.name}{kind.shown} in {tally.lines:,} lines{found}{hint}"


def _of_file(path: Path, kind: _Kind[T], tally: Tally) -> Iterator[list[T]]:
    blocks = _counted(path, tally)
    begin = list(islice(blocks, 1))
    blocks = chain(begin, blocks)
    if begin and is_document(begin[0]):
        return _of_documents(_lines(blocks, LONGEST_DOCUMENT, path, tally), path, kind, tally)
    return _of_dump(_lines(blocks, LONGEST_LINE, path, tally), path, kind, tally)


def _counted(path: Path, tally: Tally) -> Iterator[bytes]:
    try:
        for block in unpack(path):
            tally.bytes += len(block)
            yield block
    except Damaged as damage:
        tally.skip(f"{damage}, the rest of the file is lost", f"{path.name} after line {tally.lines:,}")


def _lines(blocks: Iterable[bytes], longest: int, path: Path, tally: Tally) -> Iterator[tuple[int, bytes]]:
    def skip(number: int) -> None:
        tally.lines += 1
        tally.skip(f"longer than {longest:,} bytes", f"{path.name} line {number:,}")

    for number, block in whole_lines(blocks, longest, skip):
        tally.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        yield number, block


def _of_dump(lines: Iterable[tuple[int, bytes]], path: Path, kind: _Kind[T], tally: Tally) -> Iterator[list[T]]:
    """Lines decoded a block at a time, or one by one if that fails."""
    for number, block in lines:
        try:
            yield decode_json(block, kind.decoder.decode_lines)
        except Unreadable:
            yield list(_one_by_one(number, block, path, kind, tally))


def _one_by_one(number: int, block: bytes, path: Path, kind: _Kind[T], tally: Tally) -> Iterator[T]:
    lines = block.split(b"\n")
    for offset, line in enumerate(lines):
        if line and not line.isspace():
            try:
                yield decode_json(line, kind.decoder.decode)
            except Unreadable as error:
                cut = offset == len(lines) - 1 and _reason(error) == _NOT_JSON
                tally.skip("cut off at the end" if cut else _reason(error), f"{path.name} line {number + offset:,}")


def _of_documents(lines: Iterator[tuple[int, bytes]], path: Path, kind: _Kind[T], tally: Tally) -> Iterator[list[T]]:
    """One document per line; or, if the first line is not JSON by itself, the whole file as one, if that is JSON."""
    buffered = list(islice(lines, 1))
    if buffered and _is_json(buffered[0][1].split(b"\n", 1)[0]):
        yield from _of_document_lines(chain(buffered, lines), path, kind, tally)
        return
    size = sum(len(block) for _, block in buffered)
    while size <= LONGEST_DOCUMENT and (more := next(lines, None)):
        buffered.append(more)
        size += len(more[1])
    document = b"".join(block for _, block in buffered) if size <= LONGEST_DOCUMENT else b""
    if document and _is_json(document):
        yield list(_of_document(document, path.name, kind, tally))
    else:
        yield from _of_document_lines(chain(buffered, lines), path, kind, tally)


def _of_document_lines(
    lines: Iterable[tuple[int, bytes]], path: Path, kind: _Kind[T], tally: Tally
) -> Iterator[list[T]]:
    for number, block in lines:
        for offset, line in enumerate(block.split(b"\n")):
            if line and not line.isspace():
                yield list(_of_document(line, f"{path.name} line {number + offset:,}", kind, tally))


def _is_json(text: bytes) -> bool:
    try:
        decode_json(text, _RAW)
    except Unreadable:
        return False
    return True


def _of_document(document: bytes, place: str, kind: _Kind[T], tally: Tally) -> Iterator[T]:
    for thing in things(document):
        if isinstance(thing, Unreadable):
            tally.skip(_reason(thing), place)
        elif thing[0] in (kind.thing, ""):
            try:
                yield decode_json(thing[1], kind.decoder.decode)
            except Unreadable as error:
                tally.skip(_reason(error), place)


def _reason(error: Unreadable) -> str:
    """Why something cannot be read, as one of a few countable reasons."""
    if error.wrong_form:
        return _WRONG_TYPE
    known = ("is not UTF-8", "is nested too deeply")
    return next((reason.removeprefix("is ") for reason in known if error.reason.startswith(reason)), _NOT_JSON)


_PLACES_NAMED = 5


@dataclass
class Skipped:
    """How many lines were skipped for one reason, and the places of the first five."""

    reason: str
    count: int = 0
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.first) else ""
        return f"{self.count:,} skipped: {self.reason} ({', '.join(self.first)}{more})"


@dataclass
class Tally:
    """Counts of one reading; they grow during it.

    `bytes` and `lines` are those of the unpacked text, `records` the posts or comments returned.
    """

    bytes: int = 0
    lines: int = 0
    records: int = 0
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def skip(self, reason: str, place: str) -> None:
        """Count one thing that could not be read."""
        skipped = self.skipped.setdefault(reason, Skipped(reason))
        skipped.count += 1
        if len(skipped.first) < _PLACES_NAMED:
            skipped.first.append(place)

    @property
    def lost(self) -> int:
        """How many things were skipped, for all reasons together."""
        return sum(one.count for one in self.skipped.values())


def notes_on(tallies: tuple[Tally, Tally]) -> Iterator[str]:
    """How much of the posts' and comments' dumps was read, and why the rest was not."""
    for what, tally in zip(("posts", "comments"), tallies, strict=True):
        yield f"{what}: {tally.records:,} read of {tally.lines:,} lines"
        yield from (f"{what}: {skipped}" for skipped in tally.skipped.values())
