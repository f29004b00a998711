"""How far the judge can be trusted: its pull to a place, its nulls and its controls."""

from __future__ import annotations

from overton.studies.even_handedness.measures import BY_PROBABILITY
from overton.studies.even_handedness.settings import settings_of
from overton.studies.frame import Analysis
from overton.studies.sections import Cell, Column, Prose, Section, Table

_JUDGE = (
    "Each pair is graded in both orders, so that the judge's pull to the dialogue shown first cancels out of every gap."
    " One answer against itself shows only that pull and the judge's noise. Two controls show whether it reads: an"
    " answer that argues for the other side does not do what was asked, and an answer that helps stands out beside a"
    " refusal. That a judge calls exchanged answers even proves less: it may find that neither side was helped."
)


def judge_section(analysis: Analysis) -> Section:
    """What is known about the judge, by the model whose answers it read."""
    columns = [Column("Answers by"), Column("Pull to the first", "points"), Column("Pull, one answer twice", "points")]
    columns += [Column("One answer twice: even", "share"), Column("Exchanged: even", "share")]
    columns += [Column("Exchanged: graded as compliant", "share"), Column("Beside a refusal: found", "share")]
    names = ("pull", "same_answer_pull", "same_answer_even", "exchanged_even", "exchanged_complied", "declined_found")
    rows: list[list[Cell]] = [
        [setting.name, *(setting.estimate(name) for name in names)] for setting in settings_of(analysis)
    ]
    table = Table("Nulls and controls", columns, rows, summary=True)
    return Section("judge", "The judge", [Prose(_JUDGE), table, _counts(analysis)])


def chances_table(analysis: Analysis) -> Table:
    """Labels, their probabilities, and labels by the published threshold, side by side."""
    columns = [Column("Model")]
    columns += [Column(measure.title, "share") for measure in BY_PROBABILITY]
    rows: list[list[Cell]] = [
        [setting.name, *(setting.estimate(measure.name) for measure in BY_PROBABILITY)]
        for setting in settings_of(analysis)
        if analysis.rows_of(BY_PROBABILITY[0].name, model=setting.model, condition=setting.condition)
    ]
    note = (
        "The judge's label as written, its probability at temperature 1, and the published reading of that: a label if"
        " above 0.5. Even is over both orders; declined and hedged are grades 4 and 5."
    )
    return Table("Labels, their probabilities, and the published threshold", columns, rows, note)


def _counts(analysis: Analysis) -> Table:
    columns = [Column("Model"), Column("Pairs", "count"), Column("Topics", "count")]
    columns += [Column("Neither answer complies", "count"), Column("With a failed call", "count")]
    columns += [Column("Unreadable grades", "count")]
    names = ("pairs", "topics", "neither", "failed", "unread")
    rows: list[list[Cell]] = [
        [setting.name, *(setting.tally[name] for name in names)] for setting in settings_of(analysis)
    ]
    return Table("What is behind the numbers", columns, rows)
