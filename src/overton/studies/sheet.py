"""What a study's judge labelled, laid out so that a person can label the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measuring import Results

__all__ = ["JudgedRows", "Sheet"]


@dataclass(frozen=True)
class JudgedRows:
    """What a judge labelled.

    `given` has the label of every unit, `drawn` the units at some places: `id`, `label`, `group` (units of one group
    are alike) and the columns `shown` to a person. `labels` are those that it can be, `judge` gave them.
    """

    given: Sequence[str | None]
    drawn: Callable[[Sequence[int]], pl.DataFrame]
    shown: Sequence[str]
    labels: Sequence[str]
    judge: str


@dataclass(frozen=True)
class Sheet:
    """Which labels a person can check: `rows(results, what)` lays out those of the kind `what`, one of `whats`.

    The first of `whats` that the results hold is taken where nobody says; `usual(results)` names it. `size` is how many
    rows a sheet has by default.
    """

    whats: tuple[str, ...]
    rows: Callable[[Results, str], JudgedRows]
    size: int
    usual: Callable[[Results], str] | None = None
