"""The only module that prints: results on standard output, everything else on standard error.

Names, replies, pages and errors are other people's texts, and a terminal obeys control characters in them. So all
output takes one of two ways. `guard` replaces the process's standard streams with streams that spell out control
characters, whether a text comes from Overton, the command-line parser, a library's warning or a traceback. The consoles
`results` and `notes` spell out control characters before they add colours and cursor movements of their own.
`tests/test_structure.py` checks that nothing else in Overton prints.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from overton.untrusted import visible, visible_json, visible_line

if TYPE_CHECKING:
    from rich.console import Console

    from overton.runs.trust import Confirm


_PIPED_WIDTH = 120
"""Width in characters of a table that goes to a file or another program."""


class EscapedStream(io.TextIOBase):
    """A text stream that spells out control characters and writes the result to the stream `beneath`.

    It has no `buffer`: bytes cannot bypass it.
    """

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath
        if isinstance(beneath, io.TextIOWrapper):
            beneath.reconfigure(errors="backslashreplace")  # a character that the encoding lacks must not cause a crash

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The underlying stream's encoding."""
        return self.beneath.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the underlying stream handles encoding errors."""
        return self.beneath.errors

    def write(self, text: str) -> int:
        """Write a text, made visible.

        Raises:
            TypeError: it is not a string.
        """
        if not isinstance(text, str):
            raise TypeError(f"expected str, not {type(text).__name__}")
        self.beneath.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Flush the underlying stream."""
        self.beneath.flush()

    def isatty(self) -> bool:
        """Whether the underlying stream is a terminal."""
        return self.beneath.isatty()

    def fileno(self) -> int:
        """The underlying stream's file descriptor."""
        return self.beneath.fileno()

    def writable(self) -> bool:
        """Always true."""
        return True


def guard() -> None:
    """Guard the standard streams, so that nothing written to them from now on acts on a terminal."""
    sys.stdout, sys.stderr = _guard_stream(sys.stdout), _guard_stream(sys.stderr)


def _guard_stream(stream: Any) -> Any:
    """The guarded stream; None if the process was started without this stream."""
    return stream if stream is None or isinstance(stream, EscapedStream) else EscapedStream(stream)


def results() -> Console:
    """Standard output: tables and paths, which a script would read."""
    return _console(sys.stdout, None if sys.stdout.isatty() else _PIPED_WIDTH)


def notes() -> Console:
    """Standard error: progress, warnings, errors."""
    return _console(sys.stderr, None)


def _console(stream: TextIO, width: int | None) -> Console:
    """A console on the underlying stream. It spells out control characters itself, and its own control codes must reach
    the terminal."""
    from overton.cli.console import EscapedConsole

    return EscapedConsole(stream.beneath if isinstance(stream, EscapedStream) else stream, width)


def say(text: str) -> None:
    """Print a sentence for the user on standard error, without wrapping."""
    notes().print(text, soft_wrap=True)


def answer(question: str) -> str:
    """The user's answer to a question on standard error; '' at the end of input."""
    sys.stderr.write(visible(question))
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def write(text: str) -> None:
    """Write a text to standard output, with control characters spelled out."""
    sys.stdout.write(visible(text))


def print_json(value: Any) -> None:
    """Print a value of plain types and structs as JSON, with control characters escaped in JSON's notation."""
    import msgspec

    from overton.reporting.cells import encoded

    json = value if isinstance(value, bytes) else encoded(value)
    formatted = msgspec.json.format(json, indent=2).decode()
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    write(visible_json(formatted, only_ascii=not unicode) + "\n")


def confirmation() -> Confirm | None:
    """A function that asks the user at the terminal; None without a terminal."""
    return _ask_for_trust if sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask_for_trust(place: Path, would: Sequence[str]) -> bool:
    what, who = ("folder", f"The run in {place}") if place.is_dir() else ("file", f"What {place} describes")
    say(visible_line(f"{who} would use things that this machine has not used before:"))
    for sentence in would:
        say(f"  {sentence}")
    say(f"The person who made or changed this {what} chose these things. Do you trust this person?")
    return answer("Continue? [y/N] ").lower() in ("y", "yes")
