"""Shares and labels by token probabilities: one call gives what many answers would, where the two mean the same.

A study whose roles choose among a form's options has an option `shares: Shares = "sampled"` and an option
`calibrate: Calibrate = CALIBRATE`, and its `demands` say which roles are then asked for probabilities. It asks
with `Form(weigh=...)`, reads where the option occurs (`judging.option_probabilities.chances_at`), and stores them in
columns of its own. Its trials go through `add_calibration`, which draws some of them: these are asked again as often as
it says, each time by a speaker of its own, and the results are stored in a column too. From both a run's calibration is
computed anew each time it is measured.

`auto` uses probabilities only if `statistics.calibration` finds agreement for every model measured together: one
comparison never mixes both.

The label remains the one that the judge wrote: measures, corrections by people and comparisons rest on it, whatever the
probabilities say. They add how sure the judge is of its labels, and which share each label would have in many answers.

A study asks a `Question` with probabilities, stores them and `Question.sample` in columns of its own, and gives these
as a `LabelProbabilityTable` for each thing that its judge labels; `label_probabilities` does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from overton.statistics import Estimate, not_computed
from overton.statistics.estimate import SHARE
from overton.studies.asking import NO_LABEL
from overton.studies.numbers import number, sentence
from overton.studies.options import Option
from overton.studies.sections import Callout, Cell, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.calibration import Calibration
    from overton.statistics.jackknife import Jackknife


Shares = Annotated[
    Literal["sampled", "probabilities", "auto"],
    Option(
        "How shares are found: by sampling answers, by the token probabilities of one call, or by these only where"
        " single answers agree with them"
    ),
]
AsAsked = Annotated[
    Literal["as-asked", "sampled", "probabilities"],
    Option("Whether shares are means of token probabilities, or count the answers that were sampled"),
]
T = TypeVar("T")
HowT = TypeVar("HowT", bound=msgspec.Struct)


def as_single_trial(options: dict[str, Any], models: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Options with one trial of each prompt, if probabilities replace many and no number is given."""
    if options.get("shares") in ("probabilities", "auto") and options.get("trials") is None:
        return {**options, "trials": 1}
    return options


class Weighing(msgspec.Struct, frozen=True):
    """What measured shares are made of.

    With `used` they are means of token probabilities; `why` says why not, '' if nobody requested them. `calibrations`
    are by model; `unweighed` counts, by model, answers that name an option whose probability the endpoint did not
    return: they count as they were drawn.
    """

    used: bool
    why: str
    calibrations: dict[str, Calibration]
    unweighed: dict[str, int] = {}


def resolve_label(
    chosen: str, asked: Iterable[str], calibrations: dict[str, Calibration], unweighed: dict[str, int]
) -> Weighing | None:
    """Whether shares are means of probabilities, given what the user has `chosen` and what runs have `asked` for; None
    if no run has any. There is one answer for all models that are measured together."""
    wanted = {mode or "sampled" for mode in asked}
    if wanted <= {"sampled"}:
        return None
    if chosen == "sampled":
        return Weighing(False, "the analysis was asked to count answers", calibrations, unweighed)
    if "sampled" in wanted:
        return Weighing(False, "some of the runs have no token probabilities", calibrations, unweighed)
    doubtful = [name for name, calibration in calibrations.items() if calibration.verdict != "agree"]
    if chosen == "as-asked" and "auto" in wanted and doubtful:
        why = "single answers were not found to agree with token probabilities of " + ", ".join(doubtful)
        return Weighing(False, why, calibrations, unweighed)
    return Weighing(True, "", calibrations, unweighed)


def resolve_probabilities(how: HowT, design: Weighing | None) -> HowT:
    """How a null's shares are found: as those of its `design`, whose single answers decide for both; `how` unchanged if
    no run has probabilities."""
    if design is None:
        return how
    return msgspec.structs.replace(how, shares="probabilities" if design.used else "sampled")


