"""A streaming reader of forum dumps.

The input is untrusted. So only the required fields are decoded, lines and nesting have limits, and unreadable lines are
counted and skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from overton.errors import InputError, Problem, Unreadable, reason_of
from overton.studies.forum import Comment, Post
from overton.untrusted import Limit, decode_json, inflated, zstandard_inflated

_MAX_DEPTH = 200
"""The most levels of nested things. A reply adds two levels, and pages show at most ten levels of replies."""

_DOCUMENT_START = re.compile(rb'\s*(?:\[|\{\s*"(?:kind|data)"\s*:)')


class _Thing(msgspec.Struct, frozen=True):
    kind: str | None = None
    data: msgspec.Raw = msgspec.Raw()  # with a union of Raw and None, msgspec would never return Raw


class _Listing(msgspec.Struct, frozen=True):
    children: list[msgspec.Raw] = []


class _CommentLine(msgspec.Struct, frozen=True):
    replies: msgspec.Raw = msgspec.Raw()


_decode_thing = msgspec.json.Decoder(_Thing).decode
_decode_listing = msgspec.json.Decoder(_Listing).decode
_decode_comment = msgspec.json.Decoder(_CommentLine).decode
_decode_members = msgspec.json.Decoder(list[msgspec.Raw]).decode


def is_document(begin: bytes) -> bool:
    """Whether a file that begins with these bytes is an API response, and not a dump. A dump begins with the fields of
    a post or comment."""
    return _DOCUMENT_START.match(begin) is not None


def things(document: bytes) -> Iterator[tuple[str, bytes | memoryview] | Unreadable]:
    """Yield each thing (post or comment) of a document, in order, with its kind: 't3' for a post, 't1' for a comment,
    '' if unknown.

    A response may be a listing or a list of listings (as for a page of comments), with replies nested in comments.
    Bare objects in a list or under 'data', as in other archives, are also accepted. For an unreadable object, the error
    is yielded.
    """
    waiting: list[tuple[int, bytes | memoryview]] = [(0, document)]
    while waiting:
        depth, value = waiting.pop()
        try:
            if depth > _MAX_DEPTH:
                raise Unreadable("is nested too deeply")
            kind, data, inner = _split_value(value)
        except Unreadable as error:
            yield error
            continue
        if data is not None:
            yield kind, data
        waiting += [(depth + 1, memoryview(member)) for member in reversed(inner)]


def _split_value(value: bytes | memoryview) -> tuple[str, bytes | memoryview | None, list[msgspec.Raw]]:
    """The kind of a value, its data (None if it is not a thing), and its inner values that may be things or contain
    things."""
    if _first_character(value) == b"[":
        return "", None, decode_json(value, _decode_members)
    thing = decode_json(value, _decode_thing)
    data = memoryview(thing.data)
    if not data:
        return ("", value, []) if thing.kind is None else ("", None, [])
    if thing.kind == "Listing":
        return "", None, decode_json(data, _decode_listing).children
    if thing.kind is None:
        return "", None, [thing.data]
    return thing.kind, data, _replies(data) if thing.kind == "t1" else []


def _replies(data: memoryview) -> list[msgspec.Raw]:
    replies = decode_json(data, _decode_comment).replies
    return [replies] if _first_character(memoryview(replies)) == b"{" else []


def _first_character(value: bytes | memoryview) -> bytes:
    return bytes(value[:64]).lstrip()[:1]


BLOCK = 1 << 18
"""The most bytes of a block."""

_PIECE_BYTES = 1 << 14
"""The number of compressed bytes to unpack at a time."""

_LIMIT = Limit(1 << 44, ratio=400, free=1 << 26)
"""The limit on expansion. Dumps of tens of gigabytes become ten or twenty times as large when unpacked. A decompression
bomb becomes at least a thousand times as large."""

_GZIP_WINDOW = 31
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Damaged(Exception):
    """The compressed data ends early, is invalid, or expands far too much. The data before that point is usable."""


def unpack(path: Path) -> Iterator[bytes]:
    """The content of a file in blocks of at most `BLOCK` bytes. The first bytes tell whether the file is uncompressed,
    zstandard or gzip.

    Raises:
        InputError: the file cannot be opened, or is packed in another format.
        Damaged: the compressed data is damaged; raised after the last good block.
    """
    try:
        with path.open("rb") as file:
            yield from _equal_blocks(_open_unpacked(file, path))
    except OSError as error:
        raise InputError([Problem(str(path), "", f"cannot be read: {reason_of(error)}")]) from error


def _open_unpacked(file: BinaryIO, path: Path) -> Iterator[bytes]:
    begin = file.read(6)
    for magic, unpacked in _UNPACKERS:
        if begin.startswith(magic):
            return unpacked(chain([begin], iter(lambda: file.read(_PIECE_BYTES), b"")))
    for magic, name in _UNSUPPORTED:
        if begin.startswith(magic):
            reason = f"is packed with {name}; unpack it first, because only zstandard and gzip are supported"
            raise InputError([Problem(str(path), "", reason)])
    return chain([begin.removeprefix(_BYTE_ORDER_MARK)], iter(lambda: file.read(BLOCK), b""))


def _equal_blocks(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of equal size. Bytes before damaged data are yielded before the error is raised."""
    buffered: list[bytes] = []
    size = 0
    try:
        for part in parts:
            buffered.append(part)
            size += len(part)
            if size >= BLOCK:
                yield from _cut_blocks(buffered)
                size = 0
    except Damaged:
        yield from _cut_blocks(buffered)
        raise
    yield from _cut_blocks(buffered)


