"""What is shown beside the headline: numbers without faults of form, and what a lenient matcher would do to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overton.studies.numbers import number
from overton.studies.pluralism.figures import names
from overton.studies.pluralism.measures.analysis import Analysis, Result
from overton.studies.pluralism.measures.voices import FALSE_MATCHES
from overton.studies.sections import Callout, Cell, Column, Method, Section, Table
from overton.studies.warnings import fault_section

_HEADLINE = {
    "sycophancy": ("global/recall", "global/precision", "global/f1", "supporting/recall", "against/recall"),
    "ranking": ("spearman", "top_1"),
    "pairwise": ("accuracy",),
    "pairwise_gap": ("accuracy",),
}


def faults(analysis: Analysis) -> Iterator[Section]:
    """How many replies have faults of form, and the headline with and without them."""
    what = (
        "Each response, ranking and choice is a reply here. Empty ones are in no number, nor are responses to a thread "
        "that all have a fault other than being cut; the others are in all numbers except those called 'without', in "
        "which an echo of the belief no longer voices it."
    )
    for section in fault_section(analysis.faults, "replies", "Condition", what):
        yield Section(section.key, section.title, [*section.exhibits, *_without(analysis), *_compared(analysis)])


def _without(analysis: Analysis) -> Iterator[Table]:
    for experiment, measures in _HEADLINE.items():
        rows = list(_rows(analysis, experiment, measures))
        if rows:
            columns = [Column("Model"), Column("Condition")]
            for name in measures:
                columns += [Column(names.MEASURES[name], "value"), Column(f"{names.MEASURES[name]}, without", "value")]
            yield Table(f"{names.TITLES[experiment]} with and without faults of form", columns, rows, summary=True)


def _compared(analysis: Analysis) -> Iterator[Table]:
    """The same for the differences between conditions and the neutral one."""
    for experiment, measures in _HEADLINE.items():
        rows = list(_differences(analysis, experiment, measures))
        if rows:
            columns = [Column("Model"), Column("Condition")]
            for name in measures:
                columns += [Column(f"{names.MEASURES[name]}{more}", "value") for more in ("", ", without")]
            title = f"{names.TITLES[experiment]} against neutral with and without faults of form"
            note = "Differences from the neutral condition on the threads that have both."
            yield Table(title, columns, rows, note)


def _differences(analysis: Analysis, experiment: str, measures: Sequence[str]) -> Iterator[list[Cell]]:
    for group in names.groups(analysis, None):
        for condition in names.conditions(analysis, experiment):
            result = group.experiments.get(experiment, {}).get(condition)
            clean = result.contrasts_without_faults.get("neutral") if result else None
            if result and clean:
                both = (source.get(name) for name in measures for source in (result.contrasts["neutral"], clean))
                cells = [found.difference if found else names.NOT_THERE for found in both]
                yield [names.model(group.model), names.condition(condition), *cells]


def _rows(analysis: Analysis, experiment: str, measures: Sequence[str]) -> Iterator[list[Cell]]:
    for group in names.groups(analysis, None):
        for condition in names.conditions(analysis, experiment):
            result = group.experiments.get(experiment, {}).get(condition)
            if result and result.without_faults:
                yield [names.model(group.model), names.condition(condition), *_both(result, measures)]


def _both(result: Result, measures: Sequence[str]) -> Iterator[Cell]:
    for name in measures:
        yield from (names.estimate(result, name), result.without_faults.get(name, names.NOT_THERE))


_LENIENCY = (
    "Recall is a union over a thread's responses, so that a matcher's mistakes add up: if each response were matched "
    "by mistake to each viewpoint with probability f, a viewpoint that none of n responses voices would be matched "
    "with 1 - (1 - f)^n. The columns say what this run's recall would be, thread by thread with its own number of "
    "responses, if all matches were right and this share of false ones came on top. A sheet for people shows how often "
    "the matcher errs."
)


def leniency(analysis: Analysis) -> Section | None:
    """What false matches would do to recall at this run's number of responses."""
    rows = list(_misread(analysis))
    if not rows or not _responses(analysis):
        return None
    columns = [Column("Model"), Column("Condition"), Column("Recall", "value")]
    columns += [Column(f"With {percent}% false matches", "value") for percent in FALSE_MATCHES]
    table = Table("Recall with a lenient matcher", columns, rows, summary=True)
    alone = Callout(_alone(analysis), summary=True)
    return Section("leniency", "What a lenient matcher would do to recall", [alone, table, Method(_LENIENCY)])


def _alone(analysis: Analysis) -> str:
    """The recall that mistakes alone would give, at the mean number of responses."""
    each = _responses(analysis)
    found = ", ".join(
        f"{number(1 - (1 - percent / 100) ** each, 'share')} with {percent}%" for percent in FALSE_MATCHES
    )
    return (
        f"At this run's {each:.1f} responses per thread, a matcher's false matches alone would make recall {found} of "
        "responses matched by mistake to any one viewpoint."
    )


def _responses(analysis: Analysis) -> float:
    """Mean number of responses that the matcher read per thread with any: recall is a union over them."""
    results = analysis.group().experiments["sycophancy"].values()
    usable = sum(result.counts["threads"] - result.counts["threads_without_usable_responses"] for result in results)
    return sum(result.matchable for result in results) / usable if usable else 0.0


def _misread(analysis: Analysis) -> Iterator[list[Cell]]:
    for group in names.groups(analysis, None):
        for condition in names.conditions(analysis, "sycophancy"):
            result = group.experiments.get("sycophancy", {}).get(condition)
            if result and "global/recall" in result.measures:
                cells = [names.estimate(result, f"recall_with_false_matches/{percent}") for percent in FALSE_MATCHES]
                yield [names.model(group.model), names.condition(condition), result.measures["global/recall"], *cells]
