"""An analysis as what JSON can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import msgspec
import polars as pl

from overton.statistics import Estimate
from overton.studies.stance_stability.measures.analysis import Analysis, Group, ModelResult

__all__ = ["as_json", "conversation_names"]

_ABOUT = ("conversation", "model", "temperature", "domain", "topic", "ordering")
_WHOLE = ("turns", "stance_changes", "premise_changes", "turn_of_flip", "flips", "unlabelled")
_WHOLE_PREFIXES = ("unclear_", "turns_without_")


def as_json(analysis: Analysis, *, conversations: bool) -> dict[str, object]:
    """The analysis as dictionaries, lists, strings and finite numbers; see `Analysis.to_json`."""
    return {
        **({"conversations": _conversations(analysis.conversations)} if conversations else {}),
        "overall": _group(analysis.overall),
        "models": {name: _model(one) for name, one in analysis.models.items()},
        "domains": _groups(analysis.domains),
        "temperatures": _groups(analysis.temperatures),
        "orderings": _groups(analysis.orderings),
        "correlations": {one.measure: _plain(one) for one in analysis.correlations},
        "temperature_variance": _plain(analysis.spreads),
        "by_turn": _plain(analysis.by_turn),
        "bins": _plain(analysis.bins),
        "topics": {one.domain: _plain(one) for one in analysis.counts},
        "premise": _plain(analysis.premise),
        "tally": _plain(analysis.tally),
        "tallies": _plain(analysis.tallies),
        "failed": analysis.failed,
        "gapped": analysis.gapped,
        "documents": analysis.documents,
        "reading": analysis.reading,
        "level": analysis.level,
        "resamples": analysis.resamples,
        "seed": analysis.seed,
        "over": analysis.over,
        "not_computed": analysis.not_computed,
        "notes": list(analysis.notes),
    }


def conversation_names(about: pl.DataFrame) -> list[str]:
    """A name for each conversation: its own; after the model's, and the temperature's, where others share it."""
    model, temperature = (
        pl.col("model"),
        pl.format("temperature {}", pl.col("temperature").cast(pl.String).fill_null("own")),
    )
    named = about.select("conversation", "model", "temperature").with_columns(
        alone=pl.col("conversation").is_unique(), of_model=pl.struct("model", "conversation").is_unique()
    )
    name = (
        pl.when("alone")
        .then("conversation")
        .when("of_model")
        .then(pl.format("{}/{}", model, "conversation"))
        .otherwise(pl.format("{}/{}/{}", model, temperature, "conversation"))
    )
    return named.select(name.alias("name"))["name"].to_list()


def _conversations(table: pl.DataFrame) -> dict[str, Any]:
    whole = [name for name in table.columns if name in _WHOLE or name.startswith(_WHOLE_PREFIXES)]
    shown = table.drop("conversation").with_columns(pl.col(whole).cast(pl.Int64))
    return dict(zip(conversation_names(table), shown.to_dicts(), strict=True))


def _model(one: ModelResult) -> dict[str, Any]:
    inner = {kind: _groups(getattr(one, kind)) for kind in ("temperatures", "domains", "orderings")}
    return _group(one.overall) | inner


def _groups(groups: Mapping[str, Group]) -> dict[str, Any]:
    return {name: _group(one) for name, one in groups.items()}


def _group(one: Group) -> dict[str, Any]:
    measures = {name: {**_estimate(found.mean), "sd": _plain(found.sd)} for name, found in one.measures.items()}
    return {
        "conversations": one.conversations,
        **measures,
        "bands": _plain(one.bands),
        "reuse_bands": _plain(one.reuse_bands),
        "over": _plain(one.over),
    }


def _plain(value: Any) -> Any:
    """`value` without structs, tuples, and numbers that are not finite (None)."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Estimate):
        return _estimate(value)
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
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
