"""Names in lines of pluralism, and what its schema 1 said besides numbers: empty parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ALTERNATIVES", "COUNTS", "FIELDS", "complete", "more_names"]

Json = Any

_SETS = ("global", "supporting", "against")
_VALUES = (
    *("redundancy", "ndcg", "spearman", "kendall", "top_1", "position_accuracy", "mrr_at_10"),
    *("accuracy_first", "accuracy_second", "accuracy", "first_pull"),
)
_EXPERIMENTS = ("sycophancy", "ranking", "pairwise_gap", "pairwise")
COUNTS = _EXPERIMENTS
"""The tables with all conditions."""
_PARTS = frozenset(("precision", "recall", "f1", *map(str, range(1, 51))))
ALTERNATIVES: Mapping[str, frozenset[str]] = {
    "experiment": frozenset(_EXPERIMENTS),
    "set": frozenset((*_SETS, "coverage", "recall_with_false_matches")),
    "part": _PARTS,
    "inner": _PARTS,
    "value": frozenset(_VALUES),
    "shift": frozenset(("suppression", "amplification", "asymmetry")),
}
"""Possible values of some names in lines."""

FIELDS = frozenset(("experiment", "set", "part", "value", "shift"))
"""Names of keys that were also fields. In communities, experiments (`task`) were none; so were `inner` keys."""


def more_names(row: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, str]:
    """Further names of a row: the experiment, and what a condition is compared with."""
    measure = str(row.get("measure"))
    more = {"task": next((name for name in _EXPERIMENTS if measure.startswith(f"{name}_")), "sycophancy")}
    if "other" not in found:
        return more
    arm, other = (found[name].partition("+")[0] for name in ("condition", "other"))
    return {**more, "kind": "twin" if arm == other else other}


def complete(made: Json, document: Json) -> None:
    """An analysis with everything that its lines do not say."""
    nothing: Json = {
        "not_computed": {},
        "models": {},
        "communities": {},
        "self_agreement": {},
        "faults": [],
        "weighing": None,
        "chances": None,
    }
    for name, empty in nothing.items():
        made.setdefault(name, empty)
    made["denominator"] = made["denominator"] or "non-neutral"
    made["models"].pop("unnamed", None)
    for model in made["models"].values():
        model.setdefault("communities", {})
    groups = [made, *made["models"].values()]
    groups += [own for group in groups for own in group["communities"].values()]
    for group in groups:
        for experiment in _EXPERIMENTS:
            for result in group.get(experiment, {}).values():
                result.setdefault("shift", {})
                for compared in result.setdefault("compared", {}).values():
                    _complete_tests(compared)
    for one in made["self_agreement"].values():
        for name in ("kappa", "overlap"):
            one.setdefault(name, None)
    for weighing in filter(None, (made["weighing"], (made["chances"] or {}).get("weighing"))):
        weighing.setdefault("unweighed", {})


def _complete_tests(compared: Json) -> None:
    """Values that are not tested."""
    for key, value in compared.items():
        if key == "condition":
            continue
        if "leads" not in value:
            _complete_tests(value)
            continue
        for variant in value.keys() - {"leads"}:
            value[variant] = {"p": None, "adjusted": None, "of": 0, **value[variant]}
