"""What is shown of runs that stopped once precise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from overton.analysis.results import is_weighted
from overton.runs.run import Run
from overton.studies.precision import Wanted

if TYPE_CHECKING:
    from overton.studies.exhibits import Section

__all__ = ["precision_sections"]


def _section(run: Run) -> Section | None:
    """The section of one run, None if it asked its whole plan."""
    from overton.studies.precision_shown import precision_section

    wanted: Wanted | None = run.manifest.precision
    if wanted is None or not run.manifest.precise:
        return None
    return precision_section(wanted, run.manifest.precise, run.study.items.noun.capitalize(), weighted=is_weighted(run))


def precision_sections(runs: Sequence[Run]) -> Iterator[Section]:
    """One section for each such run; several are distinguished by their folders."""
    for number, run in enumerate(runs):
        if (found := _section(run)) is not None:
            several = len(runs) > 1
            key = f"{found.key}-{number + 1}" if several else found.key
            yield replace(found, key=key, title=f"{found.title} of {run.path.name}" if several else found.title)
