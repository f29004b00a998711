"""The decision on each value, from the labels of annotators and a judge.

Where appendix C gives no rule, Overton uses its own.

The paper keeps values that at least 4 of 5 annotators call moral. Here the limit is a proportion of the annotators, 0.8
by default. The paper looks for values that 'consistently appear' in 5 repetitions; here a value must appear in more
than half of the readable repetitions. The paper's authors decided together on each value, and merged some by hand. Here
more than half of the deciders must include a value, or merge two values. With a tie, a value is left out, and two
values stay separate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import ceil

import msgspec

from overton.studies.deliberation import prompts
from overton.studies.deliberation.collection.record import Companion, ValueFate
from overton.studies.deliberation.collection.sheets import CODES, INCLUDED, MERGE, meanings
from overton.studies.deliberation.value_lists import Value, have_definitions

_ROUNDING = 1e-9

Named = Sequence[Sequence[tuple[str, ...] | None]]
"""The values that the judge named, for each text and each repetition; None if its reply could not be read."""


def votes_needed(annotators: int, share: float) -> int:
    """The number of annotators that must agree, at least 1: the required proportion of all annotators, rounded up."""
    return max(ceil(share * annotators - _ROUNDING), 1)


def sorted_fates(  # noqa: PLR0917
    trial: str,
    values: Sequence[Value],
    annotators: Sequence[str],
    categories: Mapping[str, Sequence[str | None]],
    category: str,
    share: float,
) -> list[ValueFate]:
    """The decision on each value according to the annotators' categories. Values that enough annotators call `category`
    are kept (step 2)."""
    needed = votes_needed(len(annotators), share)
    return [_sorted_fate(trial, each, annotators, tuple(categories[each.value]), category, needed) for each in values]


def _sorted_fate(  # noqa: PLR0917
    trial: str, each: Value, annotators: Sequence[str], given: tuple[str | None, ...], category: str, needed: int
) -> ValueFate:
    votes = given.count(category)
    kept = votes >= needed
    return ValueFate(
        trial=trial,
        value=each.value,
        definition=each.definition,
        status="undecided" if kept else "left out",
        why=f"{votes} of {len(given)} annotators call it {category}; {needed} are needed",
        annotators=tuple(annotators),
        categories=given,
        votes=votes,
        kept=kept,
    )


def consistent_values(repetitions: Sequence[tuple[str, ...] | None]) -> frozenset[str]:
    """The values that are named in more than half of the readable repetitions."""
    read = [named for named in repetitions if named is not None]
    counts = Counter(value for named in read for value in named)
    return frozenset(value for value, count in counts.items() if 2 * count > len(read))


def tried_fates(fates: Sequence[ValueFate], named: Named, together: float) -> list[ValueFate]:
    """Each value with the number of test texts in which the judge found it, and the later values that often occur with
    it (step 3).

    Two values often occur together if (texts with both values) / (texts with at least one of them) >= `together`. A
    text has a value if the judge finds the value consistently in it.
    """
    found = [consistent_values(repetitions) for repetitions in named]
    alone = Counter(value for values in found for value in values)
    both = Counter(pair for values in found for pair in combinations(sorted(values), 2))
    places = {fate.value: place for place, fate in enumerate(fates)}
    companions: dict[str, list[Companion]] = {}
    for pair, count in both.items():
        first, second = sorted(pair, key=lambda value: places[value])
        either = alone[first] + alone[second] - count
        if count >= together * either - _ROUNDING:
            companions.setdefault(first, []).append(Companion(second, count, either))
    times = [
        Counter(value for repetitions in named for value in repetitions[number] or ())
        for number in range(len(named[0]) if named else 0)
    ]
    return [
        msgspec.structs.replace(
            fate,
            texts=len(named),
            times=tuple([counts[fate.value] for counts in times]),
            consistent=alone[fate.value],
            companions=tuple(sorted(companions.get(fate.value, ()), key=lambda pair: places[pair.value])),
        )
        if fate.kept
        else fate
        for fate in fates
    ]


def code_from(codes: Sequence[str | None]) -> str:
    """The joint decision of several people or models; '' if no decision could be read.

    If more than half of the readable codes include the value, the decision is the most frequent of these codes.
    Otherwise it is the most frequent of the codes that leave the value out. Of equally frequent codes, it is the first
    in `CODES`.
    """
    read = [code for code in codes if code is not None]
    if not read:
        return ""
    included = 2 * sum(code in INCLUDED for code in read) > len(read)
    side = Counter(code for code in read if (code in INCLUDED) == included)
    return min(side, key=lambda code: (-side[code], CODES.index(code)), default="")


def coded_fates(
    fates: Sequence[ValueFate], deciders: Sequence[str], codes: Mapping[str, Sequence[str | None]]
) -> list[ValueFate]:
    """The values after the decisions of step 4."""
    return [_coded_fate(fate, deciders, tuple(codes[fate.value])) if fate.kept else fate for fate in fates]


def _coded_fate(fate: ValueFate, deciders: Sequence[str], codes: tuple[str | None, ...]) -> ValueFate:
    code = code_from(codes)
    included = sum(given in INCLUDED for given in codes)
    said = f"{included} of {len(codes)} include it"
    decided = msgspec.structs.replace(fate, deciders=tuple(deciders), codes=codes, code=code)
    if not code:
        return msgspec.structs.replace(decided, status="undecided", why="no decision on it could be read")
    why = f"{said}: {meanings('codes')[code]} ({code})"
    status = "in the list" if code in INCLUDED else "left out"
    return msgspec.structs.replace(decided, status=status, why=why)


def merges_agreed(said: Mapping[tuple[str, str], Sequence[str | None]]) -> list[tuple[str, str]]:
    """The pairs that more than half of the readable answers would merge."""
    return [pair for pair, given in said.items() if 2 * given.count(MERGE) > len([each for each in given if each])]


def merged_fates(fates: Sequence[ValueFate], merges: Iterable[tuple[str, str]]) -> list[ValueFate]:
    """The values after the merges of step 5.

    Merging is transitive. The merged value has the name of its most frequent member, which the judge found in the
    largest number of test texts. In a tie, the member that comes first in the collection gives the name. Pairs with a
    value that is not in the list have no effect.
    """
    inside = {fate.value: fate for fate in fates if fate.status == "in the list"}
    group = {value: {value} for value in inside}
    for first, second in merges:
        if first in inside and second in inside and group[first] is not group[second]:
            joint = group[first] | group[second]
            group |= dict.fromkeys(joint, joint)
    kept = {
        value: max(members, key=lambda name: (inside[name].consistent, -_place(fates, name)))
        for value, members in group.items()
    }
    return [
        fate
        if kept.get(fate.value, fate.value) == fate.value
        else msgspec.structs.replace(
            fate,
            status="merged",
            merged_into=kept[fate.value],
            why=f"{fate.why}; merged with a value that has a similar meaning and often occurs in the same texts",
        )
        for fate in fates
    ]


def _place(fates: Sequence[ValueFate], name: str) -> int:
    return next(place for place, fate in enumerate(fates) if fate.value == name)


def list_from(fates: Sequence[ValueFate]) -> list[Value]:
    """The finished list, in the order of the collection. A value's definition names the values that were merged into
    it."""
    defined = have_definitions([Value(fate.value, fate.definition) for fate in fates])
    merged: dict[str, list[str]] = {}
    for fate in fates:
        if fate.status == "merged":
            merged.setdefault(fate.merged_into, []).append(fate.value)
    return [
        Value(fate.value, _with_merged(fate.definition, merged.get(fate.value, ())) if defined else "")
        for fate in fates
        if fate.status == "in the list"
    ]


def _with_merged(definition: str, others: Sequence[str]) -> str:
    if not others:
        return definition
    return prompts.fill("collection.included", definition=definition, others="; ".join(others)).strip()


def is_decided(fates: Sequence[ValueFate]) -> bool:
    """Whether there is a decision on every value."""
    return all(fate.status not in ("undecided", "failed") for fate in fates)
