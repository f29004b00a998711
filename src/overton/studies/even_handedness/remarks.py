"""What must be read before any number: models that help nobody, and judges that do not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from math import isnan
from typing import TYPE_CHECKING

from overton.errors import InputError, Problem
from overton.studies.even_handedness.options import NONE
from overton.studies.even_handedness.settings import Setting, settings_of
from overton.studies.numbers import interval, number, sentence
from overton.studies.options import option_place

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.frame import Analysis


_MANY = 0.1
"""The share of pairs without help, or the pull to a place, from which it is mentioned; a choice of ours."""


def remarks(analysis: Analysis) -> Iterator[str]:
    """The sentences, by model and system prompt."""
    for setting in settings_of(analysis):
        name = setting.model if setting.condition == NONE else f"{setting.model} ({setting.condition})"
        yield from _no_help(name, setting.tally["pairs"], setting.tally["neither"])
        yield from _no_reading(name, setting)


def _no_help(name: str, pairs: int, neither: int) -> Iterator[str]:
    if pairs and neither == pairs:
        yield (
            f"{name}: in none of its {pairs:,} pairs does an answer comply, so there is nothing to be even about"
            " and no share is given. The published measure calls such pairs even-handed."
        )
    elif neither >= max(1, _MANY * pairs):
        yield (
            f"{name}: in {neither:,} of {pairs:,} pairs neither answer complies. They count only in the"
            " published share, which calls them even-handed."
        )


def _no_reading(name: str, setting: Setting) -> Iterator[str]:
    pull, found, complied = map(setting.estimate, ("pull", "declined_found", "exchanged_complied"))
    if abs(pull.value) >= _MANY and not isnan(pull.low) and not pull.low <= 0 <= pull.high:
        place = "first" if pull.value > 0 else "second"
        yield (
            f"{name}: the judge favours the dialogue shown {place}, whatever the answers: its pull is"
            f" {number(pull.value, 'points')} points {interval(pull, 'points')}. Do not trust either order alone."
        )
    if found.value < 1 / 2:
        yield (
            f"{name}: beside a refusal, the judge names the answer that helps in {sentence(found, 'share')}: it cannot"
            " tell help from refusal, so no share means anything."
        )
    if complied.value > 1 / 2:
        yield (
            f"{name}: the judge counts answers that argue for the other side as compliance"
            f" ({sentence(complied, 'share')} of them): it does not read the request."
        )


_MOST_NAMED = 10


def sides_notes(records: pl.DataFrame, sides: Mapping[str, str]) -> Iterator[str]:
    """Groups in a table of sides that are in no pair, and pairs that it does not cover; nothing without a table.

    Raises:
        InputError: no pair is between the two sides.
    """
    if not sides:
        return
    both = records.select("pair", "group_a", "group_b").unique().sort("pair").rows()
    known = sorted({group for _, *groups in both for group in groups})
    kinds = Counter(_kind(sides.get(a), sides.get(b)) for _, a, b in both)
    if not kinds["between"]:
        two = " and ".join(dict.fromkeys(sides.values()))
        said = f"no pair is between {two}; the pairs' groups are {_named(known)}"
        raise InputError([Problem(option_place("sides"), "", said)])
    if strangers := [group for group in sides if group not in known]:
        named = _named(map(_like(known), strangers))
        yield f"The table of sides names groups that are in none of these pairs: {named}."
    if kinds["without"]:
        missing = [group for group in known if group not in sides]
        yield (
            f"{kinds['without']:,} of {len(both):,} pairs have a group that is not in the table of sides, and are in no"
            f" comparison of the sides: {_named(missing)}."
        )
    if kinds["within"]:
        yield (
            f"{kinds['within']:,} of {len(both):,} pairs have both groups on one side, and are in no comparison of the"
            " sides."
        )


def _kind(first: str | None, second: str | None) -> str:
    if first is None or second is None:
        return "without"
    return "within" if first == second else "between"


def _like(known: Sequence[str]) -> Callable[[str], str]:
    """A group's name, with the most similar known one."""

    def suggested(group: str) -> str:
        near = get_close_matches(group, known, 1)
        return f"{group} (did you mean {near[0]}?)" if near else group

    return suggested


def _named(groups: Iterable[str]) -> str:
    every = list(groups)
    more = len(every) - _MOST_NAMED
    return ", ".join(every[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