def _cut_blocks(buffered: list[bytes]) -> Iterator[bytes]:
    data = b"".join(buffered)
    buffered.clear()
    for start in range(0, len(data), BLOCK):
        yield data[start : start + BLOCK]


def _unpack_zstandard(pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from zstandard_inflated(pieces, _LIMIT)
    except Unreadable as error:
        raise Damaged(f"the zstandard data {_damage_text(error)}") from error


def _unpack_gzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from inflated(pieces, _GZIP_WINDOW, _LIMIT)
    except Unreadable as error:
        raise Damaged(f"the gzip data {_damage_text(error)}") from error


def _damage_text(error: Unreadable) -> str:
    return error.reason.removeprefix("its compressed data ")


_UNPACKERS: list[tuple[bytes, Callable[[Iterator[bytes]], Iterator[bytes]]]] = [
    (b"\x28\xb5\x2f\xfd", _unpack_zstandard),
    (b"\x1f\x8b", _unpack_gzip),
    *((bytes([0x50 + number, 0x2A, 0x4D, 0x18]), _unpack_zstandard) for number in range(16)),  # skippable frames
]
_UNSUPPORTED = [(b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"PK\x03\x04", "zip"), (b"7z\xbc\xaf", "7z")]


def whole_lines(blocks: Iterable[bytes], longest: int, skip: Callable[[int], None]) -> Iterator[tuple[int, bytes]]:
    """Rearrange blocks so that each block ends with a complete line. Yield each block with the number of its first line
    (from 1).

    A line of more than about `longest` bytes is left out and never stored, and `skip` is called with the line's number.
    Only the last block may end without a line break.
    """
    number, buffered, size = 1, list[bytes](), 0
    for block in blocks:
        first = block.find(b"\n") + 1
        if not first:
            size += len(block)
            buffered = [*buffered, block] if size <= longest else []
            continue
        if size > longest:
            skip(number)
            number, block = number + 1, block[first:]  # noqa: PLW2901
        last = block.rfind(b"\n") + 1
        if last:
            whole = b"".join([*buffered, block[:last]])
            yield number, whole
            number += whole.count(b"\n")
        buffered, size = ([block[last:]], len(block) - last) if last < len(block) else ([], 0)
    if size > longest:
        skip(number)
    elif buffered:
        yield number, b"".join(buffered)


_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode

LONGEST_LINE = 1 << 24
"""The maximum length of the JSON of a post or comment, in bytes. Longer lines are skipped."""

LONGEST_DOCUMENT = 1 << 26
"""The most bytes of an API response."""

_NOT_JSON = "not JSON"
_WRONG_TYPE = "a field is missing or of the wrong type"

T = TypeVar("T", Post, Comment)


def read_posts(
    paths: Path | Sequence[Path], *, community: str | None = None, tally: ReadCounts | None = None
) -> Iterator[Post]:
    """The posts in NDJSON dumps (plain, zstandard or gzip) or in saved responses of the API, in file order.

    With `community`, such as 'AmItheAsshole', only posts of this community are returned; case is ignored. Unreadable
    lines are counted in `tally` and skipped. Objects in API responses that are not posts are ignored.

    Raises:
        InputError: a file cannot be read, or none contains a post.
    """
    return _read_records(_as_list(paths), _RecordKind(Post, "t3", "post", community), tally or ReadCounts())


def read_comments(
    paths: Path | Sequence[Path], *, community: str | None = None, tally: ReadCounts | None = None
) -> Iterator[Comment]:
    """The comments in NDJSON dumps or saved responses of the API, including replies nested in responses. See
    `read_posts`."""
    return _read_records(_as_list(paths), _RecordKind(Comment, "t1", "comment", community), tally or ReadCounts())


class _RecordKind(Generic[T]):
    """The kind of things to return, posts or comments, and their decoders."""

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


def _as_list(paths: Path | Sequence[Path]) -> Sequence[Path]:
    return [paths] if isinstance(paths, Path) else paths


def _read_records(paths: Sequence[Path], kind: _RecordKind[T], tally: ReadCounts) -> Iterator[T]:
    before = tally.records
    for path in paths:
        for records in _read_file(path, kind, tally):
            wanted = kind.wanted(records)
            tally.records += len(wanted)
            yield from wanted
    if tally.records == before:
        raise InputError([Problem(", ".join(map(str, paths)), "", _why_nothing(kind, tally))])


def _why_nothing(kind: _RecordKind[T], tally: ReadCounts) -> str:
    found = "".join(f"; {skipped}" for skipped in tally.skipped.values())
    hint = "; are posts and comments swapped?" if _WRONG_TYPE in tally.skipped else ""
    return f"there is no {kind.name}{kind.shown} in {tally.lines:,} lines{found}{hint}"


def _read_file(path: Path, kind: _RecordKind[T], tally: ReadCounts) -> Iterator[list[T]]:
    blocks = _count_bytes(path, tally)
    begin = list(islice(blocks, 1))
    blocks = chain(begin, blocks)
    if begin and is_document(begin[0]):
        return _decode_documents(_count_lines(blocks, LONGEST_DOCUMENT, path, tally), path, kind, tally)
    return _decode_dump(_count_lines(blocks, LONGEST_LINE, path, tally), path, kind, tally)


def _count_bytes(path: Path, tally: ReadCounts) -> Iterator[bytes]:
    try:
        for block in unpack(path):
            tally.bytes += len(block)
            yield block
    except Damaged as damage:
        tally.skip(f"{damage}, the rest of the file is lost", f"{path.name} after line {tally.lines:,}")


def _count_lines(blocks: Iterable[bytes], longest: int, path: Path, tally: ReadCounts) -> Iterator[tuple[int, bytes]]:
    def skip(number: int) -> None:
        tally.lines += 1
        tally.skip(f"longer than {longest:,} bytes", f"{path.name} line {number:,}")

    for number, block in whole_lines(blocks, longest, skip):
        tally.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        yield number, block


def _decode_dump(
    lines: Iterable[tuple[int, bytes]], path: Path, kind: _RecordKind[T], tally: ReadCounts
) -> Iterator[list[T]]:
    """Decode lines a block at a time. If a block fails, its lines are decoded one by one."""
    for number, block in lines:
        try:
            yield decode_json(block, kind.decoder.decode_lines)
        except Unreadable:
            yield list(_decode_lines(number, block, path, kind, tally))


def _decode_lines(number: int, block: bytes, path: Path, kind: _RecordKind[T], tally: ReadCounts) -> Iterator[T]:
    lines = block.split(b"\n")
    for offset, line in enumerate(lines):
        if line and not line.isspace():
            try:
                yield decode_json(line, kind.decoder.decode)
            except Unreadable as error:
                cut = offset == len(lines) - 1 and _countable_reason(error) == _NOT_JSON
                tally.skip(
                    "cut off at the end" if cut else _countable_reason(error), f"{path.name} line {number + offset:,}"
                )


def _decode_documents(
    lines: Iterator[tuple[int, bytes]], path: Path, kind: _RecordKind[T], tally: ReadCounts
) -> Iterator[list[T]]:
    """Decode one document per line. If the first line alone is not JSON, the whole file is decoded as one document, if
    possible."""
    buffered = list(islice(lines, 1))
    if buffered and _is_json(buffered[0][1].split(b"\n", 1)[0]):
        yield from _decode_document_lines(chain(buffered, lines), path, kind, tally)
        return
    size = sum(len(block) for _, block in buffered)
    while size <= LONGEST_DOCUMENT and (more := next(lines, None)):
        buffered.append(more)
        size += len(more[1])
    document = b"".join(block for _, block in buffered) if size <= LONGEST_DOCUMENT else b""
    if document and _is_json(document):
        yield list(_decode_document(document, path.name, kind, tally))
    else:
        yield from _decode_document_lines(chain(buffered, lines), path, kind, tally)


def _decode_document_lines(
    lines: Iterable[tuple[int, bytes]], path: Path, kind: _RecordKind[T], tally: ReadCounts
) -> Iterator[list[T]]:
    for number, block in lines:
        for offset, line in enumerate(block.split(b"\n")):
            if line and not line.isspace():
                yield list(_decode_document(line, f"{path.name} line {number + offset:,}", kind, tally))


def _is_json(text: bytes) -> bool:
    try:
        decode_json(text, _decode_raw)
    except Unreadable:
        return False
    return True


def _decode_document(document: bytes, place: str, kind: _RecordKind[T], tally: ReadCounts) -> Iterator[T]:
    for thing in things(document):
        if isinstance(thing, Unreadable):
            tally.skip(_countable_reason(thing), place)
        elif thing[0] in (kind.thing, ""):
            try:
                yield decode_json(thing[1], kind.decoder.decode)
            except Unreadable as error:
                tally.skip(_countable_reason(error), place)


def _countable_reason(error: Unreadable) -> str:
    """The reason why something cannot be read, reduced to a few kinds, so that reasons can be counted."""
    if error.wrong_form:
        return _WRONG_TYPE
    known = ("is not UTF-8", "is nested too deeply")
    return next((reason.removeprefix("is ") for reason in known if error.reason.startswith(reason)), _NOT_JSON)


_MAX_NAMED_PLACES = 5


@dataclass
class Skipped:
    """The number of lines skipped for one reason, and the locations of the first five."""

    reason: str
    count: int = 0
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.first) else ""
        return f"{self.count:,} skipped: {self.reason} ({', '.join(self.first)}{more})"


@dataclass
class ReadCounts:
    """Counts that grow while files are read.

    `bytes` and `lines` count the decompressed text, and `records` the posts or comments that were returned.
    """

    bytes: int = 0
    lines: int = 0
    records: int = 0
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def skip(self, reason: str, place: str) -> None:
        """Count one thing that could not be read."""
        skipped = self.skipped.setdefault(reason, Skipped(reason))
        skipped.count += 1
        if len(skipped.first) < _MAX_NAMED_PLACES:
            skipped.first.append(place)

    @property
    def lost(self) -> int:
        """The number of skipped things, for all reasons together."""
        return sum(skipped.count for skipped in self.skipped.values())


def notes_on(tallies: tuple[ReadCounts, ReadCounts]) -> Iterator[str]:
    """Sentences on how many posts and comments were read from dumps, and why others were skipped."""
    for what, tally in zip(("posts", "comments"), tallies, strict=True):
        yield f"{what}: {tally.records:,} read of {tally.lines:,} lines"
        yield from (f"{what}: {skipped}" for skipped in tally.skipped.values())
