"""An analysis as what JSON can hold."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

import msgspec

from overton.statistics import Estimate
from overton.studies.deliberation.measures.analysis import (
    Analysis,
    Choice,
    ConsensusResult,
    Contrast,
    OrderEffects,
    Parameter,
    Setting,
    Spread,
    ValueUse,
)

__all__ = ["as_json"]

_ALL = "all"


def as_json(analysis: Analysis) -> dict[str, Any]:
    """The analysis as dictionaries, lists, strings and finite numbers; see `Analysis.to_json`."""
    return {
        "choice_model": _choice(analysis.choice[0]) if analysis.choice else None,
        "choice_models": _by_goal(analysis.choice),
        "choice_models_by_estimator": _by_estimator(analysis.others),
        "change_of_verdict": {
            **_plain(analysis.changes.by_model),
            "settings": _plain(analysis.changes.settings),
            "contrasts": _keyed(analysis.changes.contrasts),
        },
        "consensus": _consensus(analysis.consensus),
        "verdicts": _plain(analysis.verdicts),
        "archetypes": _plain(analysis.archetypes),
        "values": _values(analysis),
        "order": _order(analysis.order),
        "steering": _plain(analysis.steering),
        "crowd": _crowd(analysis),
        "tally": _plain(analysis.tally),
        "models": list(analysis.models),
        "estimator": analysis.estimator,
        "conformity": analysis.conformity,
        "level": analysis.level,
        "resamples": analysis.resamples,
        "seed": analysis.seed,
        "not_computed": analysis.not_computed,
        "notes": list(analysis.notes),
    }


def _by_goal(fits: Iterable[Choice]) -> dict[str, Any]:
    return {one.goal or _ALL: _choice(one) for one in fits}


def _by_estimator(fits: Iterable[Choice]) -> dict[str, Any]:
    made: dict[str, list[Choice]] = {}
    for one in fits:
        made.setdefault(one.estimator, []).append(one)
    return {name: _by_goal(several) for name, several in made.items()}


def _choice(one: Choice) -> dict[str, Any]:
    own = _plain({name: getattr(one, name) for name in one.__struct_fields__ if name not in ("previous", "within")})
    return {**own, "conformity": {"previous": _plain(one.previous), "within": _plain(one.within)}}


def _consensus(result: ConsensusResult) -> dict[str, Any]:
    settings = [{**_plain(setting), **_plain(one)} for setting, one in result.settings]
    return {**_plain(result.overall), "settings": settings, "formats": _keyed(result.formats)}


def _values(analysis: Analysis) -> dict[str, Any] | None:
    if analysis.values is None:
        return None
    return {
        "use": [_use(one) for one in analysis.values.use],
        "similarity": _plain(analysis.values.similarity),
        "inheritance": _plain(analysis.values.inheritance),
    }


def _use(one: ValueUse) -> dict[str, Any]:
    differences = [{"value": value, **_plain(contrast)} for value, contrast in one.differences]
    return {"setting": _plain(one.setting), "models": _plain(one.models), "differences": differences}


def _order(order: OrderEffects | None) -> dict[str, Any] | None:
    if order is None:
        return None
    changes = [{"setting": _plain(setting), "model": model, **_plain(one)} for setting, model, one in order.changes]
    return {"speakers": _plain(order.speakers), "at_once": _keyed(order.at_once), "changes": changes}


def _crowd(analysis: Analysis) -> dict[str, Any] | None:
    if analysis.crowd is None:
        return None
    settings = [{**_plain(setting), "consensus": _plain(one)} for setting, one in analysis.crowd.settings]
    return {**_plain(analysis.crowd), "settings": settings}


def _keyed(pairs: Iterable[tuple[Setting, Contrast]]) -> list[dict[str, Any]]:
    return [{"setting": _plain(setting), **_plain(contrast)} for setting, contrast in pairs]


def _plain(value: Any) -> Any:
    """`value` without structs, tuples, and numbers that are not finite (None)."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Estimate):
        return _estimate(value)
    if isinstance(value, (Parameter, Spread)):
        rest = _plain({name: getattr(value, name) for name in value.__struct_fields__ if name not in ("low", "high")})
        return {**rest, "interval": [_plain(value.low), _plain(value.high)]}
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _estimate(one: Estimate) -> dict[str, Any]:
    return {
        "estimate": _plain(one.value),
        "interval": [_plain(one.low), _plain(one.high)],
        "n": one.n,
        "method": one.method,
        "level": one.level,
    }
