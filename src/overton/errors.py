"""Every error that Overton raises, as one class tree.

The command line maps Overton's errors to exit codes. `InputError` has code 2: no call was made, so nothing was paid.
`Stopped` has code 4: the run can be resumed. Every other error has code 1.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Self

__all__ = [
    "AccessError",
    "AnswerError",
    "BatchRefused",
    "CallFailed",
    "ChartError",
    "DamagedJournal",
    "DiskError",
    "InputError",
    "JournalError",
    "LimitReached",
    "MissingExtra",
    "Notice",
    "OvertonError",
    "Problem",
    "RejectedError",
    "RunError",
    "RunExists",
    "RunLocked",
    "RunMismatch",
    "Stopped",
    "StudyError",
    "UnavailableError",
    "UnreadReplies",
    "Unreadable",
    "UnreadableRun",
    "command",
    "list_names",
    "nearest",
    "quoted",
    "reason_of",
    "suggestion",
]


class OvertonError(Exception):
    """Base of all errors raised on purpose."""


@dataclass(frozen=True)
class Problem:
    """A problem with some input: where it is, and why.

    `place` is a file, an option or a table. `key` is the location in that place (a JSON key, a line, a column), or "".
    """

    place: str
    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.key}: {self.reason}" if self.key else f"{self.place}: {self.reason}"


def quoted(value: object, longest: int = 60) -> str:
    """An input value for a message: in quotation marks, with control characters escaped, and shortened if it is
    long."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}...{text[0]}"


def list_names(names: Sequence[str], most: int, count: int = 0) -> str:
    """At most `most` names for a message, and the number of the remaining names: 'a, b and 7 more'.

    If `names` has only the first names of a longer list, `count` is the length of that list.
    """
    more = (count or len(names)) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most similar to `word`; '' if none is similar."""
    return next(iter(get_close_matches(word, list(known), n=1)), "")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: "; did you mean '...'?". It is '' if no known word is similar."""
    near = nearest(word, known)
    return f"; did you mean '{near}'?" if near else ""


def reason_of(error: Exception) -> str:
    """The reason why a file cannot be read or written, in the words of the operating system or of Overton. The message
    must name the file."""
    if isinstance(error, Unreadable):
        return error.reason
    return (error.strerror if isinstance(error, OSError) else None) or str(error).partition("\n")[0]


def command(*words: str | Path) -> str:
    """An Overton command to copy into a shell. Words that a shell would split or expand are quoted, and a path that
    looks like an option is marked as a path."""
    safe = (f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words)
    return shlex.join(["overton", *safe])


class Notice(UserWarning):
    """A warning for the user, shown as a sentence. The command continues."""


class InputError(OvertonError):
    """Input that cannot be used. Raised before any call is made. It lists every problem found, not only the first."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems = [Problem("input", "", problems)] if isinstance(problems, str) else list(dict.fromkeys(problems))
        super().__init__(problems if isinstance(problems, str) else "\n".join(str(p) for p in self.problems))

    def placed(self, word: Callable[[str], str]) -> Self:
        """Replace each problem's place by `word(place)`, the place's name on the command line or in Python. Return this
        error."""
        changed = [replace(problem, place=word(problem.place)) for problem in self.problems]
        if changed != self.problems:
            self.problems = changed
            self.args = ("\n".join(str(problem) for problem in changed),)
        return self


class MissingExtra(InputError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the optional part '{extra}': pip install 'overton[{extra}]'")


class Unreadable(OvertonError):
    """Outside input that cannot be read as a value. In a message, `reason` follows the input's name ('is not UTF-8
    ...').

    Callers that know the source of the input (a file, model or page) raise a more specific error. `wrong_form` is True
    if the input was read but has an unexpected form. `too_large` is True if the input exceeds a limit, and `ends_early`
    if it is truncated but otherwise valid. `line`, `column` and `byte` locate the error, None if unknown. `place` is
    the path of a file.
    """

    def __init__(
        self,
        reason: str,
        *,
        wrong_form: bool = False,
        too_large: bool = False,
        ends_early: bool = False,
        line: int | None = None,
        column: int | None = None,
        byte: int | None = None,
        place: str = "",
    ) -> None:
        self.reason = reason
        self.wrong_form = wrong_form
        self.too_large = too_large
        self.ends_early = ends_early
        self.line = line
        self.column = column
        self.byte = byte
        self.place = place
        super().__init__(f"{place}: {reason}" if place else reason)


class AnswerError(OvertonError):
    """A model or service did not answer. `kind` is a short stable word used in tables ('rate limit', 'timeout', ...).

    `maybe_billed` is True if the provider may have charged for the request although no reply was read (time-outs,
    dropped, truncated and endless replies).
    """

    def __init__(self, kind: str, message: str, *, maybe_billed: bool = False) -> None:
        self.kind = kind
        self.maybe_billed = maybe_billed
        super().__init__(message)


class UnavailableError(AnswerError):
    """An error after which a retry may succeed: rate limit, server error, time-out, dropped connection, incomplete
    body.

    `retry_after` is the wait in seconds that the endpoint requested, None if it requested no wait. `elsewhere` is True
    if another server of the model is available at once. `busy` is True if the endpoint refused the request for lack of
    capacity, as with every rate limit.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry_after: float | None = None,
        maybe_billed: bool = False,
        elsewhere: bool = False,
        busy: bool = False,
    ) -> None:
        self.retry_after = retry_after
        self.elsewhere = elsewhere
        self.busy = busy or kind == "rate limit"
        super().__init__(kind, message, maybe_billed=maybe_billed)


