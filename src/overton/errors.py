"""Every error that Overton raises, in one tree.

The command line turns them into its exit codes: `InputError` is 2 (nothing was asked, nothing was paid),
`Stopped` is 4 (resumable), everything else is 1.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

__all__ = [
    "AccessError",
    "AnswerError",
    "CallFailed",
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
    "UnavailableError",
    "Unreadable",
    "command",
    "quoted",
    "reason_of",
]


class OvertonError(Exception):
    """Base of all errors raised on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with some input: where it is, and why.

    `place` is a file, an option or a table; `key` what inside it (a JSON key, a line, a column), or "".
    """

    place: str
    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.key}: {self.reason}" if self.key else f"{self.place}: {self.reason}"


def quoted(value: object, longest: int = 60) -> str:
    """A value of the input for a message: in quotation marks, control characters escaped, cut where it is long."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}...{text[0]}"


def reason_of(error: Exception) -> str:
    """Why a file cannot be read or written, for a message that names it: what the system says, or what is wrong."""
    if isinstance(error, Unreadable):
        return error.reason
    return (error.strerror if isinstance(error, OSError) else None) or str(error).partition("\n")[0]


def command(*words: str | Path) -> str:
    """A command of Overton's for a person to copy into a shell: what a shell would take for more than a word is quoted,
    and a path that begins as an option does is told from one."""
    told = (f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words)
    return shlex.join(["overton", *told])


class Notice(UserWarning):
    """Something that a person should know and that stops nothing; a warning, shown as a sentence."""


class InputError(OvertonError):
    """Input that cannot be used. Raised before any call is made; holds every problem found, not only the first."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems = [Problem("input", "", problems)] if isinstance(problems, str) else list(problems)
        super().__init__(problems if isinstance(problems, str) else "\n".join(str(p) for p in self.problems))

    def placed(self, word: Callable[[str], str]) -> Self:
        """This error with each problem's place as `word` gives it: how a surface calls what it was given."""
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
    """Something from outside that makes no value: `reason` reads after its name ('is not UTF-8 ...').

    Whoever knows of which file, model or page it speaks says so in an error of its own. `wrong_form` is True where it
    was read and is something else than wanted, `too_large` where it passes a limit, `ends_early` where it is well as
    far as it goes; `line`, `column` and `byte` say where, None if nobody knows; `place` is the path of a file.
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

    `maybe_billed` is True where the request may have been carried out although no reply was read (time-outs, dropped,
    truncated and endless replies).
    """

    def __init__(self, kind: str, message: str, *, maybe_billed: bool = False) -> None:
        self.kind = kind
        self.maybe_billed = maybe_billed
        super().__init__(message)


class UnavailableError(AnswerError):
    """Worth asking again: rate limits, server errors, time-outs, dropped connections, broken bodies.

    `retry_after` is the endpoint's own wish in seconds, if it gave one; `elsewhere` that another server of the model is
    there to be asked at once.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry_after: float | None = None,
        maybe_billed: bool = False,
        elsewhere: bool = False,
    ) -> None:
        self.retry_after = retry_after
        self.elsewhere = elsewhere
        super().__init__(kind, message, maybe_billed=maybe_billed)


class RejectedError(AnswerError):
    """This one request will never be answered (too long, filtered, malformed): a failure for good."""


class AccessError(AnswerError):
    """No request of this answerer can succeed (bad key, no permission, unknown model): the run stops at once."""


class CallFailed(OvertonError):
    """Raised by `ask` when a call failed for good. `failure` is what the journal holds."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message
        super().__init__(f"{kind}: {message}")


class RunError(OvertonError):
    """A run folder cannot be used as asked."""


class RunExists(RunError, InputError):
    """The folder for a new run exists already; nothing is ever written over. `is_run` says that it is a run's."""

    def __init__(self, path: str, *, is_run: bool = True) -> None:
        go_on = f", or go on with it: {command('resume', Path(path))}" if is_run else ""
        InputError.__init__(self, f"{path} exists already: name another --out{go_on}")


class RunLocked(RunError):
    """Another process is working on this run."""


class RunMismatch(RunError, InputError):
    """A run cannot go on because what would be asked differs from what was asked; says what differs."""


class JournalError(RunError):
    """The journal cannot be read or written."""


class Stopped(OvertonError):
    """The run was stopped before its end and can be resumed."""


class LimitReached(Stopped):
    """A limit would have been passed; `limit` says which: 'calls' or 'cost'."""

    def __init__(self, message: str, *, limit: Literal["calls", "cost"]) -> None:
        self.limit = limit
        super().__init__(message)
