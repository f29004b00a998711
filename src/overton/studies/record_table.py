"""Records to browse in a report, one reply each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from overton.studies.sections import BrowseFilter, TrialTable

if TYPE_CHECKING:
    import polars as pl

_LONGEST = 20_000


def record_table(  # noqa: PLR0917
    records: pl.DataFrame,
    item: str,
    texts: Mapping[str, str],
    replies: pl.Series,
    filters: Mapping[str, str],
    read: Collection[str],
    names: Collection[str],
) -> TrialTable:
    """Records with their `replies`.

    The column `item` has the ids of items, whose `texts` precede the replies. `filters` are the titles of columns by
    which readers choose; those in `read` were read from the reply. The columns `names` name a record.
    """
    import polars as pl

    places = {name: place for place, name in enumerate(texts)}

    def answers(start: int, stop: int) -> list[str]:
        return [str(reply) for reply in replies[start:stop].to_list()]

    return TrialTable(
        size=records.height,
        texts=list(texts.values()),
        prompts=lambda number: [number],
        prompt=[places.get(name, -1) for name in records[item]],
        facets=[
            BrowseFilter.of(title, records[name].cast(pl.String).to_list(), read=name in read)
            for name, title in filters.items()
        ],
        answers=answers,
        longest=_LONGEST,
        names=records.select(pl.concat_str(names, separator="/")).to_series().to_list(),
        beside=filters.get("condition", ""),
    )
