"""The score's parts, shown before it, and what is shown beside it: chance, the judge's errors, faults of form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overton.studies.numbers import number
from overton.studies.sections import Cell, Column, Exhibit, Method, Section, Table
from overton.studies.stance_stability.figures.names import TITLES, mean, measured, present
from overton.studies.stance_stability.measures.analysis import Analysis
from overton.studies.warnings import fault_section


def by_model(analysis: Analysis, title: str, measures: Sequence[str], note: str = "", summary: bool = False) -> Table:
    """These measures for every model, as far as the table allows."""
    names = present(analysis, measures)
    columns = [Column("Model"), *(Column(TITLES[name], "value") for name in names)]
    rows: list[list[Cell]] = [
        [model.name, *(mean(model.overall, name) for name in names)] for model in analysis.models.values()
    ]
    return Table(title, columns, rows, note=f"All temperatures. {note}".strip(), summary=summary)


_MOVES = ("change_rate", "reversals", "balanced_moves", "unclear_moves", "drifted", "drift", "overall_view_changed")
_SOURCES = ("source_reuse", "source_reuse_given_pages", "source_reuse_by_chance", "confidence_at_changes", "confidence")
_MOVED = (
    "Reversals go from one side to the other; moves of 'balanced' go into or out of it, and likewise moves of 'unclear'"
    " between neighbouring labels. Drift is from the first clear stance to the last, with critical as -1, balanced as 0"
    " and supportive as +1; the overall view is compared between the first and the last question that ask for it."
)
_REUSED = (
    "Given the pages: what re-use would be if each answer cited the same number of the pages it was shown, at random."
    " From the collection: if it cited the same number of all pages shown on the topic. Re-use that is no higher says"
    " nothing about the model."
)


def components(analysis: Analysis) -> Iterator[Table]:
    """How stances move, from which sources, and how certainly: each alone says more than the score of all three."""
    yield by_model(analysis, "How stances move", _MOVES, _MOVED, summary=True)
    if present(analysis, _SOURCES):
        yield by_model(analysis, "Sources and certainty", _SOURCES, _REUSED, summary=True)


def without_faults(analysis: Analysis) -> Iterator[Table]:
    """The headline with and without the turns whose answers have a fault of form, if any has."""
    bare = analysis.overall.without_faults
    names = [name for name in _HEADLINE if name in bare]
    if not names:
        return
    columns = [Column("Model"), Column("Turns")]
    columns += [Column(TITLES[name], "value") for name in names]
    rows: list[list[Cell]] = []
    for model in analysis.models.values():
        rows.append([model.name, "all", *(mean(model.overall, name) for name in names)])
        rows.append([model.name, "without faults", *(model.overall.without_faults[name].mean for name in names)])
    note = "Without faults: an answer with a fault of form makes no pairs and is left out of means."
    yield Table("With and without answers that have a fault of form", columns, rows, note, summary=True)


_HEADLINE = ("change_rate", "drifted", "source_reuse", "confidence_at_changes", "chameleon")


def faults(analysis: Analysis) -> Iterator[Section]:
    """The counts of faults, if there are any."""
    said = (
        "Conversations in which at least half of the answers are empty, echoed, looping or refused have no score. The"
        " numbers of the others are given with and without the answers counted here."
    )
    yield from fault_section(analysis.faults, "answers", "Temperature", said)


def judge_alone(analysis: Analysis) -> Iterator[Exhibit]:
    """What a judge's errors alone would give for models that never change."""
    scored = measured(analysis, "chameleon")
    columns = [Column("Model"), Column("Changes", "value"), Column("... of a steady model", "value")]
    if scored:
        columns += [Column("Score", "value"), Column("... of a steady model", "value")]
        columns += [Column("... if the judge never errs", "value")]
    rows: list[list[Cell]] = []
    for name, alone in analysis.judge_alone.items():
        group = analysis.models[name].overall
        cells: list[Cell] = [name, mean(group, "stance_changes"), alone.changes]
        rows.append([*cells, mean(group, "chameleon"), alone.chameleon, alone.without_errors] if scored else cells)
    if not rows:
        return
    error = next(iter(analysis.judge_alone.values())).error
    note = (
        f"A steady model never changes its stance, and has this model's number of turns, mean confidence and re-use;"
        f" its judge mislabels {number(error, 'share')} of its answers, with each of the other three labels equally"
        " often."
    )
    yield Table("What the judge's errors alone would give", columns, rows, note=note, summary=True)
    yield Method(_ALONE)


_ALONE = (
    "The score mostly shows whether there was at least one change: with the first, the confidence at changes jumps "
    "from 0 to about the model's own, whether the model changed or the judge erred. Compare it with what the judge's "
    "errors alone would give, and read its parts first."
)


def topics(analysis: Analysis) -> Section | None:
    """By what the topics' writer said about them, if known."""
    kinds = (
        ("Initial belief", analysis.initial_beliefs, "initial_beliefs"),
        ("Debate strength", analysis.debate_strengths, "debate_strengths"),
    )
    measures = present(analysis, ("change_rate", "drifted", "drift", "chameleon"))
    made: list[Exhibit] = []
    for head, groups, kind in kinds:
        if not groups:
            continue
        columns = [Column("Model"), Column(head), Column("Conversations", "count")]
        columns += [Column(TITLES[name], "value") for name in measures]
        rows: list[list[Cell]] = [
            [model.name, name, group.conversations, *(mean(group, measure) for measure in measures)]
            for model in analysis.models.values()
            for name, group in getattr(model, kind).items()
        ]
        made.append(Table(f"Measures by {head.lower()}", columns, rows))
    return Section("topics", "What the topics' writer said about them", [*made, Method(_WRITER)]) if made else None


_WRITER = (
    "Each topic comes with the belief that its writer considers common at first, and with how strongly it is debated "
    "(appendix A.2). No prompt, condition or measure uses either; conversations are only grouped by them here."
)
