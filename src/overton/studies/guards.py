"""Guards around the code of other packages' studies. They turn anything that this code raises into one error, which
names the line of the code.

Only this file catches all exceptions, including those that do not derive from `Exception`. Examples are `SystemExit`, a
pytest skip and a panic of a Rust library. An interrupt by the user, a cancellation by the event loop and Overton's own
errors are raised unchanged. Prints go to standard error, because standard output carries results for other programs.
"""

from __future__ import annotations

import asyncio
import io
import signal
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

from overton.calls import Reply, Request, Trial
from overton.errors import CallFailed, OvertonError, StudyError
from overton.untrusted import visible, visible_line

_MAX_REASON_CHARACTERS = 300
_MAX_VALUES = 100_000
"""The largest number of values that a function may yield. An endless generator therefore ends in an error."""

Check = Callable[[Any], Any]
"""A function that returns a value as its caller needs it, or raises `WrongValue`."""


class WrongValue(Exception):
    """An error for a value that cannot be used. Its message continues the words 'it returned'."""


class _StandardError(io.TextIOBase):
    """A replacement for standard output, which keeps the prints of a study out of the results."""

    def write(self, text: str) -> int:
        """Write to standard error, with control characters made visible."""
        with suppress(AttributeError):  # a process can be started without standard error
            sys.stderr.write(visible(text))
        return len(text)

    def writable(self) -> bool:
        return True


_STANDARD_ERROR = _StandardError()
_interrupts = 0


def _note_interrupt(number: int, frame: object) -> None:
    """Count Ctrl-C, then interrupt as Python does."""
    global _interrupts  # noqa: PLW0603 (a signal handler has nowhere else to write)
    _interrupts += 1
    raise KeyboardInterrupt


@contextmanager
def _count_interrupts() -> Iterator[None]:
    """Distinguish the user's Ctrl-C from a KeyboardInterrupt that the code raises: only Ctrl-C comes as a signal.

    If the process has its own signal handler (as in an event loop), this handler stays.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _note_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Guard:
    """A guard that runs the code of one study. `study` is its name in messages, and `package` its top-level module."""

    study: str
    package: str = ""

    @contextmanager
    def running(self, call: str, function: object = None) -> Iterator[None]:
        """Run the study's code in the block. `function` is the function called, and `call` describes the call.

        Raises:
            StudyError: the code raised anything except an Overton error or an interrupt by the user.
        """
        before = _interrupts
        try:
            with _count_interrupts(), redirect_stdout(_STANDARD_ERROR):
                yield
        except CallFailed as error:
            raise self.error(call, error, function) from error
        except OvertonError:
            raise
        except BaseException as error:
            if _interrupts > before:
                raise KeyboardInterrupt from error
            raise self.error(call, error, function) from error

    def error(self, call: str, error: BaseException, function: object = None) -> StudyError:
        """Make the error for an exception that the study's code raised."""
        said = visible_line(str(error)).strip()[:_MAX_REASON_CHARACTERS]
        if isinstance(error, WrongValue):
            reason = f"it returned {said}"
        elif isinstance(error, CallFailed):
            reason = f"it does not handle a call that failed ({said}); use ask_until_read, or catch CallFailed"
        else:
            reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
        return StudyError(self.study, call, self._raised_at(error) or self._defined_at(function), reason)

    def _raised_at(self, error: BaseException) -> str:
        """The innermost line of the package in the error's traceback, '' if the traceback has no line of the
        package."""
        found = ""
        for frame, line in traceback.walk_tb(error.__traceback__):
            module = str(frame.f_globals.get("__name__", ""))
            if self.package and module.partition(".")[0] == self.package:
                found = _location(module, frame.f_code.co_filename, line)
        return found

    def _defined_at(self, function: object) -> str:
        """The line that defines a function of the package, '' if it is unknown or outside the package."""
        function = getattr(function, "func", function)  # the function in a functools.partial
        code = getattr(function, "__code__", None) or getattr(getattr(function, "__call__", None), "__code__", None)  # noqa: B004 (not a test: the method's code is wanted)
        module = str(getattr(function, "__module__", ""))
        if code is None or module.partition(".")[0] != self.package:
            return ""
        return _location(module, code.co_filename, code.co_firstlineno)


def _location(module: str, file: str, line: int) -> str:
    """A file and line, relative to the folder that contains the package: 'my_package/asking.py:41'."""
    parts = file.replace("\\", "/").split("/")
    depth = module.count(".") + 1 + (parts[-1] == "__init__.py")
    return f"{'/'.join(parts[-depth:])}:{line}"


