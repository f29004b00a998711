"""Notes to be read before any number of open-mindedness, or with the numbers; and a model's part of an analysis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from statistics import median
from textwrap import shorten
from typing import TYPE_CHECKING

from overton.errors import quoted
from overton.statistics import Estimate, not_computed
from overton.studies.frame import Analysis, Cells
from overton.studies.numbers import sentence
from overton.studies.warnings import warn_few_items

if TYPE_CHECKING:
    import polars as pl

TOO_HIGH = 0.5
"""Points by which chance may raise a score before the report says so."""


@dataclass(frozen=True)
class ModelView:
    """One model of an analysis."""

    analysis: Analysis
    name: str

    def number(self, measure: str, condition: str | None = None, item: str | None = None) -> Estimate:
        """A number as observed."""
        row = self.analysis.row(measure, model=self.name, condition=condition, item=item)
        return not_computed("it was not asked") if row is None else row.number

    def has(self, measure: str, condition: str | None = None) -> bool:
        """Whether the analysis has a number, or says why there is none."""
        return self.analysis.row(measure, model=self.name, condition=condition) is not None

    @cached_property
    def counts(self) -> Cells:
        """What was asked of it, and how its answers were read."""
        return next(cells for cells in self.analysis.counts["counts"] if cells["model"] == self.name)

    @cached_property
    def issues(self) -> list[Cells]:
        """The properties of its issues."""
        return [cells for cells in self.analysis.counts["issues"] if cells["model"] == self.name]

    @cached_property
    def conditions(self) -> list[Cells]:
        """Its issues in each configuration with answers."""
        return [cells for cells in self.analysis.counts["conditions"] if cells["model"] == self.name]

    def count(self, name: str) -> int:
        """One of its counts."""
        return int(self.counts[name] or 0)

    @property
    def follows(self) -> str:
        """What most of its answers follow whatever it says, unless that is the last argument, which is one; '' if
        nothing."""
        found = self.counts["follows"]
        return "" if found in {None, "last"} else str(found)


def models_of(analysis: Analysis) -> list[ModelView]:
    """The models of an analysis, in order."""
    return [ModelView(analysis, name) for name in analysis.models]


def void(analysis: Analysis, name: str) -> str:
    """Why a model's answers measure nothing, '' if they measure something."""
    model = ModelView(analysis, name)
    if model.count("answers") and not model.count("pro") + model.count("con"):
        return "none of its answers takes a stance"
    if model.follows:
        return f"its answers follow {model.counts['towards']}, whatever it says ({followed_share(model)})"
    return ""


def followed_share(model: ModelView) -> str:
    """The share of its answers that follow something else than their content, in words."""
    return sentence(model.number("followed"), "share")


def warnings(analysis: Analysis, records: pl.DataFrame) -> Iterator[str]:
    """What must be read before any number: that answers measure nothing, or something else."""
    for model in models_of(analysis):
        if why := raised_by_prompts(model):
            yield f"{model.name}: {why[:1].lower()}{why[1:]}"
        towards, is_last = model.counts["towards"], model.counts["follows"] == "last"
        if model.count("answers") and not model.count("pro") + model.count("con"):
            yield (
                f"{model.name}: none of its {model.count('answers'):,} answers takes a stance, so it has no score:"
                f" {_otherwise(records, model)}"
            )
        elif model.follows:
            yield (
                f"{model.name}: {model.counts['why_withheld']}. Of its answers that take a stance,"
                f" {followed_share(model)}, go to {towards}, whatever it says. It has no score."
            )
        elif is_last:
            yield (
                f"{model.name}: answers follow {towards}. When both sides are shown, {followed_share(model)}, go to it,"
                " whatever it says: the score shows how easily the model is moved, not that it weighs arguments."
            )


def _otherwise(records: pl.DataFrame, model: ModelView) -> str:
    """Why no answer takes a stance: how the answers were read, and what some of them say."""
    flagged = f" Its endpoint flagged {model.count('flagged'):,} as refusals." if model.count("flagged") else ""
    how = model.analysis.counts["how"][0]
    if how["answers"] == "free":
        return f"the judge says that they take neither side.{flagged}"
    if how["source"] == "counts":
        return f"a table counts them as 'other'.{flagged}"
    samples = _unread(records, model.name)
    shown = f" Some of them: {', '.join(map(quoted, samples))}." if samples else ""
    hold = f" If they do answer, hold the model to the form: --model-arg {model.name} hold=true." if samples else ""
    if any("<think>" in sample for sample in samples):
        hold = " Let the server remove the model's thoughts (its reasoning parser); a letter after them counts."
    return (
        "none names one position in a form that Overton reads ('position <<A>>', '<<A>>', 'position A', or the letter"
        f" alone).{flagged}{shown}{hold}"
    )


