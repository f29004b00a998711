"""Issues from files: one a file in the ProCon layout, or one a line in our own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from overton.studies.noting import Notes, note_repeated
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.reading.checks import check
from overton.studies.open_mindedness.reading.draft import Draft
from overton.studies.open_mindedness.reading.own import draft_from_own
from overton.studies.open_mindedness.reading.positions import Position, add_positions, read_table
from overton.studies.open_mindedness.reading.procon import draft_from_procon
from overton.studies.options import Option
from overton.studies.parsing import Parsed, Text, findings_of, object_lines, read_json, read_whole

__all__ = ["MAX_ISSUES", "Reading", "parse", "parse_unphrased"]

MAX_ISSUES = 10_000


class Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How issues are read where it is known whether they have paraphrases."""

    positions: Annotated[
        Any,
        Option(
            "CSV of issue, topic, pro, con for ProCon files, which lack them; positions.csv in or beside the folder by"
            " default",
            file=True,
            beside="positions.csv",
        ),
    ] = None


def parse(texts: Sequence[Text], reading: Reading) -> Parsed[Issue]:
    """The issues of `texts`, sorted by id, numbers in ids by their value.

    A '.jsonl' file holds one `Issue` a line; any other is one issue in the ProCon layout, its name the issue's id. The
    table of positions adds what issues lack. Where nothing gives an issue's positions, they are taken from its
    paraphrases.

    An error keeps a run from starting: a file that is not UTF-8 or not JSON, a wrong type, an empty or repeated
    argument, a side without arguments, a number of paraphrases other than six, an id that is not usable or not
    unique. A warning does not: fewer than three arguments on a side, a mark without a source and the reverse, an
    orientation that contradicts the paraphrase's wording.
    """
    return _parsed(texts, reading.positions, need_paraphrases=True)


def parse_unphrased(texts: Sequence[Text], reading: Reading) -> Parsed[Issue]:
    """The same, where paraphrases may be missing."""
    return _parsed(texts, reading.positions, need_paraphrases=False)


def _parsed(texts: Sequence[Text], positions: Text | None, *, need_paraphrases: bool) -> Parsed[Issue]:
    noted = Notes(positions.name if positions else "")
    table = read_table(positions, noted) if positions else {}
    others = [noted]
    drafts = sorted(_drafts(texts, others), key=lambda draft: _natural(draft.id))
    for draft in drafts:
        add_positions(draft, table)
        check(draft, need_paraphrases=need_paraphrases)
    note_repeated((draft.id, draft.notes) for draft in drafts)
    if drafts and texts[0].in_folder:
        _note_strangers(table, drafts, noted)
    usable = [draft.issue() for draft in drafts if not draft.notes.failed]
    return Parsed(usable, findings_of([*others, *(draft.notes for draft in drafts)]))


def _drafts(texts: Sequence[Text], others: list[Notes]) -> Iterator[Draft]:
    """The issues that could be read, each with its notes; the notes on everything else are added to `others`."""
    for text in texts:
        if text.suffix == ".jsonl":
            yield from _from_lines(text, others)
            continue
        notes = Notes(text.name)
        content = read_whole(text, notes)
        data = read_json(content, notes) if content is not None else None
        if data is None:
            others.append(notes)
        else:
            yield draft_from_procon(data, text.stem, notes)


def _from_lines(text: Text, others: list[Notes]) -> Iterator[Draft]:
    for data, notes in object_lines([text], noun="issue", most=MAX_ISSUES):
        if data is None:
            others.append(notes)
        else:
            yield draft_from_own(data, notes)


def _note_strangers(table: dict[str, Position], drafts: Sequence[Draft], notes: Notes) -> None:
    known = {draft.id for draft in drafts}
    for issue, row in table.items():
        if issue not in known:
            notes.warning(f"line {row.line}", f"names the issue '{issue}', which is not among those read")


def _natural(text: str) -> tuple[list[tuple[int, str]], str]:
    """A sort key by which 'issue-2' comes before 'issue-10'."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], text
