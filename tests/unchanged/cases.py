"""The cases to run: small designs that reach every branch that is cheap. '@' stands for the endpoint's address.

Options are named as they were when the results were recorded; `mapping` says how they are called today.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TABLES = Path(__file__).with_name("tables")
DATA = Path(__file__).parents[1] / "data"

FEW = {"resamples": 200, "seed": 3}
"""For analyses that show the wiring; those with `MANY` show that intervals are as wide as they were."""
MANY = {"resamples": 2000, "seed": 3}


@dataclass(frozen=True)
class Case:
    """A run of a study: who answers, what shapes it, and the analyses of it by name."""

    study: str
    models: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only: tuple[str, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    model_args: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    analyses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    documents: bool = True
    """Whether analyses are kept as documents, too, and not only as numbers by what they measure."""


EVERY_CONDITION = (
    *("baseline", "one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced"),
    *("three-pro", "three-con"),
)

_VALUES = {"values": ("simulated/values-judge",)}
_STANCES = {"judge": ("simulated/stance-judge",), "search": ("starter",)}
_VIEWS = {"judge": ("simulated/pluralist-judge",)}

ITEMS = {"stance-stability": TABLES / "topics.jsonl"}
"""Starter items as they were when results were recorded, of studies that have others now."""

STUDIES: dict[str, Case] = {
    "open-mindedness-all-issues": Case(
        "open-mindedness",
        ("simulated/open-minded",),
        options={"trials": 1, "wordings": [1]},
        model_args={"simulated/open-minded": {"letter": "0.3", "refusal": "0.03"}},
        analyses={"many": MANY},
    ),
    "open-mindedness-three-models": Case(
        "open-mindedness",
        ("simulated/open-minded", "@#opinion", "@#held"),
        only=("cashless-shops", "voting-age", "museum-returns"),
        options={
            "trials": 2,
            "draws": 1,
            "templates": [2, 5],
            "wordings": [2, 1],
            "conditions": ["baseline", "balanced", "one-sided-pro", "one-sided-con"],
        },
        model_args={
            "simulated/open-minded": {"first": "0.4", "refusal_with_arguments": "0.1"},
            "@#opinion": {"seed": "11", "temperature": "0.7", "max_tokens": "40"},
            "@#held": {"hold": "true", "seed": "12"},
        },
        analyses={"few": FEW, "published": {**FEW, "reading": "published", "controversial": 2, "level": 0.9}},
    ),
    "open-mindedness-every-condition": Case(
        "open-mindedness",
        ("simulated/open-minded",),
        only=("cashless-shops",),
        options={"trials": 1, "templates": [3], "conditions": list(EVERY_CONDITION)},
        analyses={},
    ),
    "deliberation-all-dilemmas": Case(
        "deliberation",
        ("simulated/deliberator", "simulated/deliberator/firm"),
        _VALUES,
        options={"formats": ["synchronous", "round-robin"]},
        model_args={"simulated/deliberator/firm": {"inertia": "2.5", "conformity_within": "0.2"}},
        analyses={"many": {**MANY, "others": True}},
    ),
    "deliberation-three-agents": Case(
        "deliberation",
        ("simulated/deliberator", "@#verdict", "simulated/deliberator"),
        _VALUES,
        only=("boiler-loan-in-the-family-chat",),
        options={
            "formats": ["round-robin", "synchronous"],
            "goals": ["correctness", "balanced"],
            "sizes": [2, 3],
            "rounds": 3,
        },
        model_args={
            "simulated/deliberator": {"invalid": "0.1", "invalid_again": "0.3"},
            "@#verdict": {"seed": "4", "temperature": "1"},
            "simulated/values-judge": {"miss": "0.1", "outside": "0.1", "invalid": "0.1"},
        },
        analyses={
            "few": {**FEW, "level": 0.9},
            "together": {**FEW, "goals": "together", "estimator": "taste", "conformity": "by model"},
            "paper": {**FEW, "estimator": "paper"},
        },
    ),
    "deliberation-without-values": Case(
        "deliberation",
        ("simulated/deliberator", "simulated/deliberator/b", "simulated/deliberator/c"),
        options={
            "formats": ["round-robin", "synchronous"],
            "named_orders": [[2, 1, 3], [3, 1]],
            "trials": 2,
            "rounds": 2,
        },
        analyses={"few": FEW},
    ),
    "stance-stability-all-topics": Case(
        "stance-stability",
        ("simulated/chameleon", "simulated/chameleon/steady"),
        _STANCES,
        options={"turns": 4, "temperatures": [0.5]},
        model_args={"simulated/chameleon/steady": {"change": "0.05"}},
        analyses={"many": MANY},
    ),
    "stance-stability-orderings": Case(
        "stance-stability",
        ("simulated/chameleon",),
        _STANCES,
        only=("nutrition-low-carbohydrate-first", "education-policy-school-phones"),
        options={
            "temperatures": [0.0, None, 1.0],
            "orderings": ["fixed", "shuffled", "grouped"],
            "trials": 2,
            "turns": 4,
            "pages": 2,
            "page_characters": 500,
            "context_characters": 900,
            "history_characters": 600,
            "judged_characters": 900,
            "judge_prompts": "both",
        },
        model_args={
            "simulated/chameleon": {"unclear": "0.1", "citations": "1"},
            "simulated/stance-judge": {"invalid": "0.1", "wrong": "0.05"},
        },
        analyses={
            "few": FEW,
            "other": {
                **FEW,
                "no_change": "mean",
                "no_documents": "left out",
                "unclear": "stance",
                "target": "first",
                "over": "topics",
            },
        },
    ),
    "stance-stability-shared-queries": Case(
        "stance-stability",
        ("simulated/chameleon", "simulated/chameleon/b"),
        {**_STANCES, "queries": ("simulated/chameleon/writer",)},
        only=("nutrition-low-carbohydrate-first",),
        options={"turns": 3, "judge_prompts": "published"},
        analyses={"few": FEW},
    ),
    "pluralism-all-threads": Case(
        "pluralism",
        ("simulated/pluralist",),
        _VIEWS,
        options={"responses": 6},
        analyses={"many": MANY},
    ),
    "pluralism-two-models": Case(
        "pluralism",
        ("simulated/pluralist", "simulated/pluralist/blunt"),
        _VIEWS,
        only=("free-buses", "the-top-note", "a-chamber-by-lot"),
        options={
            "efforts": [None, "low"],
            "mitigation": True,
            "responses": 3,
            "candidates": 3,
            "ranked": 5,
            "pairs": 2,
            "gap": 2,
        },
        model_args={
            "simulated/pluralist/blunt": {"suppress": "0.8", "accuracy": "0.5"},
            "simulated/pluralist-judge": {"invalid": "0.05", "miss": "0.1", "extra": "0.05"},
        },
        analyses={"few": {**FEW, "denominator": "labelled", "level": 0.9}},
    ),
    "pluralism-pairs": Case(
        "pluralism",
        ("simulated/pluralist",),
        _VIEWS,
        only=("free-buses", "the-top-note"),
        options={
            "experiments": ["sycophancy", "pairwise"],
            "pairings": ["random-gap"],
            "arms": ["neutral", "toward"],
            "independent": True,
            "matching": "pairs",
            "responses": 2,
            "candidates": 2,
        },
        analyses={"few": FEW},
    ),
    "pluralism-lexical": Case(
        "pluralism",
        ("simulated/pluralist",),
        _VIEWS,
        only=("free-buses",),
        options={"experiments": ["sycophancy"], "matching": "lexical", "responses": 3},
        analyses={"few": FEW},
    ),
}

_GRADES = {"judge": ("simulated/even-judge",)}
STUDIES |= {
    "even-handedness-all-pairs": Case(
        "even-handedness",
        ("simulated/advocate", "partial=simulated/advocate"),
        _GRADES,
        options={"nulls": 1.0, "systems": ["Be brief."]},
        model_args={
            "partial": {"weaker": "0.3", "hedges": "0.2", "refuses": "0.1"},
            "simulated/even-judge": {"noise": "0.05", "pull": "0.1"},
        },
        analyses={"default": {}, "level": {"level": 0.9}},
    ),
    "even-handedness-probabilities": Case(
        "even-handedness",
        ("simulated/advocate/b",),
        _GRADES,
        options={"trials": 2, "shares": "probabilities", "retest": 0.2, "nulls": 0.2},
        model_args={"simulated/advocate/b": {"favours": "b", "declines": "0.1"}},
        analyses={"default": {}},
    ),
}
"""Recorded by version 0.2.0; the others were recorded earlier."""

STUDIES |= {
    "even-handedness-clear": Case(
        "even-handedness",
        ("partial=simulated/advocate",),
        _GRADES,
        options={"nulls": 1.0},
        model_args={"partial": {"weaker": "0.9"}},
        analyses={"default": {}},
        documents=False,
    ),
    "stance-stability-clear": Case(
        "stance-stability",
        ("simulated/chameleon",),
        _STANCES,
        options={"turns": 4, "temperatures": [0.5], "trials": 2, "nulls": ["no-history"]},
        model_args={"simulated/chameleon": {"change": "0.9"}},
        analyses={"default": {}},
        documents=False,
    ),
}
"""Recorded later: headlines that are clearly below and above their null conditions, as no other pinned one is."""


@dataclass(frozen=True)
class Table:
    """A table that a study reads, and how it is analysed."""

    study: str
    path: Path
    how: Mapping[str, Any]


TABLE_CASES: dict[str, Table] = {
    "counts": Table("open-mindedness", DATA / "millstone" / "gpt-4o-counts.csv", MANY),
    "records": Table("open-mindedness", TABLES / "answers.csv", {**FEW, "controversial": 2}),
    "decisions": Table("deliberation", TABLES / "decisions.jsonl", {**FEW, "others": True}),
    "decisions-taste": Table("deliberation", TABLES / "decisions.jsonl", {**FEW, "estimator": "taste"}),
    "decisions-paper": Table("deliberation", TABLES / "decisions.jsonl", {**FEW, "estimator": "paper"}),
    "turns": Table("stance-stability", TABLES / "turns.jsonl", FEW),
    "published-flips": Table("stance-stability", TABLES / "flips.csv", MANY),
    "matches": Table("pluralism", TABLES / "matches.jsonl", {**FEW, "summaries": TABLES / "summaries.jsonl"}),
    "rankings": Table("pluralism", TABLES / "rankings.jsonl", FEW),
    "pairs": Table("pluralism", TABLES / "pairs.jsonl", FEW),
}

TOGETHER: dict[str, tuple[str, ...]] = {
    "together-open-mindedness": (
        "open-mindedness-defaults#careful",
        "open-mindedness-precision#swayed",
        "open-mindedness-repeats#swayed",
    ),
    "together-stance-stability": (
        "stance-stability-defaults#steady",
        "stance-stability-repeats#drifting",
        "stance-stability-null-conditions#drifting",
    ),
    "together-pluralism": (
        "pluralism-defaults#plain",
        "pluralism-repeats#plain",
        "pluralism-labels-single-match#blunt",
    ),
    "together-deliberation": ("deliberation-defaults#firm", "deliberation-repeats#open", "deliberation-precision#firm"),
    "together-even-handedness": (
        "even-handedness-defaults#fair",
        "even-handedness-repeats#partial",
        "even-handedness-probabilities#partial",
    ),
}
"""Models of three stored runs, which are compared pairwise with simultaneous intervals."""
