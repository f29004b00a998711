"""Recomputing published numbers: from a publication's tables to its numbers next to ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from overton.errors import InputError, Problem
from overton.files.atomic import write_atomic
from overton.files.tables import open_table, table_files
from overton.studies.document import SCHEMA
from overton.studies.documentation import table
from overton.studies.registry import asking_names, study_named
from overton.studies.reproduction import PublishedNumber, Reproduction
from overton.untrusted import visible_line

_FEW = 100
"""The maximum number of numbers that a page shows in full. With more numbers, it shows only those that differ."""


@dataclass(frozen=True)
class Reproductions:
    """A publication's numbers next to those computed here, in the order of its tables.

    `left_out` are the files of a folder that have none of its numbers.
    """

    study: str
    publication: Reproduction
    numbers: tuple[PublishedNumber, ...]
    left_out: tuple[str, ...] = ()

    @property
    def compared(self) -> list[PublishedNumber]:
        """The numbers that were published."""
        return [number for number in self.numbers if number.published is not None]

    @property
    def same(self) -> bool:
        """Whether every computed number rounds to the published number, or differs from it for a known reason."""
        return not any(number.unexplained for number in self.compared)

    @property
    def by_model(self) -> dict[str, tuple[int, int]]:
        """For each model, how many numbers are reproduced, and how many are published. Numbers that belong to no model
        come last."""
        names = sorted({number.model for number in self.compared}, key=lambda name: (not name, name))
        of = {name: [number for number in self.compared if number.model == name] for name in names}
        return {name: (sum(bool(number.same) for number in own), len(own)) for name, own in of.items()}

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        numbers = [
            {"what": number.what, "published": number.published, "computed": number.computed, "same": number.same}
            | {name: value for name in ("model", "where", "reason") if (value := getattr(number, name))}
            for number in self.numbers
        ]
        publication = self.publication
        return {
            "schema": SCHEMA,
            "study": self.study,
            "publication": publication.name,
            "title": publication.title,
            "source": publication.source,
            "same": self.same,
            "numbers": numbers,
        }

    def markdown(self, *, every: bool = False) -> str:
        """The page in Markdown, with every number and whether it is the same.

        If there are more than 100 numbers, the page shows only those that differ. With `every`, it shows all numbers.
        """
        shown = [number for number in self.numbers if every or len(self.numbers) <= _FEW or not number.same]
        placed = any(number.where for number in shown)
        rows = [
            (
                _cell(number.what),
                *((_cell(number.where),) if placed else ()),
                _format_number(number.published, number.digits),
                _format_number(number.computed, number.digits),
                _say_same(number),
            )
            for number in shown
        ]
        own = self.publication
        head = ("number", *(("where",) if placed else ()), "published", "computed here", "the same?")
        parts = [f"## {own.title}", f"{self._verdict()} Source: {own.source}.", *self._say_left_out(), self._models()]
        parts += [table(head, rows) if rows else "Every number is the same."]
        return "\n\n".join(filter(None, parts)) + "\n"

    def _verdict(self) -> str:
        compared = self.compared
        if not compared:
            return "Overton has no published numbers for these tables, so there is nothing to compare."
        same = sum(bool(number.same) for number in compared)
        explained = len([number for number in compared if number.same is False and number.reason])
        verdict = f"**{same} of {len(compared)} published numbers are reproduced** to their last digit."
        said = "differs" if explained == 1 else "differ"
        return f"{verdict} {explained} {said} for the reason given." if explained else verdict

    def _say_left_out(self) -> list[str]:
        names = ", ".join(_cell(name) for name in self.left_out)
        return [f"Left out, because no number here comes from them: {names}."] if names else []

    def _models(self) -> str:
        """A table of reproduced numbers by model; '' unless there are several models."""
        found = self.by_model
        if len(found) < 2 or not any(found):
            return ""
        rows = [(_cell(name) or "of several models", str(same), str(count)) for name, (same, count) in found.items()]
        return table(("model", "reproduced", "of"), rows)

    def write(self, out: str | Path) -> Path:
        """Write the page with every number, whole or not at all.

        Raises:
            RunError: it cannot be written.
        """
        return write_atomic(Path(out), [self.markdown(every=True).encode()])


_SAME_WORDS = {True: "yes", False: "**no**", None: "none published"}


def _say_same(number: PublishedNumber) -> str:
    if number.same and not number.exact:
        return "yes, within the rounding of the others"
    reason = f": {_cell(number.reason)}" if number.same is False and number.reason else ""
    return f"{_SAME_WORDS[number.same]}{reason}"


def _cell(text: str) -> str:
    """A text with HTML escaped, because Markdown interprets HTML."""
    return escape(visible_line(text), quote=False)


def _format_number(number: float | None, digits: int) -> str:
    return "" if number is None else f"{number:.{digits}f}"


def publications() -> dict[str, tuple[str, Reproduction]]:
    """The publications that can be reproduced, by name, with their study."""
    return {
        reproduction.name: (study, reproduction)
        for study in asking_names()
        for reproduction in _declared_reproductions(study)
    }


def _declared_reproductions(name: str) -> Iterator[Reproduction]:
    """A study's reproductions; empty if the study cannot be used. The reason is given when the user names that
    study."""
    try:
        measuring = study_named(name).measuring
    except InputError:
        return
    if measuring is not None:
        yield from measuring.reproductions


def reproduce(publication: str, *files: str | Path) -> Reproductions:
    """Recompute the numbers of a publication from the tables published with it: files, folders of files, or a clone of
    the repository that has the tables. Without tables, recompute those printed numbers that follow from other printed
    numbers.

    Example: `overton.reproduce("millstone", "gpt-4o.csv").same`.

    Raises:
        InputError: the publication is unknown, tables are missing or cannot be used, or the publication has no tables
            but some were given.
    """
    known = publications()
    if publication not in known:
        reason = f"no such publication; known are {', '.join(known) or 'none'}"
        raise InputError([Problem("publication", publication, reason)])
    study, found = known[publication]
    if not files:
        if found.printed is None:
            raise InputError([Problem("files", "", f"name {found.files}")])
        return Reproductions(study, found, tuple(found.printed()))
    if found.of is None:
        reason = f"no tables were published; 'overton reproduce {publication}' takes none"
        raise InputError([Problem("files", str(files[0]), reason)])
    groups = [group for file in files for group in _tables_at(Path(file), found.folders)]
    tables = [(path, open_table(path)) for group in groups for path in group]
    if found.whole is None or len(tables) == 1:
        return Reproductions(study, found, tuple(number for _, each in tables for number in found.of(each)))
    taken = [each for _, each in tables if found.takes is None or found.takes(each)]
    if not taken:
        raise InputError([Problem(str(files[0]), "", f"has no {found.files}")])
    left_out = tuple(path.name for path, each in tables if all(each is not own for own in taken))
    return Reproductions(study, found, tuple(found.whole(taken)), left_out)


def _tables_at(path: Path, folders: Sequence[str]) -> list[list[Path]]:
    """The tables of a folder, in groups, or the file itself."""
    return table_files(path, folders) or [[path]]
