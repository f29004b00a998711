"""Proportions and labels from token probabilities. One call replaces many sampled answers if both give the same
proportions.

A study whose roles choose among options has two settings, `shares: Shares = "sampled"` and `calibrate: Calibrate =
CALIBRATE`. Its `demands` name the roles that must return probabilities. The study asks with `Form(weigh=...)`, finds
the option in the reply (`judging.option_probabilities.chances_at`), and stores the probabilities in separate columns.

`add_calibration` chooses a sample of the study's trials, in which the probabilities are checked. A sampled trial
repeats its request as often as required, and stores the sampled answers in a further column. Each analysis compares
these answers with the probabilities (the run's calibration).

With `auto`, probabilities are used only if they agree with sampled answers for every model that is measured. One
comparison then never mixes probabilities and counts. `statistics.calibration` tests the agreement.

A judge may return probabilities with its label. Measures, comparisons and corrections by human labels use only the
label that the judge wrote. The probabilities show how certain the judge is, and the proportion that each label would
have in many answers.

For each `Question`, the study stores the requested probabilities and the answers sampled by `Question.sample` in
separate columns. It passes these columns to `label_probabilities` as one `LabelProbabilityTable` for each kind of
label.
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
from overton.studies.findings import counted
from overton.studies.numbers import brief_estimate, number
from overton.studies.options import Option
from overton.studies.sections import Callout, Cell, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

    from overton.statistics.calibration import Calibration
    from overton.statistics.jackknife import Jackknife


Shares = Annotated[
    Literal["sampled", "probabilities", "auto"],
    Option(
        "How to estimate proportions of answers: count sampled answers (sampled), read the token probabilities of one"
        " call (probabilities), or use these probabilities only if sampled answers agree with them (auto)"
    ),
]
AsAsked = Annotated[
    Literal["as-asked", "sampled", "probabilities"],
    Option("Whether to compute proportions from token probabilities or by counting sampled answers"),
]
T = TypeVar("T")
HowT = TypeVar("HowT", bound=msgspec.Struct)


def as_single_trial(options: dict[str, Any], models: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Options with one trial of each prompt if probabilities replace repetitions and the user does not set `trials`;
    otherwise unchanged."""
    if options.get("shares") in ("probabilities", "auto") and options.get("trials") is None:
        return {**options, "trials": 1}
    return options


class Weighing(msgspec.Struct, frozen=True):
    """The choice between counts and token probabilities for measured proportions.

    If `used`, proportions are means of token probabilities. `why` is the reason for using counts, '' if no run
    requested probabilities. `calibrations` are by model. `unweighed` counts, by model, the answers whose probability
    the endpoint did not return. Each such answer counts as one sampled answer.
    """

    used: bool
    why: str
    calibrations: dict[str, Calibration]
    unweighed: dict[str, int] = {}


def resolve_label(
    chosen: str, asked: Iterable[str], calibrations: dict[str, Calibration], unweighed: dict[str, int]
) -> Weighing | None:
    """Decide whether proportions are means of probabilities. `chosen` is the user's choice, and `asked` has the setting
    of each run. All models that are measured together get the same decision. Return None if no run requested
    probabilities."""
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
    """Return the options `how` for a null condition, with the same choice between counts and probabilities as in the
    `design`. The options are unchanged if no run has probabilities."""
    if design is None:
        return how
    return msgspec.structs.replace(how, shares="probabilities" if design.used else "sampled")


def calibrated(
    probabilities: Sequence[Sequence[float]], names: Sequence[Sequence[str]], labels: Sequence[str]
) -> Calibration:
    """Compare sampled answers with token probabilities. `probabilities` has the probabilities of all `labels` at each
    prompt, and `names` the labels of the answers sampled at that prompt."""
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
    """The first sentences of a report. They tell how Overton computes the numbers, which are called `what`. For each
    model, they also tell whether answers and probabilities agree."""
    if found is None:
        return
    if found.used:
        yield f"{what} are means of token probabilities, from one reply per prompt."
    else:
        yield f"{what} count sampled answers, although token probabilities were requested, because {found.why}."
    for name, calibration in found.calibrations.items():
        yield f"{name}: {verdict_on(calibration)}"
    for name, count in found.unweighed.items():
        some = counted(count, "answers")
        yield f"{name}: {some} came without a probability for the chosen option. Each counts as one sampled answer."


