"""Inspect logs as they lie on disk: what a log is of, and its samples, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from overton.errors import InputError, MissingExtra, Problem
from overton.hosts.inspect.layout import CALLS, FORMAT, KEY, CallData, SampleData, TaskData

__all__ = ["Log", "LoggedSample", "open_log"]

_AT_ONCE = 16
"""Samples read side by side, and so held in memory together."""
_UNREAD = {"messages", "events", "events_data", "attachments", "output"}
"""What of a sample is for people only."""

S = TypeVar("S", bound=msgspec.Struct)


@dataclass(frozen=True)
class LoggedSample:
    """A sample: what it asks, the calls that it made, and whether it came to its end."""

    id: str
    data: SampleData
    calls: Sequence[CallData]
    whole: bool


@dataclass(frozen=True)
class Log:
    """A log's head: what it is of, and the ids of the samples that were to be asked, in plan order."""

    path: Path
    task: TaskData
    created: str
    planned: tuple[str, ...]
    epochs: int

    def samples(self) -> Iterator[LoggedSample]:
        """The first epoch's samples that the log holds, in plan order, but for those that somebody invalidated.

        Raises:
            InputError: a sample is damaged, or not one of ours.
        """
        for sample in _samples(self.path, self.planned):
            if sample.invalidation is None:
                yield self._read(sample)

    def _read(self, sample: Any) -> LoggedSample:
        where = f"sample {sample.id}"
        data = self._struct(sample.metadata.get(KEY), SampleData, where)
        calls = self._struct(sample.store.get(CALLS, []), list[CallData], where)
        return LoggedSample(str(sample.id), data, calls, whole=sample.error is None and bool(sample.scores))

    def _struct(self, value: Any, kind: Any, where: str) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise InputError(
                [Problem(str(self.path), where, f"is damaged or no sample of Overton's: {error}")]
            ) from None


def open_log(path: Path) -> Log:
    """Read a log's head.

    Raises:
        InputError: it is no log, none of a task of Overton's, or one of a newer Overton.
        MissingExtra: Inspect AI is not installed.
    """
    head = _head(path)
    held = (head.eval.metadata or {}).get(KEY)
    if not isinstance(held, dict):
        reason = f"is a log of the task {head.eval.task!r}, which is none of Overton's: it does not say what was asked"
        raise InputError([Problem(str(path), "", reason)])
    if held.get("format") != FORMAT:
        reason = f"has format {held.get('format')!r} of Overton {held.get('overton')!r}; this version reads {FORMAT}"
        raise InputError([Problem(str(path), "", reason)])
    try:
        task = msgspec.convert(held, TaskData)
    except msgspec.ValidationError as error:
        raise InputError([Problem(str(path), KEY, f"its metadata is damaged: {error}")]) from None
    planned = tuple(map(str, head.eval.dataset.sample_ids or ()))
    return Log(path, task, str(head.eval.created), planned, head.eval.config.epochs or 1)


def _head(path: Path) -> Any:
    if not path.is_file():
        raise InputError([Problem(str(path), "", "there is no such file")])
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise MissingExtra("reading Inspect logs", "inspect") from None
    try:
        return read_eval_log(path, header_only=True)
    except Exception as error:
        raise _unreadable(path, error) from error


def _samples(path: Path, planned: Sequence[str]) -> Iterator[Any]:
    """Samples of the first epoch. A JSON log is read whole, as Inspect has it; an .eval log a few samples at a time."""
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries, read_eval_log_samples_by_id

    try:
        if path.suffix == ".json":
            held = {str(sample.id): sample for sample in read_eval_log(path).samples or () if sample.epoch == 1}
            yield from (held[name] for name in planned if name in held)
            return
        there = {str(one.id): one.id for one in read_eval_log_sample_summaries(path) if one.epoch == 1}
        wanted = [(there[name], 1) for name in planned if name in there]
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            yield from read_eval_log_samples_by_id(path, some, exclude_fields=_UNREAD)
    except InputError:
        raise
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    said = " ".join(str(error).split())[:200] or type(error).__name__
    return InputError([Problem(str(path), "", f"cannot be read as an Inspect log: {said}")])
