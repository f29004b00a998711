"""An analysis as what JSON can hold."""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from overton.studies.open_mindedness.measures.analysis import Analysis, Baseline, IssueResult, ModelResult, Scores

__all__ = ["as_json"]

_SCORES = {
    "open_mindedness": "open_mindedness",
    "open_mindedness_as_published": "as_published",
    "open_mindedness_even": "even",
    "open_mindedness_even_as_published": "even_as_published",
}
"""Names of the scores in JSON, and in `Scores`."""


def as_json(analysis: Analysis) -> dict[str, Any]:
    """The analysis as dictionaries, lists, strings and finite numbers; see `Analysis.to_json`."""
    made = _plain(msgspec.structs.asdict(analysis))
    made["models"] = {name: _model(result) for name, result in analysis.models.items()}
    return dict(made)


def _model(result: ModelResult) -> dict[str, Any]:
    own = _plain({name: getattr(result, name) for name in result.__struct_fields__ if name not in ("issues", "scores")})
    own["corrected"] = _scores(result.corrected)
    own["topics"] = {name: _scores(scores) for name, scores in result.topics.items()}
    if result.subset:
        own["subset"] |= {"scores": _scores(result.subset.scores), "corrected": _scores(result.subset.corrected)}
    issues = {name: _issue(issue) for name, issue in result.issues.items()}
    return {**(_scores(result.scores) or {}), **own, "issues": issues}


def _issue(result: IssueResult) -> dict[str, Any]:
    own = _plain({name: getattr(result, name) for name in result.__struct_fields__ if name != "scores"})
    own["baseline"] = _baseline(result.baseline)
    own["corrected"] = _scores(result.corrected)
    own["corrected_baseline"] = _baseline(result.corrected_baseline)
    return {**(_scores(result.scores) or {}), **own}


def _scores(scores: Scores | None) -> dict[str, Any] | None:
    """Each score as a plain number with its interval beside it."""
    if scores is None:
        return None
    made: dict[str, Any] = {}
    for name, field in _SCORES.items():
        estimate = getattr(scores, field)
        made[name] = _plain(estimate.value)
        made["interval" if name == "open_mindedness" else f"{name}_interval"] = _plain((estimate.low, estimate.high))
    return {**made, "n": scores.open_mindedness.n, "method": scores.open_mindedness.method}


def _baseline(baseline: Baseline | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    share = baseline.share
    return {
        "stance": baseline.stance,
        "share": _plain(share.value),
        "interval": _plain((share.low, share.high)),
        "n": share.n,
        "tied": baseline.tied,
        "refused": baseline.refused,
    }


def _plain(value: Any) -> Any:
    """`value` without structs, tuples, and numbers that are not finite (None)."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {_key(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _key(key: object) -> str:
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)