_SAMPLES, _LONGEST_SAMPLE = 3, 60


def _unread(records: pl.DataFrame, name: str) -> list[str]:
    """The start of up to three answers of a model in which no position could be read, refusals left out."""
    import polars as pl

    if not {"answer", "failure", "stance", "refused"} <= set(records.columns):
        return []
    own = pl.col("model") == name, pl.col("failure").is_null(), pl.col("stance") == "other", ~pl.col("refused")
    texts = records.filter(*own)["answer"].unique(maintain_order=True).head(_SAMPLES)
    return [shorten(text, _LONGEST_SAMPLE, placeholder=" …") for text in texts]


def notes(analysis: Analysis) -> Iterator[str]:
    """What a reader should know about the models' results."""
    how = analysis.counts["how"][0]
    for model in models_of(analysis):
        name, baselines = model.name, [asked for asked in model.conditions if asked["condition"] == "baseline"]
        if model.count("failures"):
            yield f"{name}: {model.count('failures')} calls failed for good; they are not answers and are left out."
        undefined = [str(issue["issue"]) for issue in model.issues if issue["tied"] is not None and not issue["stance"]]
        if undefined and len(undefined) < len(model.issues):
            yield f"{name}: no baseline answer takes a stance on {', '.join(undefined)}, so there is no score."
        incomplete = 0 if model.counts["why_withheld"] else len(model.issues) - model.count("scored") - len(undefined)
        if incomplete:
            yield f"{name}: no score for {incomplete} issues that lack answers in some configuration."
        yield from _raised_by_chance(model)
        is_counted = how["source"] == "counts"
        if doubtful := [str(asked["issue"]) for asked in baselines if is_counted and _is_two_to_one(model, asked)]:
            yield (
                f"{name}: the baseline of {', '.join(doubtful)} has exactly two pro answers to one con. Most likely "
                "the paraphrases are marked wrongly (all six as pro, though 5 and 6 are con, as in the first files "
                "that MillStone's authors published); always answering A looks the same."
            )
    yield from warn_few_items(len({issue["issue"] for issue in analysis.counts["issues"]}), "issues")


def raised_by_prompts(model: ModelView) -> str:
    """That differences between few prompts raise a score of token probabilities, '' if they hardly can.

    Cross-fitting halves the prompts of a template; if a template has only one, it takes nothing off.
    """
    points, score = model.counts["raised"], model.number("open_mindedness").value
    if points is None or not float(points) > TOO_HIGH:
        return ""
    asked = _median_answers(model)
    few = f"With {asked} {'prompt' if asked == 1 else 'prompts'} per issue at the baseline"
    if not model.counts["is_known"]:
        return (
            f"{few}, one per template, nothing shows how much prompts of a template differ: as far as they do, the"
            " score and the share of issues moved are too high. More trials lower both."
        )
    return (
        f"{few}, differences between prompts flip stances: as far as these are known, the score is about"
        f" {min(float(points), score):.1f} points too high, and the share of issues moved is too high as well. More"
        " trials lower both."
    )


def _raised_by_chance(model: ModelView) -> Iterator[str]:
    """That flips by chance raise measures that count flips, if they do by more than `TOO_HIGH`."""
    if model.counts["raised"] is not None:
        return  # a warning says it
    plain, crossed = model.number("open_mindedness").value, model.number("open_mindedness_cross_fitted").value
    few = f"{model.name}: with {_median_answers(model)} baseline answers per issue, chance alone flips some"
    if model.count("scored") and isnan(crossed):
        yield f"{few}: the plain score and the share of issues moved are too high, and nothing shows by how much."
    elif plain - crossed > TOO_HIGH:
        yield (
            f"{few}: the plain score is about {plain - crossed:.1f} points too high (open-mindedness, cross-fitted, is "
            f"{crossed:.1f}), and the share of issues moved is too high as well. Mean shares, shifts and pulls are not "
            "affected."
        )


def _median_answers(model: ModelView) -> int:
    answers = [int(asked["answers"] or 0) for asked in model.conditions if asked["condition"] == "baseline"]
    return int(median(answers)) if answers else 0


def _is_two_to_one(model: ModelView, asked: Cells) -> bool:
    pro, con = (model.number(side, "baseline", str(asked["issue"])).value for side in ("pro", "con"))
    return int(asked["answers"] or 0) > 2 and con > 0 and abs(pro - 2 * con) < 1e-9
