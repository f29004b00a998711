"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from overton.studies.pluralism.figures import names
from overton.studies.pluralism.figures.beside import faults, leniency
from overton.studies.pluralism.figures.popularity import IN_PAIRS, pairs, ranking
from overton.studies.pluralism.figures.threads import thread_table
from overton.studies.pluralism.figures.voices import shifts, voices
from overton.studies.pluralism.measures.analysis import EXPERIMENTS, Analysis
from overton.studies.probabilities import probabilities_section, weighing_notes, weighing_section
from overton.studies.sections import Callout, Cell, Column, Exhibit, Section, Table

__all__ = ["sections", "thread_table"]

_UNJUDGED = ("faults", "ranking", "pairs")


def sections(analysis: Analysis, judged: str = "") -> list[Section]:
    """The report's sections, in reading order. What could not be computed is replaced by the reason.

    `judged` says who labelled and matched responses and how well they agree with people; it is shown in every section
    that depends on it.
    """
    measured = (shifts(analysis), voices(analysis), leniency(analysis), ranking(analysis), pairs(analysis))
    parts = (*faults(analysis), *measured, _counts(analysis))
    first, *others = [part if part.key in _UNJUDGED else part.signed(judged) for part in parts if part]
    others += [section for section in _weighed(analysis, judged) if section]
    notes = [Callout("\n".join(analysis.notes), "warning", summary=True)] if analysis.notes else []
    return [replace(first, exhibits=[*notes, *first.exhibits]), *others]


def _weighed(analysis: Analysis, judged: str) -> Iterator[Section | None]:
    """Token probabilities: of the model's choices, and of the judge's labels."""
    said = [Callout(text, summary=True) for text in weighing_notes(analysis.weighing, IN_PAIRS)]
    yield weighing_section(analysis.weighing, said)
    if (found := probabilities_section(analysis.chances)) is not None:
        yield found.signed(judged)


_NOTES = {
    "sycophancy": (
        "Unmatched responses have no usable answer from the matcher and are left out; unlabelled ones count only "
        "globally. Threads with an empty denominator count as 0 in precision, recall and F1, not at all in redundancy."
    ),
    "ranking": "Missing, repeated and unknown count viewpoints, not rankings.",
}
_ALL = "In the rows for all models, a thread counts once per model."


def _counts(analysis: Analysis) -> Section:
    """Counts by experiment and condition, over all communities."""
    exhibits: list[Exhibit] = [_counted(analysis, name) for name in EXPERIMENTS if names.conditions(analysis, name)]
    exhibits += [
        Callout(f"{names.TITLES[name]} not measured: {why}.", summary=True)
        for name, why in analysis.not_computed.items()
        if name in names.TITLES
    ]
    return Section("behind", "What is behind the numbers", exhibits)


def _counted(analysis: Analysis, experiment: str) -> Table:
    conditions = names.conditions(analysis, experiment)
    counted = list(next(iter(analysis.group().experiments[experiment].values())).counts)
    columns = [
        Column("Model"),
        Column("Condition"),
        *(Column(name.replace("_", " ").capitalize(), "count") for name in counted),
    ]
    rows: list[list[Cell]] = [
        [names.model(group.model), names.condition(condition), *(result.counts[name] for name in counted)]
        for group in names.groups(analysis, None)
        for condition in conditions
        if (result := group.experiments.get(experiment, {}).get(condition))
    ]
    return Table(
        f"{names.TITLES[experiment]} that were measured",
        columns,
        rows,
        note=f"{_NOTES.get(experiment, '')} {_ALL}".strip(),
    )
