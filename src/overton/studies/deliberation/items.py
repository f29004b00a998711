"""The dilemmas of deliberations: their reader (JSON lines, one `Dilemma` per line), and the twelve bundled dilemmas.

The bundled dilemmas were written for Overton. No crowd ever voted on them, so their counts are marked as simulated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from math import log2
from textwrap import shorten
from typing import Annotated, Any, Literal, get_args

import msgspec

from overton.errors import InputError, quoted
from overton.studies.deliberation.value_lists import read_values
from overton.studies.item_mappings import ItemMapping, MappedField, MappedObject, MappedPart, MappingNotes
from overton.studies.items import Items, starter_file, starter_subjects
from overton.studies.options import Option
from overton.studies.parsing import (
    Notes,
    ParsedItems,
    Text,
    findings_of,
    kind_of,
    note_id,
    note_repeated,
    note_unknown,
    object_lines,
    take_one_of,
)

Verdict = Literal["YTA", "NTA", "ESH", "NAH", "INFO"]

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""The community's five verdicts, in the order of appendix E."""


class CrowdVerdicts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The crowd's verdicts: the number of comments with each verdict. `simulated` marks invented counts."""

    counts: dict[Verdict, int]
    simulated: bool = False

    @property
    def entropy(self) -> float:
        """The crowd's disagreement: the entropy of the verdicts' proportions in bits, 0 to log2(5) (appendix A, step
        6)."""
        total = sum(self.counts.values())
        shares = [count / total for count in self.counts.values() if count]
        return -sum(share * log2(share) for share in shares) if total else 0.0

    @property
    def verdict(self) -> Verdict | None:
        """The most common verdict; None without verdicts, or if several verdicts share the highest count."""
        ranked = sorted(self.counts.items(), key=lambda pair: -pair[1])
        if not ranked or not ranked[0][1] or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
            return None
        return ranked[0][0]


