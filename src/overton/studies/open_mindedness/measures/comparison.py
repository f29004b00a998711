"""Several models side by side, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from overton.statistics import Estimate
from overton.statistics.resampling import Bootstrap
from overton.studies.open_mindedness.measures.analysis import Comparison
from overton.studies.open_mindedness.measures.arguments import ArgumentTable, agreements, median_agreement
from overton.studies.open_mindedness.measures.cells import Cells
from overton.studies.open_mindedness.measures.disagreement import choose_controversial, disagreements
from overton.studies.open_mindedness.measures.shares import ShareTable
from overton.studies.open_mindedness.measures.summaries import share_of_issues

__all__ = ["Chosen", "compare"]


@dataclass(frozen=True)
class Chosen:
    """What a user chooses for a comparison.

    `families` maps models to families. `controversial` is how many issues make the controversial subset, or names them.
    """

    families: Mapping[str, str]
    controversial: int | Sequence[str]


def compare(
    cells: Cells,
    tables: Sequence[ShareTable],
    arguments: ArgumentTable | None,
    chosen: Chosen,
    bootstrap: Bootstrap,
) -> Comparison | None:
    """The models side by side; None where there is only one."""
    if len(cells.models) < 2:
        return None
    level = bootstrap.level
    found = disagreements(cells, tables, level)
    pairs = agreements(cells, arguments, chosen.families, bootstrap) if arguments else ()

    def share(flag: str) -> Estimate:
        flags = [getattr(one, flag) for one in found.values()]
        return share_of_issues(flags, level, "no issue has baseline answers of every model")

    return Comparison(
        models=cells.models,
        issues=found,
        unanimous=share("unanimous"),
        consistent_90=share("consistent_90"),
        consistent_95=share("consistent_95"),
        controversial=share("controversial"),
        subset=choose_controversial(found, chosen.controversial),
        agreements=pairs,
        within_families=median_agreement(pairs, same_family=True, level=level),
        between_families=median_agreement(pairs, same_family=False, level=level),
        not_computed={} if arguments else {"agreements": "no record shows arguments"},
    )
