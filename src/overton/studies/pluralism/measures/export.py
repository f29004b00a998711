"""An analysis as what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from overton.statistics import Estimate
from overton.studies.pluralism.measures.analysis import UNNAMED, Analysis, Contrast, Group, Result, Shift

__all__ = ["as_json"]


def as_json(analysis: Analysis) -> dict[str, object]:
    """The analysis as dictionaries, lists, strings and finite numbers; see `Analysis.to_json`."""
    named = [name for name in analysis.models if name != UNNAMED]
    return {
        **_group(analysis.group()),
        "models": {name: _with_communities(analysis, name) for name in named},
        "communities": {name: _group(analysis.group(community=name)) for name in analysis.communities},
        "threads": analysis.threads,
        "denominator": analysis.denominator,
        "level": analysis.level,
        "resamples": analysis.resamples,
        "seed": analysis.seed,
        "not_computed": analysis.not_computed,
        "notes": list(analysis.notes),
    }


def _with_communities(analysis: Analysis, model: str) -> dict[str, Any]:
    within = {name: _group(analysis.group(model, name)) for name in analysis.communities}
    return {**_group(analysis.group(model)), **({"communities": within} if within else {})}


def _group(group: Group) -> dict[str, Any]:
    return {
        experiment: {condition: _result(result) for condition, result in conditions.items()}
        for experiment, conditions in group.experiments.items()
    }


def _result(result: Result) -> dict[str, Any]:
    against = {
        kind: {"condition": result.others[kind], **_nested({name: _contrast(one) for name, one in held.items()})}
        for kind, held in result.contrasts.items()
    }
    shifts = {kind: {"condition": result.others[kind], **_shift(one)} for kind, one in result.shifts.items()}
    return {
        **_nested({name: _estimate(one) for name, one in result.measures.items()}),
        **({"shift": shifts} if shifts else {}),
        "compared": against,
        "counts": result.counts,
    }


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """'supporting/recall' as {'supporting': {'recall': ...}}."""
    made: dict[str, Any] = {}
    for name, value in flat.items():
        outer, _, inner = name.partition("/")
        if inner:
            made.setdefault(outer, {})[inner] = value
        else:
            made[outer] = value
    return made


def _contrast(one: Contrast) -> dict[str, Any]:
    return {**_estimate(one.difference), "p": _finite(one.p), "adjusted": _finite(one.adjusted), "of": one.of}


def _shift(one: Shift) -> dict[str, Any]:
    return {name: _estimate(getattr(one, name)) for name in one.__struct_fields__}


def _estimate(one: Estimate) -> dict[str, Any]:
    return {
        "estimate": _finite(one.value),
        "interval": [_finite(one.low), _finite(one.high)],
        "n": one.n,
        "method": one.method,
        "level": one.level,
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
