"""Inspect logs on disk: what a log is about, and its samples, one at a time.

Logs may come from anyone. Only what a run consists of is taken from them, and none of it is trusted: Inspect's own
reader, which loads everything, is not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from overton.errors import InputError, Problem, Unreadable, quoted, reason_of
from overton.hosts.inspect.layout import CALLS, FORMAT, KEY, CallData, SampleData, TaskData
from overton.hosts.inspect.privates import HEADER, START, member_of
from overton.untrusted import Limit, Zip, converted, decode_json, read_bytes

__all__ = ["Log", "LoggedSample", "open_log"]

_LARGEST = 200_000_000
"""The most bytes of a JSON log; in an archive only members have a limit."""

_MEMBER = Limit(100_000_000)
"""The most bytes of an archive's member, decompressed. A sample of ours takes a few hundred kilobytes."""

_STRING_OR_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\\.|(?P<nan>-?(?:NaN|Infinity))', re.DOTALL)
"""Strings are matched so that the words in them stay; an escape outside of one, so that no byte is matched twice."""

T = TypeVar("T")


class _Dataset(msgspec.Struct):
    sample_ids: list[str | int] | None = None


class _Config(msgspec.Struct):
    epochs: int | None = None


class _Spec(msgspec.Struct):
    task: str
    created: str
    dataset: _Dataset
    config: _Config
    metadata: dict[str, Any] | None = None


class _Head(msgspec.Struct):
    """What is read of a log's head; the rest is only for display."""

    eval: _Spec


class _Sample(msgspec.Struct):
    """What is read of a sample."""

    id: str | int
    epoch: int
    metadata: dict[str, Any] = {}
    store: dict[str, Any] = {}
    scores: dict[str, Any] | None = None
    error: Any = None
    invalidation: Any = None


class _Whole(msgspec.Struct):
    """The samples of a log that is one JSON document."""

    samples: list[_Sample] | None = None


_head = msgspec.json.Decoder(_Head).decode
_sample = msgspec.json.Decoder(_Sample).decode
_whole = msgspec.json.Decoder(_Whole).decode


@dataclass(frozen=True)
class LoggedSample:
    """A sample: what it asks, the calls it made, and whether it finished."""

    id: str
    data: SampleData
    calls: Sequence[CallData]
    whole: bool


@dataclass(frozen=True)
class Log:
    """A log's head: what it is about, and the ids of the planned samples, in plan order."""

    path: Path
    task: TaskData
    created: str
    planned: tuple[str, ...]
    epochs: int

    def samples(self) -> Iterator[LoggedSample]:
        """The first epoch's samples in the log, in plan order, except invalidated ones.

        Raises:
            InputError: a sample is damaged, or not one of ours.
        """
        with _troubles_named(self.path):
            for sample in _samples(self.path, self.planned):
                if sample.invalidation is None:
                    yield self._read(sample)

    def _read(self, sample: _Sample) -> LoggedSample:
        where = f"sample {sample.id}"
        data = self._made(sample.metadata.get(KEY), SampleData, where)
        calls = self._made(sample.store.get(CALLS, []), list[CallData], where)
        return LoggedSample(str(sample.id), data, calls, whole=sample.error is None and bool(sample.scores))

    def _made(self, value: Any, kind: type[T], where: str) -> T:
        try:
            return converted(value, kind)
        except Unreadable as error:
            reason = f"is damaged or not a sample of Overton's: {error.reason}"
            raise InputError([Problem(str(self.path), where, reason)]) from None


def open_log(path: Path) -> Log:
    """Read a log's head.

    Raises:
        InputError: it is not a log, not of an Overton task, or of a newer Overton.
    """
    with _troubles_named(path):
        spec = _head_of(path).eval
    data = (spec.metadata or {}).get(KEY)
    if not isinstance(data, dict):
        reason = f"is a log of the task {quoted(spec.task)}, not of one of Overton's: it does not record what was asked"
        raise InputError([Problem(str(path), "", reason)])
    if data.get("format") != FORMAT:
        made, by = quoted(data.get("format")), quoted(data.get("overton"))
        raise InputError([Problem(str(path), "", f"has format {made} of Overton {by}; this version reads {FORMAT}")])
    try:
        task, created = converted(data, TaskData), _utc(spec.created)
    except (Unreadable, ValueError, OverflowError) as error:
        raise InputError([Problem(str(path), KEY, f"its metadata is damaged: {error}")]) from None
    planned = tuple(map(str, spec.dataset.sample_ids or ()))
    return Log(path, task, created, planned, spec.config.epochs or 1)


def _utc(text: str) -> str:
    """A time in ISO 8601, in UTC; one without a zone is taken to be UTC."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _head_of(path: Path) -> _Head:
    if not path.is_file():
        raise InputError([Problem(str(path), "", "there is no such file")])
    if path.suffix == ".json":
        return _decoded(read_bytes(path.resolve(), _LARGEST), _head)
    with Zip(path, _MEMBER) as archive:
        for name in (HEADER, START):  # an unfinished log has only the head written at its start
            if (content := archive.read(name)) is not None:
                return _in_member(name, content, _head)
    raise Unreadable(f"contains no {HEADER}")


def _samples(path: Path, planned: Sequence[str]) -> Iterator[_Sample]:
    """Samples of the first epoch. A JSON log is read whole; an .eval log one sample at a time."""
    if path.suffix == ".json":
        found = _decoded(read_bytes(path.resolve(), _LARGEST), _whole).samples or ()
        by_id = {str(sample.id): sample for sample in found if sample.epoch == 1}
        yield from (by_id[name] for name in planned if name in by_id)
        return
    with Zip(path, _MEMBER) as archive:
        for name in planned:
            member = member_of(name, 1)
            if (content := archive.read(member)) is None:
                continue
            sample = _in_member(member, content, _sample)
            if (str(sample.id), sample.epoch) != (name, 1):
                raise Unreadable("contains a sample other than its name says", place=member)
            yield sample


def _in_member(name: str, content: bytes, decode: Callable[[Any], T]) -> T:
    try:
        return _decoded(content, decode)
    except Unreadable as error:
        raise Unreadable(error.reason, place=name) from None


def _decoded(content: bytes, decode: Callable[[Any], T]) -> T:
    """JSON as Inspect writes it: 'NaN' and 'Infinity' may occur in parts not read here."""
    try:
        return decode_json(content, decode)
    except Unreadable:
        if b"NaN" not in content and b"Infinity" not in content:
            raise
        return decode_json(_without_nan(content), decode)


def _without_nan(content: bytes) -> bytes:
    """The JSON with null for 'NaN' and 'Infinity'. Python's reader, which knows them, needs thirty times the memory."""
    made, done = bytearray(), 0
    for found in _STRING_OR_NAN.finditer(content):
        if found["nan"]:
            made += content[done : found.start()] + b"null"
            done = found.end()
    return bytes(made + content[done:])


@contextmanager
def _troubles_named(path: Path) -> Iterator[None]:
    try:
        yield
    except Unreadable as error:
        where = "" if error.place == str(path.resolve()) else error.place
        raise InputError([Problem(str(path), where, f"cannot be read as an Inspect log: {error.reason}")]) from None
    except OSError as error:
        reason = f"cannot be read as an Inspect log: {reason_of(error)}"
        raise InputError([Problem(str(path), "", reason)]) from error