def calibrated(
    probabilities: Sequence[Sequence[float]], names: Sequence[Sequence[str]], labels: Sequence[str]
) -> Calibration:
    """Whether a judge's single answers are as sure as its probabilities: at each prompt the probabilities of all
    labels, and the labels of its single answers."""
    import numpy as np

    from overton.statistics.calibration import calibration

    counted = np.array([[name.count(label) for label in labels] for name in names], float).reshape(-1, len(labels))
    chances = np.array(probabilities, float).reshape(-1, len(labels))
    total = chances.sum(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_labels = chances / total
    none = np.array([name.count(NO_LABEL) / len(name) for name in names], float)
    return calibration(of_labels, counted, (1 - total[:, 0], none))


def weighing_notes(found: Weighing | None, what: str = "Shares") -> Iterator[str]:
    """The first sentences of a report: what `what` is made of, and for each model whether the two agree."""
    if found is None:
        return
    if found.used:
        yield f"{what} are means of token probabilities: for each prompt one reply, not many, was requested."
    else:
        yield f"{what} count the answers that were sampled, though token probabilities were requested: {found.why}."
    for name, calibration in found.calibrations.items():
        yield f"{name}: {verdict_on(calibration)}"
    for name, count in found.unweighed.items():
        yield f"{name}: {count:,} answers name an option without a probability; they count as drawn."


def verdict_on(calibration: Calibration) -> str:
    """Whether single answers agree with the probabilities: one of three verdicts, in a sentence."""
    if not calibration.answers:
        return (
            "whether single answers agree with its token probabilities is unknown: none was sampled beside them"
            " (--calibrate)."
        )
    basis = f"{calibration.answers:,} single answers at {calibration.prompts} prompts"
    typical = (
        ""
        if isnan(calibration.typical.value)
        else f"; typical difference of a prompt {sentence(calibration.typical, 'share')}"
    )
    if calibration.verdict == "agree":
        return (
            f"{basis} agree with its token probabilities within {calibration.band:g}, on average and typically at a"
            f" prompt (mean difference {sentence(calibration.offset, 'points')}; away from one half"
            f" {sentence(calibration.outward, 'points')}{typical})."
        )
    if calibration.verdict == "differ":
        return (
            f"{basis} differ from its token probabilities by more than {calibration.band:g} (calibration slope"
            f" {number(calibration.slope.value, 'value')}; away from one half"
            f" {sentence(calibration.outward, 'points')}{typical}): the"
            " probability of a letter after one text is not the share of letters, and neither are shares made of it."
        )
    more = (
        f" If there is no difference, about {calibration.needed:,} answers would show it (--calibrate)."
        if calibration.needed
        else ""
    )
    undecided = f"cannot be decided by {basis}: {calibration.why}.{more}"
    return f"whether single answers agree with its token probabilities {undecided}"


def weighing_section(found: Weighing | None, said: Sequence[Callout] | None = None) -> Section | None:
    """The calibration, one row for each model, after what is `said` about it; None if nobody asked for them."""
    from overton.studies.sections import Callout, Column, Method, Section, Table

    if found is None:
        return None
    columns = [
        Column("Model"),
        Column("Single answers and token probabilities"),
        Column("Prompts", "count"),
        Column("Answers", "count"),
        Column("Calibration slope", "value"),
        Column("Mean difference", "points"),
        Column("Away from one half", "points"),
        Column("Typical of a prompt", "share"),
        Column("Largest of a prompt", "points"),
        Column("Without an option", "points"),
    ]
    rows: list[list[Cell]] = [
        [
            name,
            calibration.verdict,
            calibration.prompts,
            calibration.answers,
            calibration.slope,
            calibration.offset,
            calibration.outward,
            calibration.typical,
            calibration.largest,
            calibration.other,
        ]
        for name, calibration in found.calibrations.items()
    ]
    said = [Callout(text, summary=True) for text in weighing_notes(found)] if said is None else said
    return Section(
        "probabilities", "Token probabilities", [*said, Table("Calibration", columns, rows), Method(_METHOD)]
    )


_METHOD = (
    "Differences are shares of single answers minus the probabilities for the same prompts. The slope is Cox's: 1 if"
    " the two agree, below 1 if the probabilities are surer than the answers are. The typical difference of a prompt is"
    " the root mean square of single prompts' differences, without the part that chance adds, and weighted by the"
    " standard deviation of one answer. They agree if the mean difference, the mean one away from one half and the"
    " typical one lie within the band with their intervals; they differ if the line's difference at some prompt, or the"
    " typical one, surely lies beyond it."
)


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
class LabelProbabilityTable:
    """The labels of a judge; `labels` are the values that a label can have.

    `table` has one row for each thing that it labelled, with `model`, `item` (what intervals are over), `label` (None
    if it gave none), `chances` (a list in the order of `labels`, None if there are no probabilities) and `sampled` (the
    single answers drawn as a check, None if there are none).
    """

    labels: Sequence[str]
    table: pl.DataFrame


def label_probabilities(
    tables: Mapping[str, LabelProbabilityTable],
    asked: Iterable[str | None],
    jackknife: Jackknife,
) -> JudgeChances | None:
    """The token probabilities of everything that judges label, by its name; None if no run `asked` for any."""
    found = {what: table for what, table in tables.items() if table.table["label"].count()}
    calibrations = {_judge_title(what, found): _calibrate(table) for what, table in found.items()}
    missing = {
        _judge_title(what, found): count for what, table in found.items() if (count := _count_without_chances(table))
    }
    weighing = resolve_label("as-asked", [mode or "sampled" for mode in asked], calibrations, missing)
    if weighing is None:
        return None
    return JudgeChances(
        weighing, {what: _summarise_by_model(table, weighing, jackknife) for what, table in found.items()}
    )


def _judge_title(what: str, found: Mapping[str, LabelProbabilityTable]) -> str:
    return "judge" if len(found) == 1 else f"judge ({what.replace('_', ' ')})"


def _count_without_chances(labelled: LabelProbabilityTable) -> int:
    table = labelled.table
    return table.filter(table["label"].is_not_null() & table["chances"].is_null()).height


def _calibrate(labelled: LabelProbabilityTable) -> Calibration:
    import polars as pl

    drawn = labelled.table.filter((pl.col("sampled").list.len() > 0) & pl.col("chances").is_not_null())
    return calibrated(drawn["chances"].to_list(), drawn["sampled"].to_list(), labelled.labels)


def _summarise_by_model(
    labelled: LabelProbabilityTable, weighing: Weighing, jackknife: Jackknife
) -> dict[str, LabelChances]:
    import polars as pl

    known = labelled.table.filter(pl.col("label").is_not_null() & pl.col("chances").is_not_null())
    return {
        str(model): _summarise_labels(own, labelled.labels, weighing, jackknife)
        for (model,), own in sorted(known.partition_by("model", as_dict=True).items(), key=lambda part: str(part[0]))
    }


def _summarise_labels(
    own: pl.DataFrame, labels: Sequence[str], weighing: Weighing, jackknife: Jackknife
) -> LabelChances:
    import polars as pl

    chance = {label: pl.col("chances").list.get(place) for place, label in enumerate(labels)}
    given = pl.coalesce(pl.when(pl.col("label") == label).then(probability) for label, probability in chance.items())

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
        mean(pl.sum_horizontal(probability**2 for probability in chance.values())),
        {
            label: LabelShare(mean(pl.col("label") == label), by_probability(probability))
            for label, probability in chance.items()
        },
    )


