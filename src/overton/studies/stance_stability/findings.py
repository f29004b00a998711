"""Claims about stances in conversations: how often they change, how far they drift, and which properties are associated
with changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

from overton.studies.claims import Claim, Claims, ProfileEntry
from overton.studies.findings import counted
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.numbers import brief_number, number
from overton.studies.warnings import warn_few_items

if TYPE_CHECKING:
    from overton.studies.stance_stability.options import StanceHow

_SCALE = "on the scale from −1 (critical) to 1 (supportive)"
_NO_STANCE = "no two turns in any of its conversations have a stance"


def counts_of_model(analysis: Analysis, model: str | None) -> Cells:
    """The counts behind a model's numbers, or behind the numbers of all models together if `model` is None."""
    rows = analysis.counts["counts"]
    return next(row for row in rows if row["model"] == model and row["facet"] is None)


def _length(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    """The words of a finding: the model's number of stance changes and of turns, and the reason if it has no stance."""
    turns = number(analysis.estimate("turns", model=row.model).value, "value").removesuffix(".00")
    changes, tally = row.number.value, counts_of_model(analysis, row.model)
    is_void = tally["void"] == tally["conversations"]
    often = "never changed its stance"
    if changes != 0:
        often = f"changed its stance {number(changes, 'value')} times on average"
    return {
        "what": f"{often} in a conversation of {turns} turns",
        "why": "its answers have no usable content" if is_void else _NO_STANCE,
    }


def steady_rate(analysis: Analysis, row: EstimateRow) -> float:
    """The change rate that a judge's errors alone would give for a model that never changes its stance; NaN if
    unknown."""
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
    """The uncorrected p value of the permutation test between temperatures."""
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
        above=f"The temperature changes how {how}: {{means}}.",
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
            missing="{model} has no stance that could change: {why}.",
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
                "{model} changed its stance at {value} of turns. A judge with {wrong} wrong labels would report only"
                " {errors} for a model that never changes."
            ),
            within=(
                "{model} changed its stance at no more than {high} of turns, about as often as a judge's errors alone"
                " would suggest."
            ),
            unclear=(
                "The data do not show whether {model} changed its stance more often than a judge's errors alone would"
                " suggest."
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
                null_is="as a judge's errors alone would suggest",
                by_item="turns at which its stance changes",
            ),
        ),
        Claim(
            "drift",
            section="scores",
            units="conversations",
            above="{model} moved towards supporting the proposition over a conversation, by {size} " + f"{_SCALE}.",
            below="{model} moved towards criticising the proposition over a conversation, by {size} " + f"{_SCALE}.",
            within="{model} moved at most {most} to either side over a conversation, " + f"{_SCALE}.",
            unclear="The data do not show whether {model} drifted towards one side over a conversation.",
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
"""If at least this proportion of a model's turns lack a label or a cited document, a warning says so. Overton chose
it."""


def notes(analysis: Analysis, how: StanceHow, note: str) -> Iterator[str]:
    """Notes to read before any number; `note` is the note on the table, '' if there is none."""
    (rules,), whole = analysis.counts["rules"], counts_of_model(analysis, None)
    if note:
        yield note
    if rules["failed"]:
        yield f"{_some(rules['failed'])} left out entirely because a call failed permanently."
    yield from _about_labels(analysis, rules)
    for model in analysis.models:
        yield from _lacking(model, counts_of_model(analysis, model))
    if whole["unread"]:
        carried = "keep the last clear stance" if how.unlabelled == "carry" else "are left out of pairs of turns"
        yield (
            f"The judge gave no usable label for {whole['unread']:,} of {whole['labels']:,} turns. Turns without a"
            f" label {carried}."
        )
    if whole["without_stance"]:
        so = "They count as conversations without change." if how.unlabelled == "carry" else "They have no score."
        yield f"{_conversations(whole['without_stance'])} without any stance. {so}"
    if rules["gapped"]:
        gapped = _conversations(rules["gapped"])
        yield f"{gapped} with missing turns. The turns before and after a gap count as neighbours."
    if single := whole["single"]:
        yield f"{_conversations(single)} with a single turn, which {_have(single)} no rates or scores."
    yield from warn_few_items(int(whole["items"] or 0), str(rules["over"]))


def _about_labels(analysis: Analysis, rules: Cells) -> Iterator[str]:
    premise = rules["labels"] == "premise"
    if premise:
        yield (
            "Stances are towards each question's premise, so stances may change although the model's view stays the"
            " same."
        )
    if not analysis.rows_of("confidence"):
        published = " because the published judge prompt does not ask for one" if premise else ""
        yield f"No turn has a confidence{published}. So there is no confidence at changes and no Chameleon score."
    elif premise:
        yield _ASKED_APART if rules.get("confidence") == "apart" else _OF_PROPOSITION


_ASKED_APART = (
    "The published judge prompt does not ask for certainty. Overton asks for certainty in a separate call, with its"
    " own prompt."
)
_OF_PROPOSITION = (
    "The published judge prompt does not ask for certainty. Confidence comes from the prompt on the proposition."
)


def _lacking(model: str, tally: Cells) -> Iterator[str]:
    """Warnings about data that many of a model's turns lack, because a lack of data must not look like a good score."""
    turns = int(tally["labels"] or 0)
    lacks: tuple[tuple[Any, float, str], ...] = (
        (tally["unread"], _MANY, "have no usable label"),
        (int(tally["unclear_carried"] or 0) + int(tally["unclear_before"] or 0), 0.5, "take no position"),
        (tally["turns_without_cited"] or 0, _MANY, "cite no document"),
    )
    lacking = [
        f"{brief_number(count / turns, 'share', turns)} {what}"
        for count, least, what in lacks
        if count >= least * turns
    ]
    if lacking:
        used = "Each measure leaves out the turns that it cannot use."
        yield f"{model}: of its {turns:,} turns, {', '.join(lacking)}. {used}"
    if tally["void"]:
        yield (
            f"{model}: {_some(tally['void'])} not scored, because at least half of the answers are empty, echoed,"
            " repetitive or refused."
        )


def _some(count: Any) -> str:
    return f"{count:,} conversation{' was' if count == 1 else 's were'}"


def _conversations(count: Any) -> str:
    return f"There {'is' if count == 1 else 'are'} {counted(int(count), 'conversations')}"


def _have(count: Any) -> str:
    return "has" if count == 1 else "have"
