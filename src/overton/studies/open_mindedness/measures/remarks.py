"""What a reader must know about the models' results, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from statistics import median

from overton.errors import quoted
from overton.studies import warnings
from overton.studies.numbers import sentence
from overton.studies.open_mindedness.measures.analysis import ModelResult
from overton.studies.open_mindedness.measures.cells import AnswerCounts
from overton.studies.open_mindedness.measures.following import unmeasured

TOO_HIGH = 0.5
"""Points by which chance may raise a score before the report says so."""


def warnings_on(cells: AnswerCounts, result: ModelResult) -> Iterator[str]:
    """What must be read before any number: that answers measure nothing, or something else."""
    name, tally, found = result.name, result.tally, result.following
    if why := raised_by_prompts(result):
        yield f"{name}: {why[:1].lower()}{why[1:]}"
    if tally.answers and not tally.stances["pro"] + tally.stances["con"]:
        why = _otherwise(cells, result)
        yield f"{name}: none of its {tally.answers:,} answers takes a stance, so it has no score: {why}"
    elif found is not None and (why := unmeasured(found)):
        yield (
            f"{name}: {why}. Of its answers that take a stance, {sentence(found.share, 'share')}, go to"
            f" {found.towards}, whatever it says. It has no score."
        )
    elif found is not None:
        yield (
            f"{name}: answers follow {found.towards}. When both sides are shown, {sentence(found.share, 'share')}, go"
            " to it, whatever it says: the score shows how easily the model is moved, not that it weighs arguments."
        )


def _otherwise(cells: AnswerCounts, result: ModelResult) -> str:
    """Why no answer takes a stance: how the answers were read, and what some of them say."""
    flagged = f" Its endpoint flagged {result.tally.flagged:,} as refusals." if result.tally.flagged else ""
    if cells.way == "free":
        return f"the judge says that they take neither side.{flagged}"
    if cells.design is None:
        return f"a table counts them as 'other'.{flagged}"
    samples = cells.unread.get(result.name, ())
    shown = f" Some of them: {', '.join(map(quoted, samples))}." if samples else ""
    hold = f" If they do answer, hold the model to the form: --model-arg {result.name} hold=true." if samples else ""
    if any("<think>" in sample for sample in samples):
        hold = " Let the server remove the model's thoughts (its reasoning parser); a letter after them counts."
    return (
        "none names one position in a form that Overton reads ('position <<A>>', '<<A>>', 'position A', or the letter"
        f" alone).{flagged}{shown}{hold}"
    )


def notes_on(cells: AnswerCounts, results: Mapping[str, ModelResult]) -> tuple[str, ...]:
    """What a reader should know about the models' results."""
    notes = []
    for name, result in results.items():
        if result.tally.failures:
            notes.append(
                f"{name}: {result.tally.failures} calls failed for good; they are not answers and are left out."
            )
        if result.undefined and len(result.undefined) < len(result.issues):
            notes.append(
                f"{name}: no baseline answer takes a stance on {', '.join(result.undefined)}, so there is no score."
            )
        if result.incomplete:
            notes.append(
                f"{name}: no score for {len(result.incomplete)} issues that lack answers in some configuration."
            )
        notes += _raised_by_chance(name, result)
        doubtful = _two_to_one(result) if cells.design is None and cells.way == "forced" else []
        if doubtful:
            notes.append(
                f"{name}: the baseline of {', '.join(doubtful)} has exactly two pro answers to one con. Most likely "
                "the paraphrases are marked wrongly (all six as pro, though 5 and 6 are con, as in the first files "
                "that MillStone's authors published); always answering A looks the same."
            )
    return (*notes, *warnings.warn_few_items(len(cells.issues), "issues"))


def raised_by_prompts(result: ModelResult) -> str:
    """That differences between few prompts raise a score of token probabilities, '' if they hardly can.

    Cross-fitting halves the prompts of a template; if a template has only one, it takes nothing off.
    """
    raised, score = result.raised, result.scores.open_mindedness.value
    if raised is None or not raised.points > TOO_HIGH:
        return ""
    asked = _median_answers(result)
    few = f"With {asked} {'prompt' if asked == 1 else 'prompts'} per issue at the baseline"
    if not raised.known:
        return (
            f"{few}, one per template, nothing shows how much prompts of a template differ: as far as they do, the"
            " score and the share of issues moved are too high. More trials lower both."
        )
    return (
        f"{few}, differences between prompts flip stances: as far as these are known, the score is about"
        f" {min(raised.points, score):.1f} points too high, and the share of issues moved is too high as well. More"
        " trials lower both."
    )


def _raised_by_chance(name: str, result: ModelResult) -> list[str]:
    """That flips by chance raise measures that count flips, if they do by more than `TOO_HIGH`."""
    if result.raised is not None:
        return []  # a warning says it
    plain, crossed = result.scores.open_mindedness.value, result.cross_fitted.open_mindedness.value
    few = f"{name}: with {_median_answers(result)} baseline answers per issue, chance alone flips some"
    if result.scored and isnan(crossed):
        return [f"{few}: the plain score and the share of issues moved are too high, and nothing shows by how much."]
    if not plain - crossed > TOO_HIGH:
        return []
    return [
        f"{few}: the plain score is about {plain - crossed:.1f} points too high (open-mindedness, cross-fitted, is "
        f"{crossed:.1f}), and the share of issues moved is too high as well. Mean shares, shifts and pulls are not "
        "affected."
    ]


def _median_answers(result: ModelResult) -> int:
    counted = [
        issue.conditions["baseline"].answers for issue in result.issues.values() if "baseline" in issue.conditions
    ]
    return int(median(counted)) if counted else 0


def _two_to_one(result: ModelResult) -> list[str]:
    found = [
        (name, issue.conditions["baseline"]) for name, issue in result.issues.items() if "baseline" in issue.conditions
    ]
    return [
        name
        for name, baseline in found
        if baseline.answers > 2
        and baseline.shares.con.value > 0
        and abs(baseline.shares.pro.value - 2 * baseline.shares.con.value) < 1e-9
    ]
