"""Conversations as what JSON can hold, each under a name of its own."""

from __future__ import annotations

from typing import Any

import polars as pl

__all__ = ["conversation_names", "conversations_by_name"]

_WHOLE = ("turns", "stance_changes", "premise_changes", "turn_of_flip", "flips", "unlabelled")
_WHOLE_PREFIXES = ("unclear_", "turns_without_")


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


def conversations_by_name(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """A row of an analysis' `conversations` for each name; what counts something is a whole number."""
    whole = [name for name in table.columns if name in _WHOLE or name.startswith(_WHOLE_PREFIXES)]
    shown = table.drop("conversation").with_columns(pl.col(whole).cast(pl.Int64))
    return dict(zip(conversation_names(table), shown.to_dicts(), strict=True))