@dataclass(frozen=True)
class GuardedCall:
    """A guarded function of a study. `called` is its name in messages, and `check` checks its return value."""

    guard: Guard
    called: str
    __wrapped__: Callable[..., Any]
    check: Check

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function.

        Raises: StudyError: the function failed, or returned a value that cannot be used.
        """
        call = _name_call(self.called, given)
        with self.guard.running(call, self.__wrapped__):
            return self.check(self.__wrapped__(*given, **named))


@dataclass(frozen=True)
class GuardedIteration(GuardedCall):
    """A guarded function that yields many values. Each step has its own guard, so the values need not all be in
    memory."""

    def __call__(self, *given: Any, **named: Any) -> Iterator[Any]:
        """Yield the values, each checked.

        Raises:
            StudyError: see `GuardedCall`.
        """
        call, end = f"{self.called}()", object()
        with self.guard.running(call, self.__wrapped__):
            values = _iterator(self.__wrapped__(*given, **named))
        while True:
            with self.guard.running(call, self.__wrapped__):
                value = next(values, end)
                if value is end:
                    break
                value = self.check(value)
            yield value


@dataclass(frozen=True)
class GuardedAsync(GuardedCall):
    """A guarded async function of a study."""

    async def __call__(self, *given: Any, **named: Any) -> Any:
        """Call the function and wait for its result.

        Raises:
            StudyError: see `GuardedCall`; or the function does not handle a failed call.
            OvertonError: `ask` raised another error.
        """
        call = _name_call(self.called, given)
        with self.guard.running(call, self.__wrapped__):
            started = self.__wrapped__(*given, **named)
            if not isinstance(started, Awaitable):
                raise WrongValue(f"{kind_of_value(started)}, but must be an async function")
        found = await _Steps(self.guard, call, started, self.__wrapped__)
        with self.guard.running(call, self.__wrapped__):
            return self.check(found)


class _Steps:
    """An awaitable of a study, with a guard around each step.

    Exceptions that the event loop throws into it, such as a cancellation, are passed on. So are Overton's own errors,
    except CallFailed. Any other exception counts as an error of the study, even a cancellation that the event loop did
    not throw.
    """

    def __init__(self, guard: Guard, call: str, started: Awaitable[Any], function: object) -> None:
        self._guard = guard
        self._call = call
        self._function = function
        self._steps: Any = started.__await__()
        self._thrown: list[BaseException] = []

    def __await__(self) -> _Steps:
        return self

    __iter__ = __await__

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        return self._step(self._steps.send, value)

    def throw(self, *thrown: Any) -> Any:
        """Take the next step, which starts with an exception from outside."""
        self._thrown += [error for error in thrown if isinstance(error, BaseException)]
        return self._step(self._steps.throw, *thrown)

    def close(self) -> None:
        self._steps.close()

    def _step(self, step: Callable[..., Any], *given: Any) -> Any:
        ended: StopIteration | None = None
        with redirect_stdout(_STANDARD_ERROR):
            try:
                return step(*given)
            except StopIteration as end:
                ended = end
            except BaseException as error:
                if self._is_passed_on(error):
                    raise
                raise self._guard.error(self._call, error, self._function) from error
        raise ended

    def _is_passed_on(self, error: BaseException) -> bool:
        if isinstance(error, CallFailed):
            return False
        if isinstance(error, OvertonError) or any(error is thrown for thrown in self._thrown):
            return True
        # After passing through other tasks, a cancellation may be another object than the one thrown in.
        return isinstance(error, asyncio.CancelledError) and any(
            isinstance(thrown, asyncio.CancelledError) for thrown in self._thrown
        )


class GuardedAnswerer:
    """A guarded simulated model or service of a study."""

    def __init__(self, guard: Guard, made: Any) -> None:
        self._guard = guard
        self._answerer = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answerer, name)

    async def answer(self, request: Request) -> Reply:
        """See `Answerer`.

        Raises:
            StudyError: the code raised anything except an `AnswerError`, or did not return a reply.
        """
        call = f"the simulated answerer {self._answerer.name}"
        found = await _Steps(self._guard, call, self._answerer.answer(request), type(self._answerer))
        with self._guard.running(call, type(self._answerer).answer):
            if not isinstance(found, Reply):
                raise WrongValue(f"{kind_of_value(found)}, but must return a Reply")
        return found


def take_one(kind: type[Any] | tuple[type[Any], ...]) -> Check:
    """Make a check that accepts a value of these types."""

    def check(found: Any) -> Any:
        if not isinstance(found, kind):
            raise WrongValue(f"{kind_of_value(found)}, but must return {_type_names(kind)}")
        return found

    return check


def _type_names(kind: type[Any] | tuple[type[Any], ...]) -> str:
    return kind.__name__ if isinstance(kind, type) else " or ".join(member.__name__ for member in kind)


def take_many(kind: type[Any] | tuple[type[Any], ...]) -> Check:
    """Make a check that collects the returned values in a list. The values must have the type `kind`, and their number
    is limited."""

    def check(found: Any) -> list[Any]:
        made = []
        for value in _iterator(found):
            if not isinstance(value, kind):
                raise WrongValue(f"{kind_of_value(value)} among others, but they must be of type {_type_names(kind)}")
            made.append(value)
            if len(made) > _MAX_VALUES:
                raise WrongValue(f"more than {_MAX_VALUES:,} values")
        return made

    return check


def _iterator(found: Any) -> Iterator[Any]:
    if isinstance(found, str | bytes | Mapping) or not hasattr(found, "__iter__"):
        raise WrongValue(f"{kind_of_value(found)}, but must return a sequence")
    return iter(found)


def kind_of_value(value: object) -> str:
    """A value's type, for a message."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _name_call(called: str, given: Sequence[Any]) -> str:
    trial = given[0] if given and isinstance(given[0], Trial) else None
    return f"{called}()" if trial is None else f"{called}() in trial {visible_line(str(trial.name))!r}"
