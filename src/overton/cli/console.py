"""The console behind the door to the terminal, in a file of its own: loading it takes longer than most of Overton."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from overton.untrusted import visible

__all__ = ["VisibleConsole"]


class VisibleConsole(Console):
    """A console for texts of others: none of it is markup, and nothing in it acts on the terminal.

    Words become visible before they are laid out, so that tables keep their shape; and whatever is laid out, by
    whatever means, is looked through once more before it gets its colours. What moves the cursor is rich's own.
    """

    def __init__(self, file: TextIO, width: int | None = None) -> None:
        super().__init__(file=file, width=width, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """A text as it is printed."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of anything that rich can print."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(visible(piece.text), piece.style)
