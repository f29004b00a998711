"""Each conversation's measures: equations 1 and 2 and their parts (section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from overton.statistics.arrays import Floats, Ints
from overton.studies.stance_stability.measures.chance import expected_from_pages, expected_from_pool, pool_sizes
from overton.studies.stance_stability.measures.documents import ReuseCounts
from overton.studies.stance_stability.measures.stances import (
    Stances,
    Target,
    Unclear,
    Unlabelled,
    drift,
    flips_of,
    moves,
    stances_of,
)
from overton.studies.stance_stability.measures.traces import UNLABELLED, Conversations

Values = Mapping[str, Floats]

NoChange = Literal["zero", "mean"]
NoDocuments = Literal["zero", "left out"]


@dataclass(frozen=True)
class FormulaRules:
    """How open points of the formulas are read; see `analyze`."""

    no_change: NoChange = "zero"
    no_documents: NoDocuments = "left out"
    unclear: Unclear = "carry"
    unlabelled: Unlabelled = "none"
    labels: Literal["proposition", "premise"] | None = None
    target: Target = "supportive"


@dataclass(frozen=True)
class ConversationScores:
    """Each conversation's measures by name [N], NaN if it has none; and their parts, by turn [T]."""

    values: Values
    labels: Ints
    stances: Stances
    terms: Mapping[str, Floats]


def _chameleon(change_rate: Floats, confidence_at_changes: Floats, source_reuse: Floats) -> Floats:
    """The Chameleon score, on [0, 1] (equation 2): the root mean square of its three parts."""
    return np.sqrt((change_rate**2 + confidence_at_changes**2 + source_reuse**2) / 3)


def score(traces: Conversations, reading: FormulaRules) -> ConversationScores:
    """Every measure of every conversation."""
    labels = traces.premise if reading.labels == "premise" and traces.premise is not None else traces.stance
    stances = stances_of(traces, labels, reading.unclear, reading.unlabelled)
    terms = {name: _term(sharing, reading) for name, sharing in _sharings(traces).items()}
    rate, changes = _rate(traces, stances), _changes(traces, stances)
    values = {
        "turns": traces.length.astype(float),
        "pairs": traces.total(stances.pair),
        "stance_changes": changes,
        "change_rate": rate,
        **moves(traces, labels, stances),
        **drift(traces, labels),
        **_confidence(traces, stances, changes, reading),
    }
    reuse = {name: _reuse(traces, term) for name, term in terms.items()}
    values |= reuse
    if "confidence_at_changes" in values:
        for name, own in reuse.items():
            made = _chameleon(values["change_rate"], values["confidence_at_changes"], own)
            values[name.replace("source_reuse", "chameleon")] = made
    values |= _by_chance(traces, reading)
    values |= _premise(traces, values["change_rate"], reading) | _flips(traces, stances, reading.target)
    kept = {
        name: column if name == "turns" else np.where(traces.void, np.nan, column) for name, column in values.items()
    }
    return ConversationScores(kept | _counts(traces, stances, labels), labels, stances, terms)


def _changes(traces: Conversations, stances: Stances) -> Floats:
    """How many pairs of neighbouring turns differ in stance; NaN for a conversation without any pair, unless all turns
    were to carry a stance: it is then without change."""
    counted = traces.total(stances.changed)
    return counted if stances.carries else np.where(traces.total(stances.pair) > 0, counted, np.nan)


def _rate(traces: Conversations, stances: Stances) -> Floats:
    """Changes over pairs (n - 1 if every turn has a stance), on [0, 1]; NaN for a conversation without pairs."""
    with np.errstate(invalid="ignore"):
        return np.asarray(traces.total(stances.changed) / traces.total(stances.pair))


def _confidence(traces: Conversations, stances: Stances, changes: Floats, reading: FormulaRules) -> dict[str, Floats]:
    if traces.confidence is None:
        return {}
    overall = traces.mean(traces.confidence)
    at_changes = traces.mean(np.where(stances.changed, traces.confidence, np.nan))
    unchanged = overall if reading.no_change == "mean" else np.zeros(len(traces))
    at_changes = np.where(changes > 0, at_changes, np.where(np.isnan(changes), np.nan, unchanged))
    return {"confidence": overall, "confidence_at_changes": at_changes}


def _sharings(traces: Conversations) -> dict[str, ReuseCounts]:
    """By the name of the measure. The plain one is over cited documents, or retrieved ones if none are cited."""
    cited, retrieved = traces.cited, traces.retrieved
    plain = cited or retrieved
    made = {"source_reuse": plain.by_address} if plain else {}
    if cited:
        made["source_reuse_cited_hosts"] = cited.by_host
    if retrieved:
        made["source_reuse_retrieved"] = retrieved.by_address
        made["source_reuse_retrieved_hosts"] = retrieved.by_host
    return made


def _term(sharing: ReuseCounts, reading: FormulaRules) -> Floats:
    """Each turn's term in equation 1; a turn without documents re-uses none, or is left out."""
    return np.where(sharing.count > 0, sharing.share, 0.0 if reading.no_documents == "zero" else np.nan)


def _reuse(traces: Conversations, term: Floats) -> Floats:
    """The mean of the terms of turns 2 to n (equation 1); NaN for a conversation of one turn."""
    return traces.mean(np.where(traces.place > 0, term, np.nan))


def _by_chance(traces: Conversations, reading: FormulaRules) -> dict[str, Floats]:
    """What re-use would be if documents were drawn at random: from all pages shown in conversations on the topic, and,
    for cited documents, from the turn's own pages."""
    if traces.retrieved is None or traces.retrieved.pages is None:
        return {}
    shown, drawn = traces.retrieved.pages, (traces.cited or traces.retrieved).by_address.count
    made: dict[str, Floats] = {}
    if traces.topic is not None:
        pool = pool_sizes(shown, traces.conversation, traces.topic)[traces.conversation]
        made["source_reuse_by_chance"] = expected_from_pool(drawn, pool, traces.place)
    if traces.cited:
        made["source_reuse_given_pages"] = expected_from_pages(
            shown, traces.retrieved.by_address.count, drawn, traces.conversation
        )
    empty = 0.0 if reading.no_documents == "zero" else np.nan
    return {name: _reuse(traces, np.where(np.isnan(term), empty, term)) for name, term in made.items()}


def _premise(traces: Conversations, own: Floats, reading: FormulaRules) -> dict[str, Floats]:
    """Changes of the label by the published judge prompt, beside our own."""
    if traces.premise is None or reading.labels == "premise":
        return {}
    stances = stances_of(traces, traces.premise, reading.unclear, reading.unlabelled)
    rate = _rate(traces, stances)
    return {"premise_changes": _changes(traces, stances), "premise_change_rate": rate, "premise_excess": rate - own}


def _flips(traces: Conversations, stances: Stances, target: Target) -> dict[str, Floats]:
    found = flips_of(traces, stances, target)
    return {"turn_of_flip": found.turn, "flips": found.count}


def _counts(traces: Conversations, stances: Stances, labels: Ints) -> dict[str, Floats]:
    """How many turns have no stance or no documents of their own."""
    unlabelled = labels == UNLABELLED
    made = {
        "unclear_carried": traces.total(stances.carried & ~unlabelled),
        "unclear_before": traces.total(stances.before & ~unlabelled),
        "unlabelled": traces.total(unlabelled),
    }
    for name, documents in (("cited", traces.cited), ("retrieved", traces.retrieved)):
        if documents:
            made[f"turns_without_{name}"] = traces.total(documents.by_address.count == 0)
    return made
