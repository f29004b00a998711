"""Several judges of one run: their agreement on each kind of label, and every headline by each judge.

Models answer once. Each judge labels the same answers, so each judge has its own records. The first judge is the
preferred one: the rest of an analysis uses its labels. A comparison with another judge is over the items for which both
judges give a number. The jackknife leaves each item out of both numbers, as in a comparison of two models
(`overton.studies.measures`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError
from overton.statistics import Estimate
from overton.studies.document import Shape
from overton.studies.numbers import Kind

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.contributions import Contribution
    from overton.studies.measurement import Comparing
    from overton.studies.questions import Questions
    from overton.studies.results import Results
    from overton.studies.tables import RawTable


JUDGE = "judge"
"""The column of records that names the judge if there are several."""


class TwoJudges(msgspec.Struct, frozen=True):
    """The agreement of two judges on the rows that both labelled: the proportion of equal labels (`same`), and Cohen's
    kappa."""

    first: str
    second: str
    same: Estimate
    kappa: Estimate


class OnLabel(msgspec.Struct, frozen=True):
    """The agreement of judges on one kind of label.

    `rows` is the number of rows with labels from at least two judges. `differ` is the number of these rows on which the
    judges disagree. `alpha` is Krippendorff's alpha over all judges; its interval is over groups of similar rows.
    `labelled` counts the rows that each judge labelled.
    """

    what: str
    rows: int
    differ: int
    labelled: dict[str, int]
    alpha: Estimate
    pairs: tuple[TwoJudges, ...]


class ByJudge(msgspec.Struct, frozen=True):
    """A model's measure by the first judge and by another judge, each over all items for which that judge gives a
    number. `items` counts the items for which at least one of the two judges gives a number. `model` is '' for all
    models together. `difference` is the other judge's number minus the first judge's."""

    model: str
    measure: str
    title: str
    judge: str
    items: int
    by_first: Estimate
    by_judge: Estimate
    difference: Estimate
    kinds: tuple[Kind, Kind] = ("share", "points")

    SHAPE = Shape(without=("kinds",))


class Judges(msgspec.Struct, frozen=True):
    """Several judges, the preferred one first, with their agreement on each kind of label, and headlines by each
    judge."""

    judges: tuple[str, ...]
    labels: tuple[OnLabel, ...]
    headlines: tuple[ByJudge, ...]


def judges_of(records: pl.DataFrame) -> list[str]:
    """The judges that the records name, the preferred one first; an empty list if the records name no judge."""
    import polars as pl

    if JUDGE not in records.columns or records.schema[JUDGE] != pl.String:
        return []
    found: list[str] = records[JUDGE].drop_nulls().unique(maintain_order=True).to_list()
    return found


def judge_of(records: pl.DataFrame, judge: str) -> pl.DataFrame:
    """The records of one judge, without the column that names the judge."""
    import polars as pl

    return records.filter(pl.col(JUDGE) == judge).drop(JUDGE)


def led_alone(table: RawTable, role: str) -> RawTable:
    """A table made outside Overton, with only its first judge's rows. `role` is the role of the study's judges, '' if
    the study has none."""
    from dataclasses import replace

    def first_judge_alone() -> pl.DataFrame:
        frame = table.frame()
        return judge_of(frame, judges_of(frame)[0]) if judges_of(frame) else frame

    return replace(table, frame=first_judge_alone) if role and JUDGE in table.columns else table


def by_judges(
    results: Results, questions: Questions | None, comparing: Comparing | None, role: str, how: Any
) -> Judges | None:
    """The differences between the judges of these results; None if there is only one judge. `role` is the judges'
    role."""
    if not results.others:
        return None
    first = ", ".join(judge.name for judge in results.answering(role))
    every = {first: results, **results.others}
    return Judges(
        tuple(every),
        tuple(_agreement_on_labels(every, questions.in_runs(results), how.level)) if questions else (),
        tuple(_headlines(results, comparing, how)) if comparing else (),
    )


def _agreement_on_labels(every: Mapping[str, Results], questions: Questions, level: float) -> Iterator[OnLabel]:
    for what in questions.keys:
        said = {judge: found for judge, own in every.items() if (found := _labels(own, questions, what))}
        if len(said) > 1:
            yield _agreement_on_label(what, said, level)


def _labels(results: Results, questions: Questions, what: str) -> dict[str, tuple[str, str]]:
    """The label and the group of each row that a judge labelled, by row id; empty without such labels."""
    from overton.studies.judged_rows import rows_of

    try:
        labelled = rows_of(questions, results, what).rows.drop_nulls("label")
    except InputError:  # the run has nothing that this kind of label applies to
        return {}
    return {row: (label, group) for row, label, group in labelled.select("id", "label", "group").iter_rows()}


def _agreement_on_label(what: str, said: Mapping[str, Mapping[str, tuple[str, str]]], level: float) -> OnLabel:
    from overton.judging.agreement import krippendorff_alpha

    groups = {row: group for labels in said.values() for row, (_, group) in labels.items()}
    units = {row: [labels[row][0] for labels in said.values() if row in labels] for row in sorted(groups)}
    units = {row: labels for row, labels in units.items() if len(labels) > 1}
    return OnLabel(
        what,
        len(units),
        sum(len(set(labels)) > 1 for labels in units.values()),
        {judge: len(labels) for judge, labels in said.items()},
        krippendorff_alpha(list(units.values()), [groups[row] for row in units], level=level),
        tuple(_compare_two(first, second, said, groups, level) for first, second in combinations(said, 2)),
    )


def _compare_two(
    first: str, second: str, said: Mapping[str, Mapping[str, tuple[str, str]]], groups: Mapping[str, str], level: float
) -> TwoJudges:
    from overton.judging.agreement import cohen_kappa, share

    both = sorted(said[first].keys() & said[second].keys())
    of_first, of_second = ([said[judge][row][0] for row in both] for judge in (first, second))
    clusters = [groups[row] for row in both]
    same = [a == b for a, b in zip(of_first, of_second, strict=True)]
    return TwoJudges(
        first, second, share(same, clusters, level=level), cohen_kappa(of_first, of_second, clusters, level=level)
    )


def _headlines(results: Results, comparing: Comparing, how: Any) -> Iterator[ByJudge]:
    own = comparing.records(results, how)
    for judge, other in results.others.items():
        theirs = _contributions(comparing, other, how)
        for model, found in own.items():
            known = {contribution.measure.name: contribution for contribution in theirs.get(model, ())}
            for contribution in found:
                if (
                    contribution.measure.leads
                    and contribution.measure.name in known
                    and comparing.judge(contribution.measure.name)
                ):
                    yield _headline(model, judge, contribution, known[contribution.measure.name], comparing.unit, how)


def _contributions(comparing: Comparing, results: Results, how: Any) -> Mapping[str, Sequence[Contribution]]:
    try:
        return comparing.records(results, how)
    except InputError:  # this judge labelled nothing
        return {}


def _headline(model: str, judge: str, contribution: Contribution, other: Contribution, unit: str, how: Any) -> ByJudge:  # noqa: PLR0917
    from overton.statistics.jackknife import Jackknife
    from overton.studies.contributions import find_shared_items

    jackknife = Jackknife(how.level, seed=how.seed, unit=unit)
    met = find_shared_items(contribution, other, jackknife, within_model=True)
    by_first, by_judge = (side.alone(jackknife) for side in (contribution, other))
    measure = contribution.measure
    return ByJudge(
        model,
        measure.name,
        measure.title,
        judge,
        len(met.items),
        by_first,
        by_judge,
        met.gap(jackknife).own,
        kinds=(measure.kind, measure.gap),
    )
