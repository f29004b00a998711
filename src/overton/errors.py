"""Every error that Overton raises, as one class tree.

The command line maps them to its exit codes: `InputError` is 2 (no call was made, nothing was paid), `Stopped` is 4
(resumable), everything else is 1.
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
    """One thing wrong with some input: where it is, and why.

    `place` is a file, an option or a table; `key` what in it (a JSON key, a line, a column), or "".
    """

    place: str
    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.key}: {self.reason}" if self.key else f"{self.place}: {self.reason}"


def quoted(value: object, longest: int = 60) -> str:
    """An input value for a message: in quotation marks, control characters escaped, cut if it is long."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}...{text[0]}"


def list_names(names: Sequence[str], most: int, count: int = 0) -> str:
    """At most so many names for a message, and how many more there are: 'a, b and 7 more'.

    `count` is how many there are if `names` are only the first of them.
    """
    more = (count or len(names)) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one; '' if none is like it."""
    return next(iter(get_close_matches(word, list(known), n=1)), "")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The words "; did you mean '...'?" for a message about an unknown word; '' if no known word is like it."""
    near = nearest(word, known)
    return f"; did you mean '{near}'?" if near else ""


def reason_of(error: Exception) -> str:
    """The reason why a file cannot be read or written, for a message that names it: the system's, or ours."""
    if isinstance(error, Unreadable):
        return error.reason
    return (error.strerror if isinstance(error, OSError) else None) or str(error).partition("\n")[0]


def command(*words: str | Path) -> str:
    """An Overton command to copy into a shell: words that a shell would split or expand are quoted, and a path that
    looks like an option is marked as a path."""
    safe = (f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words)
    return shlex.join(["overton", *safe])


class Notice(UserWarning):
    """Something that the user should know but that stops nothing: a warning, shown as a sentence."""


class InputError(OvertonError):
    """Input that cannot be used. Raised before any call is made; lists every problem found, not only the first."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems = [Problem("input", "", problems)] if isinstance(problems, str) else list(dict.fromkeys(problems))
        super().__init__(problems if isinstance(problems, str) else "\n".join(str(p) for p in self.problems))

    def placed(self, word: Callable[[str], str]) -> Self:
        """This error with each place renamed by `word`, to the name that the interface in use gives it."""
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
    """Outside input that cannot be read as a value: `reason` continues its name ('is not UTF-8 ...').

    Callers that know which file, model or page it is raise an error of their own. `wrong_form` is True if it was read
    but is not what was expected, `too_large` if it exceeds a limit, `ends_early` if it is sound as far as it goes;
    `line`, `column` and `byte` say where, None if unknown; `place` is the path of a file.
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
    """An answerer did not answer. `kind` is a short stable word used in tables ('rate limit', 'timeout', ...).

    `maybe_billed` is True if the request may have been carried out although no reply was read (time-outs, dropped,
    truncated and endless replies).
    """

    def __init__(self, kind: str, message: str, *, maybe_billed: bool = False) -> None:
        self.kind = kind
        self.maybe_billed = maybe_billed
        super().__init__(message)


class UnavailableError(AnswerError):
    """Worth retrying: rate limits, server errors, time-outs, dropped connections, broken bodies.

    `retry_after` is the wait that the endpoint asked for, in seconds, if any; `elsewhere` says that another server of
    the model is available at once; `busy` that the endpoint refused the request for lack of capacity, as every rate
    limit does.
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
    """This one request will never be answered (too long, filtered, malformed): a permanent failure."""


class AccessError(AnswerError):
    """No request to this answerer can succeed (bad key, no permission, unknown model): the run stops at once."""


class CallFailed(OvertonError):
    """Raised by `ask` when a call has failed permanently. `failure` is the journal's entry."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}")


class StudyError(OvertonError):
    """The code of a study from another package failed, or returned a value that cannot be used.

    `study` names the study and its package, `call` the function of its declaration and its trial. `place` is a file and
    line of the package ('my_package/asking.py:41'), "" if unknown. `kept` is the file with the traceback, if any.
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
    """A chart would show a number outside its axis: a fault of the code that draws it, never of the data."""


class RunError(OvertonError):
    """A run folder cannot be used as requested."""


class RunExists(RunError, InputError):
    """The folder for a new run already exists; nothing is ever overwritten. `is_run` says that it contains a run."""

    def __init__(self, path: str, *, is_run: bool = True) -> None:
        go_on = f", or resume the run in it: {command('resume', Path(path))}" if is_run else ""
        InputError.__init__(self, f"{path} exists already: choose another --out{go_on}")


class RunLocked(RunError):
    """Another process is working on this run."""


class RunMismatch(RunError, InputError):
    """A run cannot continue because its calls would differ from those already made; says how."""


class UnreadableRun(RunError, InputError):
    """A folder is not a run, or a file in it is missing, damaged or of another version. Nothing was asked."""

    def __init__(self, message: str) -> None:
        InputError.__init__(self, message)


class JournalError(RunError):
    """The journal cannot be read or written."""


class DamagedJournal(JournalError, UnreadableRun):
    """The journal of a run that was to be opened is missing, damaged or of another version. Nothing was asked."""


class DiskError(JournalError):
    """The journal cannot be written because the disk is full or fails."""


class Stopped(OvertonError):
    """The run stopped before its end and can be resumed."""


class BatchRefused(Stopped):
    """A provider refused a batch, or ended it early: only an explicit request creates it again."""


class LimitReached(Stopped):
    """A limit would have been exceeded; `limit` says which: 'calls' or 'cost'."""

    def __init__(self, message: str, *, limit: Literal["calls", "cost"]) -> None:
        self.limit = limit
        super().__init__(message)
