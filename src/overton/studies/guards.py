"""Guards around the code of other packages' studies: whatever it raises becomes one error that names its own line.

Only this file catches everything, because a package may raise anything: a panic of a Rust library, a pytest skip and
`SystemExit` do not derive from `Exception`. An interrupt by the user, a cancellation by the event loop and Overton's
own errors pass. Prints go to standard error, because standard output carries the results that other programs read.
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
"""Most values that are taken from what a function yields, so that an endless generator ends in an error."""

Check = Callable[[Any], Any]
"""Returns a value as the caller wants it, or raises `WrongValue`."""


class WrongValue(Exception):
    """A value of a type that cannot be used; the message continues 'it returned'."""


class _StandardError(io.TextIOBase):
    """A stand-in for standard output, so that what a study prints cannot get between results."""

    def write(self, text: str) -> int:
        """Write to standard error, made visible."""
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
    """Tell the user's Ctrl-C from a KeyboardInterrupt that the code raises: only the former comes as a signal.

    If the process has a handler of its own (as in an event loop), that one stays.
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
    """Runs code of one study: `study` names it for messages, `package` is the top-level module that it is in."""

    study: str
    package: str = ""

    @contextmanager
    def running(self, call: str, function: object = None) -> Iterator[None]:
        """Run the study's code in the block; `call` says what is called, `function` is it.

        Raises:
            StudyError: it raised anything but an error of Overton's or the user's interrupt.
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
        """The error for what the study's code raised."""
        said = visible_line(str(error)).strip()[:_MAX_REASON_CHARACTERS]
        if isinstance(error, WrongValue):
            reason = f"it returned {said}"
        elif isinstance(error, CallFailed):
            reason = f"it does not handle a call that failed ({said}); use ask_until_read, or catch CallFailed"
        else:
            reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
        return StudyError(self.study, call, self._raised_at(error) or self._defined_at(function), reason)

    def _raised_at(self, error: BaseException) -> str:
        """The innermost line of the package that the error came through, '' if there is none."""
        found = ""
        for frame, line in traceback.walk_tb(error.__traceback__):
            module = str(frame.f_globals.get("__name__", ""))
            if self.package and module.partition(".")[0] == self.package:
                found = _location(module, frame.f_code.co_filename, line)
        return found

    def _defined_at(self, function: object) -> str:
        """Where a function of the package is defined, '' if that is unknown or elsewhere."""
        function = getattr(function, "func", function)  # of a functools.partial
        code = getattr(function, "__code__", None) or getattr(getattr(function, "__call__", None), "__code__", None)  # noqa: B004 (not a test: the method's code is wanted)
        module = str(getattr(function, "__module__", ""))
        if code is None or module.partition(".")[0] != self.package:
            return ""
        return _location(module, code.co_filename, code.co_firstlineno)


def _location(module: str, file: str, line: int) -> str:
    """A file and line as seen from the folder in which the package is: 'my_package/asking.py:41'."""
    parts = file.replace("\\", "/").split("/")
    depth = module.count(".") + 1 + (parts[-1] == "__init__.py")
    return f"{'/'.join(parts[-depth:])}:{line}"


@dataclass(frozen=True)
class GuardedCall:
    """A function of a study, guarded. `called` is its place in the declaration; `check` looks at what it returns."""

    guard: Guard
    called: str
    __wrapped__: Callable[..., Any]
    check: Check

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Call it.

        Raises:
            StudyError: it failed, or returned a value that cannot be used.
        """
        call = _name_call(self.called, given)
        with self.guard.running(call, self.__wrapped__):
            return self.check(self.__wrapped__(*given, **named))


@dataclass(frozen=True)
class GuardedIteration(GuardedCall):
    """A function that yields many values, guarded at each step: they are never all in memory."""

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
    """An async function of a study, guarded."""

    async def __call__(self, *given: Any, **named: Any) -> Any:
        """Call it and wait for the result.

        Raises:
            StudyError: see `GuardedCall`; also if it does not handle a call that failed.
            OvertonError: anything else that `ask` raised.
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
    """An awaitable of a study, guarded step by step.

    An exception that the event loop throws into it passes, such as a cancellation. Any other is the study's own error,
    even if it looks the same.
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
        """Take the next step with an exception from outside."""
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
        # A cancellation that was thrown in may come out as another object, having passed through other tasks.
        return isinstance(error, asyncio.CancelledError) and any(
            isinstance(thrown, asyncio.CancelledError) for thrown in self._thrown
        )


class GuardedAnswerer:
    """A simulated answerer of a study, guarded."""

    def __init__(self, guard: Guard, made: Any) -> None:
        self._guard = guard
        self._answerer = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answerer, name)

    async def answer(self, request: Request) -> Reply:
        """See `Answerer`.

        Raises:
            StudyError: it raised anything else than an `AnswerError`, or did not return a reply.
        """
        call = f"the simulated answerer {self._answerer.name}"
        found = await _Steps(self._guard, call, self._answerer.answer(request), type(self._answerer))
        with self._guard.running(call, type(self._answerer).answer):
            if not isinstance(found, Reply):
                raise WrongValue(f"{kind_of_value(found)}, but must return a Reply")
        return found


def take_one(kind: type[Any] | tuple[type[Any], ...]) -> Check:
    """Take a value of these types."""

    def check(found: Any) -> Any:
        if not isinstance(found, kind):
            raise WrongValue(f"{kind_of_value(found)}, but must return {_type_names(kind)}")
        return found

    return check


def _type_names(kind: type[Any] | tuple[type[Any], ...]) -> str:
    return kind.__name__ if isinstance(kind, type) else " or ".join(member.__name__ for member in kind)


def take_many(kind: type[Any] | tuple[type[Any], ...]) -> Check:
    """Take a bounded number of values of these types from what a function returns, as a list."""

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