def verdict_on(calibration: Calibration) -> str:
    """A sentence on whether sampled answers agree with the probabilities. The verdict is yes, no or undecided."""
    if not calibration.answers:
        return "its token probabilities were not checked against sampled answers (add --calibrate 200)."
    basis = f"{calibration.answers:,} single answers at {calibration.prompts} prompts"
    typical = (
        ""
        if isnan(calibration.typical.value)
        else f"; typical difference at a prompt {brief_estimate(calibration.typical, 'share')}"
    )
    if calibration.verdict == "agree":
        return (
            f"{basis} agree with its token probabilities within {calibration.band:g}, on average and at a typical"
            f" prompt (mean difference {brief_estimate(calibration.offset, 'points')}; away from one half"
            f" {brief_estimate(calibration.outward, 'points')}{typical})."
        )
    if calibration.verdict == "differ":
        return (
            f"{basis} differ from its token probabilities by more than {calibration.band:g} (calibration slope"
            f" {number(calibration.slope.value, 'value')}; away from one half"
            f" {brief_estimate(calibration.outward, 'points')}{typical}). Proportions from its token probabilities are"
            " therefore not proportions of its answers."
        )
    more = (
        f" If they agree, about {calibration.needed:,} answers would be enough to show this (--calibrate)."
        if calibration.needed
        else ""
    )
    return f"{basis} cannot show whether they agree with its token probabilities: {calibration.why}.{more}"


def weighing_section(found: Weighing | None, said: Sequence[Callout] | None = None) -> Section | None:
    """The calibration table, one row for each model, after the callouts in `said`; None if no run requested
    probabilities."""
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
    "Differences are shares of sampled answers minus the probabilities for the same prompts. The slope is Cox's"
    " calibration slope: 1 if answers and probabilities agree, below 1 if the probabilities are more extreme than"
    " the answers. The typical difference at a prompt is the root mean square of the differences at single"
    " prompts. Each prompt is weighted by the standard deviation of one answer, and the part that chance adds is"
    " excluded. The verdict compares differences with a band from -0.1 to 0.1. The verdict uses four"
    " differences: the mean difference, the difference away from one half, the typical difference, and (if known) the"
    " difference in answers without an option. Answers and probabilities agree if the intervals of these differences"
    " lie within the band. Answers and probabilities differ if the typical difference, or the difference in answers"
    " without an option, clearly lies outside the band. They also differ if the calibration line clearly leaves the"
    " band at some prompt."
)


class LabelShare(msgspec.Struct, frozen=True):
    """Two estimates of a label's proportion: the proportion among written labels, and the mean of its probabilities."""

    by_label: Estimate
    by_probability: Estimate


class LabelChances(msgspec.Struct, frozen=True):
    """Token probabilities of the labels that a judge gave to one model's answers. Estimates are on [0, 1], with
    intervals over items.

    `labels` counts the labels with probabilities. `certain` is the mean probability of the label that the judge gave.
    `same_twice` is the probability that two answers to one question give the same label. One minus `same_twice`
    measures the judge's own noise.
    """

    labels: int
    certain: Estimate
    same_twice: Estimate
    shares: dict[str, LabelShare]


class JudgeChances(msgspec.Struct, frozen=True):
    """Token probabilities of a judge's labels. `weighing` says whether they are used, and `labels` has summaries by
    kind of label and model."""

    weighing: Weighing
    labels: dict[str, dict[str, LabelChances]]


@dataclass(frozen=True)
class LabelProbabilityTable:
    """A judge's labels of one kind; `labels` are the possible values.

    `table` has one row for each labelled unit. Its columns are `model`, `item` (the clusters that intervals are over),
    `label`, `chances` (a list of probabilities in the order of `labels`) and `sampled` (a list of answers sampled as a
    check). In the last three columns, a missing value is None.
    """

    labels: Sequence[str]
    table: pl.DataFrame


def label_probabilities(
    tables: Mapping[str, LabelProbabilityTable],
    asked: Iterable[str | None],
    jackknife: Jackknife,
) -> JudgeChances | None:
    """The token probabilities of each kind of label, by name; None if no run in `asked` requested probabilities."""
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
    """The first sentences of a report. They state that measures count labels, and whether sampled answers agree with
    the probabilities."""
    if found is None:
        return
    weighing = found.weighing
    if weighing.used:
        yield (
            "Measures count the judge's labels. Shares from the judge's token probabilities are shown next to the"
            " measures."
        )
    else:
        yield f"Measures count the judge's labels. The judge's token probabilities are not used: {weighing.why}."
    for name, calibration in weighing.calibrations.items():
        yield f"{name}: {verdict_on(calibration)}"
    for name, count in weighing.unweighed.items():
        yield (
            f"{name}: {counted(count, 'labels')} without a probability, because the endpoint returned none or the"
            " label was not first in the reply."
        )


def probabilities_section(found: JudgeChances | None) -> Section | None:
    """The judge's certainty of its labels, and its calibration; None if no run requested probabilities."""
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
    " twice' is the probability that two answers to one question give the same label. A label's share by probability is"
    " the mean of its probabilities, which estimates how often the judge would give this label in many answers."
)
