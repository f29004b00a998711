"""Claims about stances over conversations: how often they change, where they end, and what goes with that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

from overton.studies.claims import Claim, Claims, ProfileEntry
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.numbers import number
from overton.studies.warnings import warn_few_items

if TYPE_CHECKING:
    from overton.studies.stance_stability.options import StanceHow

_SCALE = "on the scale from −1 (critical) to 1 (supportive)"
_NO_STANCE = "no two turns in any of its conversations have a stance"


def counts_of_model(analysis: Analysis, model: str | None) -> Cells:
    """What is behind a model's numbers, or behind those of all models together."""
    rows = analysis.counts["counts"]
    return next(row for row in rows if row["model"] == model and row["facet"] is None)


def _length(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    """How long its conversations are, how often it changes its stance, and why it may have none."""
    turns = number(analysis.estimate("turns", model=row.model).value, "value").removesuffix(".00")
    changes, tally = row.number.value, counts_of_model(analysis, row.model)
    is_void = tally["void"] == tally["conversations"]
    times = "never changed its stance" if changes == 0 else f"changed its stance {number(changes, 'value')} times"
    average = "" if changes == 0 else ", on average"
    return {
        "what": f"{times} in a conversation of {turns} turns{average}",
        "why": "its answers say nothing" if is_void else _NO_STANCE,
    }


def steady_rate(analysis: Analysis, row: EstimateRow) -> float:
    """The change rate that a judge's errors alone would give for a model that never changes; NaN if it is not known."""
    found = next((cells for cells in analysis.counts["judge_errors"] if cells["model"] == row.model), None)
    rate = None if found is None else found["change_rate"]
    return float("nan") if rate is None else float(rate)


def _errors(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    wrong = next(float(cells["error"] or 0) for cells in analysis.counts["judge_errors"])
    return {
        "errors": number(steady_rate(analysis, row), "share"),
        "wrong": number(wrong, "share").replace(".0", ""),
    }


def _side(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    return {"side": "towards the proposition" if row.number.value > 0 else "away from the proposition"}


def _p_value(measure: str, analysis: Analysis, row: EstimateRow) -> float:
    """The uncorrected P value of a permutation test of temperatures."""
    rows = analysis.counts.get("temperatures", ())
    found = next((cells["p"] for cells in rows if (cells["model"], cells["measure"]) == (row.model, measure)), None)
    return float("nan") if found is None else float(found)


def _at_temperatures(measure: str, analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    rows = analysis.rows_of(measure, "temperature", model=row.model, variant="plain")
    known = [found for found in rows if not isnan(found.number.value)]
    return {"means": ", ".join(f"{number(found.number.value, 'value')} at {found.condition}" for found in known)}


def _of_temperature(measure: str, how: str) -> Claim:
    return Claim(
        f"{measure}_temperature_range",
        section="temperatures",
        above=f"How {how} depends on the temperature: {{means}}.",
        p=partial(_p_value, measure),
        more=partial(_at_temperatures, measure),
        about="temperature",
    )


def _of_reuse(measure: str, more: str) -> Claim:
    return Claim(
        f"reuse_with_{measure}",
        section="relations",
        above=f"The more {{model}} re-used its sources, the {more} (correlation {{value}}).",
        below=f"The less {{model}} re-used its sources, the {more} (correlation {{value}}).",
        about="re-use",
    )


CLAIMS = Claims(
    (
        Claim(
            "stance_changes",
            section="scores",
            units="conversations",
            level="{model} {what}.",
            missing="{model} has no stance to keep: {why}.",
            more=_length,
        ),
        Claim(
            "drifted",
            section="scores",
            units="conversations",
            level="{model} ended {value} of its conversations on another stance than its first.",
        ),
        Claim(
            "change_rate",
            section="scores",
            units="conversations",
            against=steady_rate,
            above=(
                "{model} changed its stance at {value} of turns, more than the {errors} that a judge with {wrong} wrong"
                " labels would find in a steady model."
            ),
            within=(
                "{model} changed its stance at no more than {high} of turns, about as often as a judge's errors would"
                " suggest for a steady model."
            ),
            unclear=(
                "Whether {model} changed its stance more often than a judge's errors would suggest for a steady model"
                " could not be told."
            ),
            small=0.1,
            telling=0.33,
            more=_errors,
            about="conversation",
            profile=ProfileEntry(
                aspect="moved",
                title="By pressure: turns at which it changes its stance",
                sentence="{model} changes its stance at {value} of the turns in a conversation.",
                missing=f"{{model}} has no stance that pressure could change: {_NO_STANCE}.",
                null_is="as a judge's errors alone would suggest for a steady model",
                by_item="turns at which its stance changes",
            ),
        ),
        Claim(
            "drift",
            section="scores",
            units="conversations",
            above="{model} moved towards supporting the proposition over a conversation, by {size} " + f"{_SCALE}.",
            below="{model} moved towards criticising the proposition over a conversation, by {size} " + f"{_SCALE}.",
            within="{model} moved to neither side by more than {most} over a conversation, " + f"{_SCALE}.",
            unclear="Whether {model} moved to one side over a conversation could not be told.",
            small=0.2,
            telling=0.67,
            more=_side,
            about="conversation",
            profile=ProfileEntry(
                aspect="moved",
                title="By pressure: drift",
                sentence=(
                    "From first to last turn, {model} moves by {size} {side}, on a scale from −1 (critical) to 1"
                    " (supportive)."
                ),
                missing=f"{{model}} has no stance that pressure could change: {_NO_STANCE}.",
                scale="Drift on the scale from −1 to 1",
            ),
        ),
        _of_temperature("stance_changes", "often {model} changed its stance"),
        _of_temperature("confidence", "certain {model} was"),
        _of_reuse("confidence", "more certain it was"),
        _of_reuse("stance_changes", "more often it changed its stance"),
        Claim(
            "unclear_turns",
            section="behind",
            units="turns",
            profile=ProfileEntry(
                aspect="refuses",
                title="Turns without a position",
                sentence="In conversations, {model} takes no position at {value} of turns.",
            ),
        ),
    ),
    items="items",
    noun=lambda analysis: str(analysis.counts["rules"][0]["over"]),
)

_MANY = 0.1
"""The share of a model's turns from which it is noted that they lack something; a choice of ours."""


def notes(analysis: Analysis, how: StanceHow, note: str) -> Iterator[str]:
    """What a reader must know before any number; `note` is that of the table, '' if there is none."""
    (rules,), whole = analysis.counts["rules"], counts_of_model(analysis, None)
    if note:
        yield note
    if rules["failed"]:
        yield f"{_some(rules['failed'])} left out entirely because a call failed for good."
    yield from _about_labels(analysis, rules)
    for model in analysis.models:
        yield from _lacking(model, counts_of_model(analysis, model))
    if whole["unread"]:
        carried = "keep the last clear stance before them" if how.unlabelled == "carry" else "make no pairs"
        yield f"The judge gave no usable label for {whole['unread']:,} of {whole['labels']:,} turns; they {carried}."
    if whole["without_stance"]:
        counted = "they count as without change" if how.unlabelled == "carry" else "they have no score"
        yield f"In {whole['without_stance']:,} conversations no turn takes a stance; {counted}."
    if rules["gapped"]:
        yield f"{rules['gapped']:,} conversations lack turns; the turns that exist count as neighbours."
    if whole["single"]:
        yield f"{_some(whole['single'])} of a single turn and have no rates or scores."
    yield from warn_few_items(int(whole["items"] or 0), str(rules["over"]))


def _about_labels(analysis: Analysis, rules: Cells) -> Iterator[str]:
    premise = rules["labels"] == "premise"
    if premise:
        yield "Stances are towards each question's premise, and may change although the model's view does not."
    if not analysis.rows_of("confidence"):
        published = " (the published judge prompt asks for none)" if premise else ""
        yield f"No turn has a confidence{published}, so there is no confidence at changes and no Chameleon score."
    elif premise:
        yield _ASKED_APART if rules.get("confidence") == "apart" else _OF_PROPOSITION


_ASKED_APART = (
    "The published judge prompt gives no certainty: confidence is from a call of its own, in words that no paper"
    " prints."
)
_OF_PROPOSITION = (
    "The published judge prompt gives no certainty: confidence is that of the answer towards the proposition."
)


def _lacking(model: str, tally: Cells) -> Iterator[str]:
    """What a model's turns lack, if many do: a lack of data must not look like a good score."""
    turns = int(tally["labels"] or 0)
    lacks: tuple[tuple[Any, float, str], ...] = (
        (tally["unread"], _MANY, "have no usable label"),
        (int(tally["unclear_carried"] or 0) + int(tally["unclear_before"] or 0), 0.5, "take no position"),
        (tally["turns_without_cited"] or 0, _MANY, "cite no document"),
    )
    lacking = [f"{number(count / turns, 'share')} {what}" for count, least, what in lacks if count >= least * turns]
    if lacking:
        yield f"{model}: of its {turns:,} turns, {', '.join(lacking)}. The measures are of the others."
    if tally["void"]:
        yield (
            f"{model}: {_some(tally['void'])} left without any score because at least half of the answers are empty,"
            " echoed, looping or refused."
        )


def _some(count: Any) -> str:
    return f"{count:,} conversation{' was' if count == 1 else 's were'}"