class Dilemma(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An everyday moral dilemma, told by a poster who asks whether they were at fault.

    `id` is unique and consists of letters, digits, '-', '_' and '.'. `text` is the post. `crowd` has the verdicts of
    the post's readers, or is None if these are unknown.
    """

    id: str
    title: str
    text: str
    crowd: CrowdVerdicts | None = None


class DilemmaReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that Overton reads together with the dilemmas: the list of values. A run keeps a copy of it."""

    values: Annotated[
        Any,
        Option(
            "Table (.csv, .jsonl, .parquet) of the values that the judge may name, with the columns value and"
            " definition; by default the 48 published values",
            file=True,
        ),
    ] = None


_MOST_COMMENTS = 10**12
_HALF = re.compile("[\ud800-\udfff]")


def _parse(texts: Sequence[Text], reading: DilemmaReading) -> ParsedItems[Dilemma]:
    """Read the dilemmas, in the order of the files."""
    notes = [_check_values(reading.values)]
    items: list[Dilemma] = []
    named: list[tuple[str, Notes]] = []
    for data, noted in object_lines(texts, noun="dilemma"):
        notes.append(noted)
        if data is None:
            continue
        name = data.get("id")
        named.append((name if isinstance(name, str) and name.strip() else "", noted))
        if (dilemma := _dilemma(data, noted)) is not None:
            items.append(dilemma)
    note_repeated(named)
    return ParsedItems(items, findings_of(notes))


def _dilemma(data: dict[str, Any], notes: Notes) -> Dilemma | None:
    """Read a dilemma.

    Title and text must not be empty, and counts must be possible for a crowd; otherwise None, with a note.
    """
    note_unknown(data, Dilemma, notes)
    found = {key: _said(data, key, notes) for key in ("id", "title", "text")}
    note_id(found["id"], notes)
    crowd = _crowd(data.get("crowd"), notes)
    return None if notes.failed else Dilemma(**found, crowd=crowd)


def _check_values(given: Any) -> Notes:
    """Check a list of values, and note its errors."""
    notes = Notes("values")
    if given is not None:
        try:
            read_values(given)
        except InputError as error:
            notes.refused(error)
    return notes


def _said(data: dict[str, Any], key: str, notes: Notes) -> str:
    """The text under `key`, as posted. If it is empty or not a text, '' and a note."""
    value = data.get(key)
    if not isinstance(value, str):
        notes.error(key, f"is {kind_of(value)}, not a text" if key in data else "is missing")
    elif not value.strip():
        notes.error(key, "is empty")
    elif _HALF.search(value):
        notes.error(key, "contains half of a surrogate pair, which is not a character")
    else:
        return value
    return ""


def _crowd(value: Any, notes: Notes) -> CrowdVerdicts | None:
    """Read a crowd's verdicts. None if they are unknown, and also, with a note, if they are unusable."""
    if value is None:
        return None
    if not isinstance(value, dict):
        notes.error("crowd", f"is {kind_of(value)}, not an object with counts")
        return None
    note_unknown(value, CrowdVerdicts, notes, "crowd.")
    simulated = value.get("simulated", False)
    if not isinstance(simulated, bool):
        notes.error("crowd.simulated", f"is {kind_of(simulated)}, not true or false")
    counts = value.get("counts")
    if not isinstance(counts, dict):
        is_what = f"is {kind_of(counts)}, not an object of verdicts and counts" if "counts" in value else "is missing"
        notes.error("crowd.counts", is_what)
        return None
    taken = {verdict: count for verdict, count in (_count(*entry, notes) for entry in counts.items()) if verdict}
    return CrowdVerdicts(taken, simulated=bool(simulated))


def _count(word: str, count: Any, notes: Notes) -> tuple[Verdict | None, int]:
    """Read a verdict and its count.

    The verdict is None, with a note, if the word is not a verdict or the count is impossible.
    """
    verdict: Verdict | None = take_one_of(VERDICTS, word, f"crowd.counts[{quoted(word)}]", notes)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < _MOST_COMMENTS:
        said = quoted(count) if isinstance(count, int | float) and not isinstance(count, bool) else kind_of(count)
        notes.error(f"crowd.counts[{quoted(word)}]", f"is {said}, not a number of comments (0 or more)")
        return None, 0
    return verdict, count


def _make(read: MappedObject, notes: MappingNotes) -> MappedObject | None:
    """Convert a row to Overton's own layout.

    The crowd's counts come from the table, or from the comments with a verdict.
    """
    made = read.only("id", "title", "text")
    counts: dict[str, Any] | None = read.get("crowd")
    total = read.get("comment_count")
    if counts is not None and "comment_count" in read.columns:
        if total is None or not all(0 <= share <= 1 for share in counts.values()):
            asked = "means that the crowd's numbers are proportions, but some are not between 0 and 1"
            notes.problems.append(read.note("comment_count", "is empty" if total is None else asked))
            return None
        counts = {word: round(share * total) for word, share in counts.items()}
    elif counts is None and "comments" in read:
        counts = dict(Counter(_verdicts(read["comments"], notes)))
    if counts is None:
        return made
    known = {word.strip().upper(): int(count) if count % 1 == 0 else count for word, count in counts.items()}
    crowd = {"counts": known, "simulated": read.get("simulated", False)}
    return made.only(*made, crowd=MappedObject(read.file, read.row, {"counts": read.columns.get("crowd", "")}, crowd))


def _verdicts(comments: Sequence[MappedObject], notes: MappingNotes) -> Iterator[str]:
    """The verdicts of comments that give exactly one."""
    for comment in comments:
        word = comment.get("verdict", "").strip().upper()
        if word in VERDICTS:
            yield word
        else:
            notes.odd["comments left out because they give no single one of the five verdicts"] += 1


_MAPPING = ItemMapping(
    "dilemma",
    (
        MappedField("id", "id"),
        MappedField("title", needed=True),
        MappedField("text", needed=True),
        MappedField("crowd", "counts"),
        MappedField("comment_count", "whole"),
        MappedField("simulated", "flag"),
    ),
    (MappedPart("comments", (MappedField("verdict", needed=True),), plain="verdict"),),
    _make,
    _dilemma,
    "docs/dilemmas.md",
)


def _blank() -> Dilemma:
    return Dilemma(
        "my-dilemma",
        "AITA for what this dilemma is about in one line?",
        "Describe here, as the poster, what happened and what both sides say.",
    )


def _spelled(dilemma: Dilemma) -> list[str]:
    """The title, or the first words of the post if it has none."""
    return [dilemma.title or shorten(dilemma.text, 80, placeholder=" …")]


DILEMMAS = Items(
    Dilemma,
    "dilemma",
    "JSONL file of dilemmas, or a TOML mapping of a table",
    parse=_parse,
    dataset="dilemmas.jsonl",
    reading=DilemmaReading,
    starter=partial(starter_file, "overton.studies.deliberation", "dilemmas.jsonl"),
    blank=_blank,
    spelled=_spelled,
    subjects=partial(starter_subjects, "overton.studies.deliberation"),
    mapping=_MAPPING,
)
"""The item kind of dilemmas, with their crowds' verdicts if these are known."""
