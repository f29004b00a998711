"""What can be chosen about the sampling of threads, table 2's own choices, and what each step reports."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from overton.errors import InputError, Problem

__all__ = ["PUBLISHED", "SamplingOptions", "Step", "rules_for"]


class SamplingOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which threads are taken.

    year          posts of this year (UTC) only; None takes all
    min_comments, max_comments   usable comments that a thread has at least and at most
    sample        threads of each community at most, drawn at random
    replies       whether answers to other comments count as comments, too; the paper does not say
    seed          of the draw

    Raises InputError for numbers out of range.
    """

    year: int | None = None
    min_comments: int = 10
    max_comments: int = 50
    sample: int = 500
    replies: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        checks = (
            ("min-comments", self.min_comments, self.min_comments >= 1, "must be 1 or more"),
            ("max-comments", self.max_comments, self.max_comments >= self.min_comments, "is below --min-comments"),
            ("sample", self.sample, self.sample >= 1, "must be 1 or more"),
            ("year", self.year, self.year is None or 1970 <= self.year <= 9999, "must be between 1970 and 9999"),
        )
        problems = [Problem(f"--{name}", str(value), why) for name, value, fine, why in checks if not fine]
        if problems:
            raise InputError(problems)


PUBLISHED: Mapping[str, SamplingOptions] = {
    "amitheasshole": SamplingOptions(2019, 10, 50, 500),
    "askeconomics": SamplingOptions(2019, 8, 70, 500),
    "politicaldiscussion": SamplingOptions(2019, 8, 70, 212),
}
"""The rules of table 2, by community in lower case."""


def rules_for(community: str | None, **given: int | bool | None) -> SamplingOptions:
    """Table 2's numbers for a community, or the defaults where it has none, with what is given in their place.

    The year is never taken from the table: a dump of another year would give nothing.
    """
    rules = PUBLISHED.get((community or "").removeprefix("r/").casefold(), SamplingOptions())
    chosen = {name: value for name, value in given.items() if value is not None}
    return msgspec.structs.replace(rules, **{"year": None, **chosen})


class Step(msgspec.Struct, frozen=True):
    """One step: how many threads (or posts) were left after it, and what else there is to know of it."""

    number: int
    name: str
    kept: int
    note: str
