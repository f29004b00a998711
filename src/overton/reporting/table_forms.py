"""Writing tables as Markdown or LaTeX, with every text escaped."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from overton.untrusted import visible_line

_Row = Sequence[str]


class TableForm(NamedTuple):
    """A table format: the escape of each special character, a template for a superscript, and a function that writes a
    table. The function takes escaped texts, and a flag for each column that is right-aligned."""

    escapes: dict[int, str]
    raised: str
    write: Callable[[str, _Row, Sequence[bool], Sequence[_Row], str], str]

    def escape(self, text: str) -> str:
        """The text on one line, escaped so that it contains no markup."""
        return visible_line(text).translate(self.escapes)


def _markdown(title: str, headings: _Row, right: Sequence[bool], rows: Sequence[_Row], notes: str) -> str:
    head, *below = (f"| {' | '.join(row)} |\n" for row in [headings, *rows])
    rule = "|".join("--:" if side else "---" for side in right)
    return f"**{title}**\n\n{head}|{rule}|\n{''.join(below)}" + (f"\nNote: {notes}\n" if notes else "")


def _latex(title: str, headings: _Row, right: Sequence[bool], rows: Sequence[_Row], notes: str) -> str:
    head, *below = (" & ".join(row) + " \\\\\n" for row in [headings, *rows])
    sides, notes = "".join("r" if side else "l" for side in right), notes and f"\\par\\footnotesize {notes}\n"
    body = f"\\begin{{tabular}}{{{sides}}}\n\\hline\n{head}\\hline\n{''.join(below)}\\hline\n\\end{{tabular}}\n{notes}"
    return f"\\begin{{table}}\n\\caption{{{title}}}\n{body}\\end{{table}}\n"


_IN_MARKDOWN = {ord(sign): f"\\{sign}" for sign in "\\`*_[]<>|~&$#"}
_IN_LATEX = {ord(sign): f"\\{sign}" for sign in "{}$&#_%"} | {
    **{ord(sign): rf"\text{name}{{}}" for sign, name in zip("<>|", ("less", "greater", "bar"), strict=True)},
    **{ord("\\"): r"\textbackslash{}", ord("~"): r"\textasciitilde{}", ord("^"): r"\textasciicircum{}"},
    **{0x5B: "{[}", 0x5D: "{]}"},  # a bracket after a row's end would be that row's optional argument
    **{0x2212: "$-$", 0x2013: "--"},
}
FORMS = {
    "markdown": TableForm(_IN_MARKDOWN, "<sup>{}</sup>", _markdown),
    "latex": TableForm(_IN_LATEX, r"\textsuperscript{{{}}}", _latex),
}
