"""Recomputing published numbers: from a publication's tables to its numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from overton.errors import InputError, Problem
from overton.files.atomic import write_atomic
from overton.files.tables import open_table
from overton.studies.document import SCHEMA
from overton.studies.documentation import table
from overton.studies.registry import asking_names, study_named
from overton.studies.reproduction import PublishedNumber, Reproduction
from overton.untrusted import visible_line


@dataclass(frozen=True)
class Reproductions:
    """A publication's numbers beside those computed here, in the order of its tables."""

    study: str
    publication: Reproduction
    numbers: tuple[PublishedNumber, ...]

    @property
    def compared(self) -> list[PublishedNumber]:
        """The numbers that were published."""
        return [number for number in self.numbers if number.published is not None]

    @property
    def same(self) -> bool:
        """Whether every published number equals the computed one, to its last digit."""
        return all(number.same for number in self.compared)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        numbers = [
            {"what": number.what, "published": number.published, "computed": number.computed, "same": number.same}
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

    def markdown(self) -> str:
        """As a page in Markdown: what was recomputed, from where, whether it is the same, and every number."""
        rows = [
            (
                escape(visible_line(number.what)),
                _format_number(number.published, number.digits),
                _format_number(number.computed, number.digits),
                _SAME_WORDS[number.same],
            )
            for number in self.numbers
        ]
        own = self.publication
        numbers = table(("number", "published", "computed here", "the same?"), rows)
        return f"## {own.title}\n\n{self._verdict()} Source: {own.source}.\n\n{numbers}\n"

    def _verdict(self) -> str:
        compared = self.compared
        if not compared:
            return "No published numbers are on file for these tables, so there is nothing to compare with."
        same = sum(bool(number.same) for number in compared)
        return f"**{same} of {len(compared)} published numbers are reproduced** to their last digit."

    def write(self, out: str | Path) -> Path:
        """Write the page, whole or not at all.

        Raises:
            RunError: it cannot be written.
        """
        return write_atomic(Path(out), [self.markdown().encode()])


_SAME_WORDS = {True: "yes", False: "**no**", None: "none published"}


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
    """A study's reproductions; an unusable study has none here, and says why when it is used by name."""
    try:
        measuring = study_named(name).measuring
    except InputError:
        return
    if measuring is not None:
        yield from measuring.reproductions


def reproduce(publication: str, *files: str | Path) -> Reproductions:
    """The numbers of a publication, recomputed from the tables published with it.

    Example: `overton.reproduce("millstone", "gpt-4o.csv").same`.

    Raises:
        InputError: no such publication exists, no table is given, or one cannot be used.
    """
    known = publications()
    if publication not in known:
        reason = f"no such publication; known are {', '.join(known) or 'none'}"
        raise InputError([Problem("publication", publication, reason)])
    study, found = known[publication]
    if not files:
        raise InputError([Problem("files", "", f"name {found.files}")])
    numbers = [number for file in files for number in found.of(open_table(Path(file)))]
    return Reproductions(study, found, tuple(numbers))
