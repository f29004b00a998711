"""Which of two clusterings people prefer: a blinded side-by-side sheet, and reading it back (appendix A.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.judging import cohen_kappa, share
from overton.judging.label_tasks import LabelRequest, LabelTask, task_of
from overton.statistics import Estimate
from overton.studies.pluralism.comparing import built_by
from overton.studies.pluralism.items import Thread
from overton.studies.pluralism.referencing import BuiltReferences
from overton.studies.sections import Cell, Column, Table

CHOICES = ("left", "right", "same")
"""What a person can say of two clusterings side by side."""

_WHAT = "preference"
_LONGEST_CELL = 30_000  # spreadsheets hold 32,767 characters
_LONGEST_POST = 5_000


class SummaryPair(msgspec.Struct, frozen=True):
    """A thread with the summaries of both clusterings, for people to look at."""

    thread: str
    title: str
    text: str
    comments: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


class Preferences(msgspec.Struct, frozen=True):
    """What people prefer.

    `preferred` is the share of judgements that prefer the first clustering, among those that prefer one, with Wilson's
    interval clustered by thread; `left` the share that prefer the left side, which shows whether the place decides.
    `same` judgements prefer neither and `blank` were not given. `kappa` is the agreement of two people, None unless
    there are two. `people` counts sheets.
    """

    first: str
    second: str
    people: int
    preferred: Estimate
    left: Estimate
    same: int
    blank: int
    kappa: Estimate | None


def pairs_of(
    records: Iterable[BuiltReferences], threads: Iterable[Thread], first: str, second: str
) -> list[SummaryPair]:
    """The threads that both clusterings built, in the order of `threads`, for a sheet."""
    first_built, second_built, _ = built_by(records, first, second)
    return [
        SummaryPair(
            thread.id,
            thread.title,
            thread.text,
            tuple(comment.text for comment in thread.comments),
            *(tuple(view.summary for view in side[thread.id].viewpoints) for side in (first_built, second_built)),
        )
        for thread in threads
        if thread.id in first_built and thread.id in second_built
    ]


def preference_sheet(
    pairs: Sequence[SummaryPair], first: str, second: str, *, size: int = 100, seed: int = 0
) -> tuple[LabelTask, list[dict[str, str]]]:
    """The task and the texts of a blinded sheet, for `overton.judging.sheets.write_sheet`.

    `size` threads are drawn; on each row a coin decides which clustering is on the left, and the viewpoints of both are
    shuffled. The person writes 'left', 'right' or 'same'.

    Raises:
        InputError: there is nothing to draw, or `size` is less than one.
    """
    if not pairs or size < 1:
        reason = "must be 1 or more" if pairs else "no thread was built by both clusterings"
        raise InputError([Problem("--size", str(size), reason)])
    drawn = Draw(f"{seed}/preference").sample(sorted(pairs, key=lambda pair: pair.thread), size)
    swapped = {pair.thread: Draw(f"{seed}/preference/{pair.thread}").coin() for pair in drawn}
    chance = len(drawn) / len(pairs)
    # `judged` is the clustering on the left, and `population` names both.
    rows = [LabelRequest(pair.thread, second if swapped[pair.thread] else first, pair.thread, chance) for pair in drawn]
    task = LabelTask(
        name="",
        study="references",
        what=_WHAT,
        judge=f"{first} and {second}",
        question="Which of the two do you prefer?",
        labels=dict.fromkeys(CHOICES, ""),
        seed=seed,
        design="plain",
        population={first: len(pairs), second: len(pairs)},
        groups=len(pairs),
        rows=tuple(rows),
        people=(tuple(range(len(rows))),),
    )
    return task_of(task), [_sheet_row(pair, swapped[pair.thread], seed) for pair in drawn]


def _sheet_row(pair: SummaryPair, swapped: bool, seed: int) -> dict[str, str]:
    def listed(summaries: Sequence[str], side: str) -> str:
        shuffled = Draw(f"{seed}/preference/{pair.thread}/{side}").shuffle(summaries)
        return _cut("\n".join(f"{number}. {summary}" for number, summary in enumerate(shuffled, 1)), _LONGEST_CELL)

    sides = (pair.second, pair.first) if swapped else (pair.first, pair.second)
    return {
        "post": _cut(f"{pair.title}\n\n{pair.text}".strip(), _LONGEST_POST),
        "comments": _cut("\n\n".join(f"* {comment}" for comment in pair.comments), _LONGEST_CELL),
        "left": listed(sides[0], "left"),
        "right": listed(sides[1], "right"),
    }


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} [...]"


def preferences(task: LabelTask, sheets: Sequence[Mapping[int, str]], *, level: float = 0.95) -> Preferences:
    """The preferences of people, from their choices by row of one task: one mapping for each of `sheets`.

    Raises:
        InputError: the task is not one of a side-by-side sheet.
    """
    if task.what != _WHAT or len(task.population) != 2:
        raise InputError([Problem("key", task.name, "is not the key of two clusterings side by side")])
    first, second = task.population
    said = [(task.rows[place], label) for choices in sheets for place, label in choices.items()]
    decided = [(row, label) for row, label in said if label != "same"]
    groups = [row.group for row, _ in decided] if len(sheets) > 1 else None
    for_first = [(row.judged == first) == (label == "left") for row, label in decided]
    return Preferences(
        first,
        second,
        len(sheets),
        share(for_first, groups, level=level),
        share([label == "left" for _, label in decided], groups, level=level),
        len(said) - len(decided),
        len(sheets) * len(task.rows) - len(said),
        _kappa(sheets, level),
    )


def _kappa(sheets: Sequence[Mapping[int, str]], level: float) -> Estimate | None:
    if len(sheets) != 2:
        return None
    first, second = sheets
    both = sorted(first.keys() & second.keys())
    return cohen_kappa([first[place] for place in both], [second[place] for place in both], level=level)


def preference_table(found: Preferences) -> Table:
    """Which clustering people prefer, and whether the side decides."""
    columns = [Column("Judgements", "count"), Column(f"Prefer {found.first}", "share")]
    columns.append(Column("Prefer the left side", "share"))
    row: list[Cell] = [found.preferred.n, found.preferred, found.left]
    if found.kappa:
        columns.append(Column("Cohen's kappa of the two people", "value"))
        row.append(found.kappa)
    title = f"{found.first} or {found.second}: {found.people} filled sheets"
    note = f"{found.same:,} more judgements prefer neither, {found.blank:,} rows were left empty."
    return Table(title, columns, [row], note=note)
