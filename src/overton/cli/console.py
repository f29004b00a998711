"""The console that the module for terminal output uses. It is a separate module because importing it takes longer than
importing most of Overton."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from overton.untrusted import visible


class EscapedConsole(Console):
    """A console for other people's texts, which are never read as markup and cannot act on the terminal.

    Control characters are made visible before layout, so that tables keep their shape, and again after layout, before
    texts are coloured. Only the library rich moves the cursor.
    """

    def __init__(self, file: TextIO, width: int | None = None) -> None:
        super().__init__(file=file, width=width, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """A text as printed."""
        return super().render_str(visible(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of anything that rich can print."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(visible(piece.text), piece.style)
