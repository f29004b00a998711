"""What commands print, and the one door to the terminal: results on standard output, everything else on standard error.

Names, replies, pages and errors are other people's texts, and a terminal obeys what it reads. So there are two ways
out and no third. `guard` puts a stream in the place of each of the process's own that makes visible whatever anyone
writes to it: ourselves, the parser of the command line, warnings of libraries, the traceback of a mistake of ours. And
`results` and `notes` are consoles that do the same with texts before they add colours and movements of their own.
`tests/test_structure.py` holds that nothing else in Overton prints.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, TextIO

from overton.untrusted import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Guarded", "answer", "guard", "notes", "print_json", "results", "say", "write"]

_PIPED_WIDTH = 120
"""Columns of a table that goes to a file or another program, which has no width of its own."""


class Guarded(io.TextIOBase):
    """A stream of text on which nothing acts as a control: `beneath` gets what is written to it, made visible.

    It has no `buffer`: bytes find no way past.
    """

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath
        if isinstance(beneath, io.TextIOWrapper):
            beneath.reconfigure(errors="backslashreplace")  # a letter that its encoding lacks is no reason to end

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream beneath."""
        return self.beneath.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """That of the stream beneath."""
        return self.beneath.errors

    def write(self, text: str) -> int:
        """Write it, made visible.

        Raises:
            TypeError: it is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"a text is written here, not {type(text).__name__}")
        self.beneath.write(visible(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream beneath."""
        self.beneath.flush()

    def isatty(self) -> bool:
        """Whether the stream beneath is a terminal."""
        return self.beneath.isatty()

    def fileno(self) -> int:
        """That of the stream beneath."""
        return self.beneath.fileno()

    def writable(self) -> bool:
        """It is for writing."""
        return True


def guard() -> None:
    """From here to the end of the process, nothing that is written to a standard stream acts on a terminal."""
    sys.stdout, sys.stderr = _guarded(sys.stdout), _guarded(sys.stderr)


def _guarded(stream: Any) -> Any:
    """The stream behind the door; where a process was started without one, there is none."""
    return stream if stream is None or isinstance(stream, Guarded) else Guarded(stream)


def results() -> Console:
    """Standard output: tables and paths, what a script would read."""
    return _console(sys.stdout, None if sys.stdout.isatty() else _PIPED_WIDTH)


def notes() -> Console:
    """Standard error: progress, warnings, errors."""
    return _console(sys.stderr, None)


def _console(stream: TextIO, width: int | None) -> Console:
    """A console on the stream beneath: it makes visible what it is given, and its own controls have to act."""
    from overton.cli.console import VisibleConsole

    return VisibleConsole(stream.beneath if isinstance(stream, Guarded) else stream, width)


def say(text: str) -> None:
    """Print a sentence for the person, as it is."""
    notes().print(text, soft_wrap=True)


def answer(question: str) -> str:
    """What the person types who is asked on standard error; '' where there is no more input."""
    sys.stderr.write(visible(question))
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def write(text: str) -> None:
    """Write a text to standard output as it is, but for what would act on a terminal."""
    sys.stdout.write(visible(text))


def print_json(value: Any) -> None:
    """Print a value of plain types and structs as JSON; what would act on a terminal is escaped as JSON escapes it."""
    import msgspec

    from overton.reporting.text import encoded

    json = value if isinstance(value, bytes) else encoded(value)
    formatted = msgspec.json.format(json, indent=2).decode()
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    write(visible_json(formatted, only_ascii=not unicode) + "\n")