def probability_notes(found: JudgeChances | None) -> Iterator[str]:
    """The first sentences of a report: measures count labels, and do single answers agree with the probabilities?"""
    if found is None:
        return
    weighing = found.weighing
    if weighing.used:
        yield "Measures count the judge's labels. The shares by its token probabilities are shown beside them."
    else:
        yield f"Measures count the judge's labels. Its token probabilities are not used: {weighing.why}."
    for name, calibration in weighing.calibrations.items():
        yield f"{name}: {verdict_on(calibration)}"
    for name, count in weighing.unweighed.items():
        yield f"{name}: {count:,} labels have no probability, or do not come first in the reply."


def probabilities_section(found: JudgeChances | None) -> Section | None:
    """How sure the judge is of its labels, and how well calibrated; None if no probabilities were asked for."""
    if found is None:
        return None
    said = [Callout(text, summary=True) for text in probability_notes(found)]
    calibration = weighing_section(found.weighing, said)
    assert calibration is not None
    tables = [table for what, by_model in found.labels.items() for table in _label_tables(what, by_model)]
    return Section("judge-probabilities", "Token probabilities of the judge's labels", [*calibration.exhibits, *tables])


def _label_tables(what: str, by_model: Mapping[str, LabelChances]) -> Iterator[Table]:
    if not by_model:
        return
    labels = list(next(iter(by_model.values())).shares)
    columns = [Column("Answers of"), Column("Labels", "count"), Column("Sure of its label", "share")]
    columns.append(Column("Same label twice", "share"))
    columns += [Column(f"{label}, {way}", "share") for label in labels for way in ("label", "probability")]
    rows: list[list[Cell]] = [
        [
            name,
            chances.labels,
            chances.certain,
            chances.same_twice,
            *(
                share
                for label in labels
                for share in (chances.shares[label].by_label, chances.shares[label].by_probability)
            ),
        ]
        for name, chances in by_model.items()
    ]
    yield Table(f"The judge's labels and their probabilities: {what.replace('_', ' ')}", columns, rows, _LABELS_NOTE)


_LABELS_NOTE = (
    "'Sure of its label' is the mean probability, at temperature 1, of the label that the judge gave. 'Same label"
    " twice' is how often two single answers to one question would give the same label. Shares by probability are means"
    " of the probabilities of each label: which share it would have in many answers."
)
