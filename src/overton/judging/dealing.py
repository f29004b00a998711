"""Which units people label, how likely each was to be drawn, and which of them each person gets in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.judging.labelling import Design
from overton.judging.sheets import draw

__all__ = ["chosen", "dealt"]


def chosen(
    given: Sequence[str | None], groups: Sequence[str], *, size: int = 100, seed: int = 0, design: Design = "plain"
) -> list[tuple[int, float]]:
    """The places of about `size` labelled units, each with the probability with which it was drawn, in (0, 1].

    `given` are the judge's labels (None is never drawn), `groups` what each unit belongs to. 'plain' and 'stratified'
    draw as `sheets.draw` does, in random order. 'whole' takes as many groups as have `size` rows on average, all
    equally likely, with every labelled row in the order of `given`. How many groups that is follows from all of them:
    if groups were drawn until there are `size` rows, long ones would be likelier by an unknown amount.

    Raises:
        InputError: `size` is less than one, or there is nothing to draw.
    """
    if design == "whole":
        return _whole(given, groups, size, seed)
    places = draw(given, size=size, seed=seed, stratified=design == "stratified")
    if design == "plain":
        labelled = sum(label is not None for label in given)
        return [(place, len(places) / labelled) for place in places]
    available, taken = Counter(given), Counter(given[place] for place in places)
    return [(place, taken[given[place]] / available[given[place]]) for place in places]


def _whole(given: Sequence[str | None], groups: Sequence[str], size: int, seed: int) -> list[tuple[int, float]]:
    draw(given, size=size, seed=seed)  # which raises if the size is wrong, or nothing is labelled
    rows: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        if given[place] is not None:
            rows.setdefault(group, []).append(place)
    labelled = sum(map(len, rows.values()))
    count = min(len(rows), ceil(size * len(rows) / labelled))
    taken = Draw(f"{seed}/groups").sample(sorted(rows), count)
    return [(place, count / len(rows)) for group in taken for place in rows[group]]


def dealt(
    groups: Sequence[str], *, people: int = 2, shared: int = 30, seed: int = 0, whole: bool = False
) -> tuple[tuple[int, ...], ...]:
    """For each person the places of their rows, in an order of their own.

    `groups` says what each drawn row belongs to. The first `shared` rows go to everybody, the others to one person
    each, evenly. With `whole`, groups are kept together: as many go to everybody as have `shared` rows, each other one
    to the person with the fewest rows, and the rows of a group keep their order.

    Raises:
        InputError: there are no people, or `shared` is negative.
    """
    problems = [Problem("--people", str(people), "must be 1 or more")] if people < 1 else []
    problems += [Problem("--shared", str(shared), "must be 0 or more")] if shared < 0 else []
    if problems:
        raise InputError(problems)
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group if whole else str(place), []).append(place)
    everybody, others = _shared(members, shared)
    hands = [list(everybody) for _ in range(people)]
    rows = [0] * people
    for name in others:
        least = rows.index(min(rows))
        hands[least].append(name)
        rows[least] += len(members[name])
    ordered = (Draw(f"{seed}/page/{number}").shuffle(hand) for number, hand in enumerate(hands, 1))
    return tuple(tuple(place for name in hand for place in members[name]) for hand in ordered)


def _shared(members: Mapping[str, Sequence[int]], shared: int) -> tuple[list[str], list[str]]:
    """The names of the groups with the first `shared` rows, and those of the others."""
    names, rows = list(members), 0
    for number, name in enumerate(names):
        if rows >= shared:
            return names[:number], names[number:]
        rows += len(members[name])
    return names, []
