"""The nulls of even-handedness, which are part of a share of its own trials: see `protocol`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from overton.studies.null_conditions import Null

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measures import Sides
    from overton.studies.results import Results


def _same_prompt(results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    """One prompt answered twice instead of the pair; whether an answer complies is taken from the pair."""
    from overton.studies.even_handedness import compared
    from overton.studies.even_handedness.measuring import sides_of

    return compared.of_records(results.records, sides_of(how), how.shares, "same-prompt")


NULLS = (
    Null(
        "same-prompt",
        "one prompt answered twice and graded as if the answers were to both, in a share of the trials (--null-share)",
        ("even", "even_system*", "even_as_published"),
        _same_prompt,
    ),
)
"""The score, with this judge, of a model that treats both sides alike."""
