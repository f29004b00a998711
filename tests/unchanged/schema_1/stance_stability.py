"""Documents of schema 1 of stance stability: what it said where there is nothing, and its names of conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from overton.studies.stance_stability.declarations import COMPARED, MEASURES, RELATED
from overton.studies.stance_stability.layouts.conversations import conversation_names
from overton.studies.stance_stability.record import ABOUT

from .rows import KeyWords, frame_of

__all__ = ["ALTERNATIVES", "complete", "estimates"]

Json = Any
_SCHEMA = Path(__file__).with_name("stance-stability.json")
"""The JSON Schema of schema 1, by which `estimates()` built its rows."""
_BESIDE = ("findings", "against_null", "judges", "labels")
"""The keys that the platform adds to an analysis."""

_ADDED = {"longest_run"}
"""Measures that schema 1 did not have."""

ALTERNATIVES = {
    name: frozenset(measure.name for measure in measures) - _ADDED
    for name, measures in (("measure", MEASURES), ("compared", COMPARED), ("related", RELATED))
}
"""Possible values of names in braces."""

_KINDS = ("temperatures", "domains", "orderings", "initial_beliefs", "debate_strengths")
_COUNTS = ("pairs", "stance_changes", "reversals", "balanced_moves", "unclear_moves", "premise_changes", "turns")
_MORE_COUNTS = ("turn_of_flip", "flips", "unlabelled", "unclear_carried", "unclear_before")
_NO_DOCUMENTS = "the table has neither cited nor retrieved documents"
_MEASURED = ("change_rate", "source_reuse", "chameleon")


def complete(made: Json, document: Json) -> None:
    """Further values of schema 1 that `stance-stability.csv` does not name."""
    for name in (*_KINDS, "topics", "correlations", "judge_alone", "self_agreement"):
        made.setdefault(name, {})
    for name in ("temperature_variance", "by_turn", "bins", "faults"):
        made.setdefault(name, [])
    for name in ("premise", "chances"):
        made.setdefault(name, None)
    for group in [made["overall"], *(group for kind in _KINDS for group in made[kind].values())]:
        _complete_group(group)
    for model in made["models"].values():
        _complete_group(model)
        for kind in _KINDS:
            for group in model.setdefault(kind, {}).values():
                _complete_group(group)
    for name, found in made["correlations"].items():
        found |= {"measure": name, "models": found.get("models", {})}
    _complete_lists(made)
    made["conversations"] = _conversations(document["tables"]["conversations"])
    made["not_computed"] = _not_computed(made)
    _put_against_nulls(made, document.get("against_null") or ())


def _complete_lists(made: Json) -> None:
    for found in made["temperature_variance"]:
        groups = made["models"][found["model"]]["temperatures"]
        means = {heat: group[found["measure"]] for heat, group in groups.items() if found["measure"] in group}
        known = {heat: mean for heat, mean in means.items() if mean["plain"]["estimate"] is not None}
        found["means"] = {heat: {"leads": "plain", "plain": mean["plain"]} for heat, mean in known.items()}
    for found in made["by_turn"]:
        found.setdefault("temperature", None)
        found.setdefault("source_reuse", _missing("the table has no documents"))
    for found in made["bins"]:
        low, _, high = found["low"].partition(" to ")
        found |= {"low": float(low), "high": float(high)}
    for name, found in made["topics"].items():
        found["domain"] = name
    for found in made["self_agreement"].values():
        found.setdefault("overlap", None)
    if made["chances"] is not None:
        made["chances"]["weighing"].setdefault("unweighed", {})


def _put_against_nulls(made: Json, against: Json) -> None:
    """Differences from null conditions as variants of headlines: the first that a measure has is not named."""
    for found in against:
        headline = made["models"][found["model"]][found["measure"]]
        name = f"against_null_{found['null']}" if "against_null" in headline else "against_null"
        verdict = {key: found[key] for key in ("null", "verdict")}
        headline[name] = {**found["difference"]["plain"], **verdict}


def _complete_group(group: Json) -> None:
    for name in ("bands", "reuse_bands", "over", "sd"):
        group.setdefault(name, {})


def _missing(why: str) -> Json:
    return {"leads": "plain", "plain": {"estimate": None, "interval": [None, None], "n": 0, "method": "", "why": why}}


def _conversations(rows: Json) -> Json:
    table = pl.DataFrame(rows, infer_schema_length=None)
    unknown = [name for name in ABOUT if table[name].null_count() == table.height]
    counts = [name for name in (*_COUNTS, *_MORE_COUNTS) if name in table.columns]
    counts += [name for name in table.columns if name.startswith("turns_without_")]
    shown = table.drop("conversation", *unknown, *_ADDED).with_columns(pl.col(counts).cast(pl.Int64))
    return dict(zip(conversation_names(table), shown.to_dicts(), strict=True))


def _not_computed(made: Json) -> Json:
    overall = made["overall"]
    reasons = {
        "source_reuse": ("source_reuse" in overall, _NO_DOCUMENTS),
        "confidence": ("confidence" in overall, "no turn has a confidence"),
        "chameleon": ("chameleon" in overall, "it needs documents and confidence"),
        "spreads": (len(made["temperatures"]) > 1, "there is only one temperature"),
        "domains": (bool(made["domains"]), "no turn has a domain"),
        "premise": (
            "premise_changes" in overall or made["reading"]["labels"] == "premise",
            "no turn has a label of the published prompt",
        ),
    }
    found = {name: why for name, (there, why) in reasons.items() if not there}
    for name in _MEASURED:
        if name in overall and overall[name]["plain"]["estimate"] is None:
            found[name] = overall[name]["plain"]["why"]
    return found


def estimates(made: Json) -> pl.DataFrame:
    """The rows of `estimates()` as they were."""
    own = {name: _without_nulls(value) for name, value in made.items() if name not in _BESIDE}
    words = KeyWords("stance-stability", frozenset(made["models"]), frozenset(("topic", "topics", "item", "items")))
    return frame_of(own, json.loads(_SCHEMA.read_text("utf-8")), words)


def _without_nulls(made: Json) -> Json:
    if isinstance(made, list):
        return [_without_nulls(inner) for inner in made]
    if not isinstance(made, dict):
        return made
    return {key: _without_nulls(inner) for key, inner in made.items() if not key.startswith("against_null")}
