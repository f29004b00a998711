"""A judge's labels beside their token probabilities: what a study shows whose measures count labels.

The label remains the one that the judge wrote: measures, corrections by people and comparisons rest on it, whatever the
probabilities say. They add how sure the judge is of its labels, and which share each label would have in many answers.

A study asks with `Wanted.choice`, stores `Answered.chances` and what `weighing.labelled_again` gives in columns of its
own, and lays these out as `LabelTable`, one for each thing that its judge labels; `chances_of` does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from overton.statistics import Estimate, not_computed
from overton.statistics.jackknife import SHARE, Jackknife
from overton.studies.exhibits import Callout, Cell, Column, Section, Table
from overton.studies.weighing import Weighing, calibrated, decided, verdict_on, weighing_section

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.calibration import Calibration

__all__ = ["JudgeChances", "LabelChances", "LabelShare", "LabelTable", "chance_notes", "chances_of", "chances_section"]


class LabelShare(msgspec.Struct, frozen=True):
    """A label's share twice: of labels as the judge wrote them, and the mean of its probabilities."""

    by_label: Estimate
    by_probability: Estimate


class LabelChances(msgspec.Struct, frozen=True):
    """Token probabilities of the labels that a judge gave to one model's answers; estimates are on [0, 1], over items.

    `labels` counts those with probabilities. `certain` is the mean probability of the label that was given, and
    `same_twice` how often two single answers to one question would give the same label: what it lacks of 1 is the
    judge's own noise.
    """

    labels: int
    certain: Estimate
    same_twice: Estimate
    shares: dict[str, LabelShare]


class JudgeChances(msgspec.Struct, frozen=True):
    """Token probabilities of a judge's labels: whether they are used, and what they say by kind of label and model."""

    weighing: Weighing
    labels: dict[str, dict[str, LabelChances]]


@dataclass(frozen=True)
class LabelTable:
    """What a judge labelled; `labels` are the values that a label can have.

    `table` has one row for each thing that it labelled, with `model`, `item` (what intervals are over), `label` (None
    if it gave none), `chances` (a list in the order of `labels`, None if there are no probabilities) and `sampled` (the
    single answers drawn as a check, None if there are none).
    """

    labels: Sequence[str]
    table: pl.DataFrame


def chances_of(
    tables: Mapping[str, LabelTable], asked: Iterable[str | None], jackknife: Jackknife, chosen: str = "as-asked"
) -> JudgeChances | None:
    """The token probabilities of everything that judges label, by its name; None if no run `asked` for any."""
    found = {what: one for what, one in tables.items() if one.table["label"].count()}
    calibrations = {_judge_of(what, found): _calibrated(one) for what, one in found.items()}
    missing = {_judge_of(what, found): count for what, one in found.items() if (count := _without_chances(one))}
    weighing = decided(chosen, [one or "sampled" for one in asked], calibrations, missing)
    if weighing is None:
        return None
    return JudgeChances(weighing, {what: _by_model(one, weighing, jackknife) for what, one in found.items()})


def _judge_of(what: str, found: Mapping[str, LabelTable]) -> str:
    return "judge" if len(found) == 1 else f"judge ({what.replace('_', ' ')})"


def _without_chances(one: LabelTable) -> int:
    table = one.table
    return table.filter(table["label"].is_not_null() & table["chances"].is_null()).height


def _calibrated(one: LabelTable) -> Calibration:
    import polars as pl

    drawn = one.table.filter((pl.col("sampled").list.len() > 0) & pl.col("chances").is_not_null())
    return calibrated(drawn["chances"].to_list(), drawn["sampled"].to_list(), one.labels)


def _by_model(one: LabelTable, weighing: Weighing, jackknife: Jackknife) -> dict[str, LabelChances]:
    import polars as pl

    known = one.table.filter(pl.col("label").is_not_null() & pl.col("chances").is_not_null())
    return {str(model): _told(own, one.labels, weighing, jackknife) for (model,), own in _parts(known)}


def _parts(table: pl.DataFrame) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    return sorted(table.partition_by("model", as_dict=True).items(), key=lambda part: str(part[0]))


def _told(own: pl.DataFrame, labels: Sequence[str], weighing: Weighing, jackknife: Jackknife) -> LabelChances:
    import polars as pl

    chance = {label: pl.col("chances").list.get(place) for place, label in enumerate(labels)}
    given = pl.coalesce(pl.when(pl.col("label") == label).then(one) for label, one in chance.items())

    def mean(value: pl.Expr) -> Estimate:
        sums = own.group_by("item", maintain_order=True).agg(
            above=value.cast(pl.Float64).sum(), below=value.count().cast(pl.Float64)
        )
        return jackknife.ratio(sums["above"].to_numpy(), sums["below"].to_numpy(), SHARE)

    def by_probability(value: pl.Expr) -> Estimate:
        return mean(value) if weighing.used else not_computed(weighing.why, level=jackknife.level, n=own.height)

    return LabelChances(
        own.height,
        mean(given),
        mean(pl.sum_horizontal(one**2 for one in chance.values())),
        {label: LabelShare(mean(pl.col("label") == label), by_probability(one)) for label, one in chance.items()},
    )


def chance_notes(found: JudgeChances | None) -> Iterator[str]:
    """What a report says first: measures count labels, and whether single answers agree with the probabilities."""
    if found is None:
        return
    weighing = found.weighing
    if weighing.used:
        yield "Measures count the judge's labels. The shares by its token probabilities are shown beside them."
    else:
        yield f"Measures count the judge's labels. Its token probabilities are not used: {weighing.why}."
    for name, one in weighing.calibrations.items():
        yield f"{name}: {verdict_on(one)}"
    for name, count in weighing.unweighed.items():
        yield f"{name}: {count:,} labels have no probability, or do not come first in the reply."


def chances_section(found: JudgeChances | None) -> Section | None:
    """How sure the judge is of its labels, and how well calibrated; None if no probabilities were asked for."""
    if found is None:
        return None
    said = [Callout(text, summary=True) for text in chance_notes(found)]
    calibration = weighing_section(found.weighing, said)
    assert calibration is not None
    tables = [table for what, by_model in found.labels.items() for table in _tables(what, by_model)]
    return Section("judge-probabilities", "Token probabilities of the judge's labels", [*calibration.exhibits, *tables])


def _tables(what: str, by_model: Mapping[str, LabelChances]) -> Iterator[Table]:
    if not by_model:
        return
    labels = list(next(iter(by_model.values())).shares)
    columns = [Column("Answers of"), Column("Labels", "count"), Column("Sure of its label", "share")]
    columns.append(Column("Same label twice", "share"))
    columns += [Column(f"{label}, {way}", "share") for label in labels for way in ("label", "probability")]
    rows: list[list[Cell]] = [
        [
            name,
            one.labels,
            one.certain,
            one.same_twice,
            *(share for label in labels for share in (one.shares[label].by_label, one.shares[label].by_probability)),
        ]
        for name, one in by_model.items()
    ]
    yield Table(f"The judge's labels and their probabilities: {what.replace('_', ' ')}", columns, rows, _NOTE)


_NOTE = (
    "'Sure of its label' is the mean probability, at temperature 1, of the label that the judge gave. 'Same label"
    " twice' is how often two single answers to one question would give the same label. Shares by probability are means"
    " of the probabilities of each label: which share it would have in many answers."
)
