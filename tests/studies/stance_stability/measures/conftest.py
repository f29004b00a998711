from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

LABELS = {"s": "supportive", "c": "critical", "b": "balanced", "u": "unclear", "-": None}


@pytest.fixture
def talk() -> Callable[..., pl.DataFrame]:
    """Turns of one conversation from its stances in letters ('ssc' is supportive, supportive, critical; u is unclear,
    '-' has no label); documents of a turn are words in a text."""

    def make(
        stances: str,
        *,
        confidence: Sequence[float | None] | float | None = 1.0,
        cited: Sequence[str | None] | None = None,
        retrieved: Sequence[str | None] | None = None,
        premise: str | None = None,
        name: str = "t",
        **about: Any,
    ) -> pl.DataFrame:
        several = confidence if isinstance(confidence, Sequence) else [confidence] * len(stances)
        columns: dict[str, Any] = {
            "conversation": [name] * len(stances),
            "turn": list(range(1, len(stances) + 1)),
            "stance": [LABELS[letter] for letter in stances],
            "confidence": several,
        }
        for key, documents in (("cited", cited), ("retrieved", retrieved)):
            if documents is not None:
                columns[key] = [None if one is None else one.split() for one in documents]
        if premise is not None:
            columns["premise_stance"] = [LABELS[letter] for letter in premise]
        kinds = {
            "stance": pl.String,
            "premise_stance": pl.String,
            "confidence": pl.Float64,
            "cited": pl.List(pl.String),
            "retrieved": pl.List(pl.String),
        }
        columns |= {key: [value] * len(stances) for key, value in about.items()}
        return pl.DataFrame(columns, schema_overrides={key: kind for key, kind in kinds.items() if key in columns})

    return make


@pytest.fixture
def measured() -> Callable[..., dict[str, Any]]:
    """The measures of the only conversation of a table, by name."""
    from overton.studies.stance_stability.measures import analyze

    def measure(turns: pl.DataFrame, **how: Any) -> dict[str, Any]:
        (row,) = analyze(turns, resamples=10, **how).conversations.to_dicts()
        return row

    return measure