class RejectedError(AnswerError):
    """A permanent failure: the model or service will never answer this request (too long, filtered, malformed)."""


class AccessError(AnswerError):
    """An error that affects all requests to a model or service (bad key, no permission, unknown model). The run stops
    at once."""


class CallFailed(OvertonError):
    """Raised by `ask` when a call has failed permanently. `failure` is the journal's entry."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}")


class StudyError(OvertonError):
    """The code of a study from another package failed, or returned a value that cannot be used.

    `study` names the study and its package. `call` names the failed function of the study's declaration, and the trial.
    `place` is a file and line of the package ('my_package/asking.py:41'), "" if unknown. `kept` is the file with the
    traceback, if any.
    """

    def __init__(self, study: str, call: str, place: str, reason: str, *, kept: Path | None = None) -> None:
        self.study, self.call, self.place, self.reason, self.kept = study, call, place, reason, kept
        at = f" at {place}" if place else ""
        traceback = f" (traceback: {kept})" if kept else ""
        super().__init__(f"study {study}: {call} failed{at}: {reason}{traceback}")

    def kept_in(self, file: Path) -> StudyError:
        """The same error, which also names the file with its traceback."""
        return StudyError(self.study, self.call, self.place, self.reason, kept=file)


class ChartError(OvertonError):
    """A chart would show a number outside its axis. The error is in the code that draws the chart, never in the
    data."""


class RunError(OvertonError):
    """A run folder cannot be used as requested."""


class RunExists(RunError, InputError):
    """The folder for a new run already exists, and Overton overwrites nothing. `is_run` is True if the folder contains
    a run."""

    def __init__(self, path: str, *, is_run: bool = True) -> None:
        go_on = f", or resume the run in it: {command('resume', Path(path))}" if is_run else ""
        InputError.__init__(self, f"{path} exists already: choose another --out{go_on}")


class RunLocked(RunError):
    """Another process is working on this run."""


class RunMismatch(RunError, InputError):
    """A run cannot continue because its calls would differ from those already made. The message names the
    difference."""


class UnreadableRun(RunError, InputError):
    """A folder is not a run, or a file of the run is missing, damaged or of another version. No request was sent."""

    def __init__(self, message: str) -> None:
        InputError.__init__(self, message)


class JournalError(RunError):
    """The journal cannot be read or written."""


class DamagedJournal(JournalError, UnreadableRun):
    """The journal of a run is missing, damaged or of another version. No request was sent."""


class DiskError(JournalError):
    """The journal cannot be written because the disk is full or fails."""


class Stopped(OvertonError):
    """The run stopped before its end and can be resumed."""


class BatchRefused(Stopped):
    """A provider refused a batch or ended it early. Overton creates the batch again only at the user's explicit
    request."""


class UnreadReplies(Stopped):
    """Fewer than half of a model's first replies could be read. The run continues only at the user's explicit
    request."""


class LimitReached(Stopped):
    """The next request would exceed a limit. `limit` names it: 'calls' or 'cost'."""

    def __init__(self, message: str, *, limit: Literal["calls", "cost"]) -> None:
        self.limit = limit
        super().__init__(message)
