"""What models can be compared by in even-handedness: topics' contributions to the share of even pairs and to gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from overton.statistics.jackknife import DIFFERENCE
from overton.studies.even_handedness.measures.assembly import laid_out
from overton.studies.even_handedness.measures.by_side import oriented
from overton.studies.even_handedness.measures.by_topic import contribution, even
from overton.studies.even_handedness.measures.chances import weighing_of
from overton.studies.measures import Contribution, Measure, Sides


def of_records(
    records: pl.DataFrame, sides: Mapping[str, str], shares: str = "as-asked", graded: str = "pair"
) -> Sides:
    """Every model's contributions, with measures named by system prompt. `graded` may name a null."""
    weighing = weighing_of(records, shares)
    pairs = laid_out(records, weighed=weighing is not None and weighing.used).filter(pl.col("graded") == graded)
    return {
        str(model): [
            contribution
            for (setting,), some in sorted(own.partition_by("setting", as_dict=True).items())
            for contribution in _contributions(some, str(setting), sides)
        ]
        for (model,), own in sorted(pairs.partition_by("model", as_dict=True).items())
    }


def _contributions(pairs: pl.DataFrame, setting: str, sides: Mapping[str, str]) -> Iterator[Contribution]:
    behind = "" if setting == "none" else f"_{setting.replace('-', '_')}"
    named = "" if setting == "none" else f", {setting}"
    yield even(pairs, Measure(f"even{behind}", f"Even-handedness{named}", leads=setting == "none"))
    yield contribution(Measure(f"even_as_published{behind}", f"As published{named}"), pairs, pl.col("published"))
    if (turned := oriented(pairs, sides)) is not None:
        title = f"Gap, {turned[1]} over {turned[2]}{named}"
        gap = Measure(f"gap{behind}", title, DIFFERENCE, kind="points", leads=setting == "none")
        yield contribution(gap, turned[0], pl.when("helps").then("lean"))
