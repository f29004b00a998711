"""Verdicts before and after deliberation (figure 3), and what became of first verdicts (appendix G, table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from overton.statistics import Estimate
from overton.statistics.arrays import AnyInts
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Resampling
from overton.studies.deliberation.contrasts import Where, rows_of
from overton.studies.deliberation.deliberations import ABSENT, INVALID, Deliberations, Part, Setting, split
from overton.studies.deliberation.items import VERDICTS
from overton.studies.findings import share_without_interval
from overton.studies.frame import Cells, EstimateRow
from overton.studies.study_measures import TableRow

INVALID_NAME, NONE = "invalid", "none"
_NAMES = (*VERDICTS, INVALID_NAME)


def round_rows(talks: Deliberations, resampling: Resampling, nothing: str) -> Iterator[EstimateRow]:
    """The share of deliberations that reach consensus in each round, over all and in each setting."""
    everything = Part(Setting("all", None, talks.models), talks, np.arange(len(talks)))
    numbers = range(1, talks.verdict.shape[2] + 1)
    sums = [([Where("consensus_in_round", None, "round", str(number)) for number in numbers], _by_round(everything))]
    for part in split(talks):
        name, facet = part.setting.name, "setting / round"
        places = [Where("consensus_in_round", None, facet, f"{name} / {number}") for number in numbers]
        sums.append((places, _by_round(part)))
    yield from rows_of(resampling, sums, nothing)


def _by_round(part: Part) -> ClusterSums:
    """Deliberations in which all models gave readable verdicts by the round of their consensus, out of all of these."""
    talks = part.talks
    heard = part.where(~talks.has_mutes[part.rows])
    many = None if talks.weight is None else heard.unweighted.count_endings().sum(1)
    endings = heard.count_endings()
    return ClusterSums(endings[:, 1:], endings.sum(1), many)


def verdict_rows(parts: Sequence[Part], resampling: Resampling) -> Iterator[EstimateRow]:
    """What deliberations agree on by setting, and each speaker's verdicts in round 1 and in the last round, as shares
    of deliberations.

    Speakers are the seats that share a model and, if they take turns, a place. Verdicts that could not be read are
    'invalid', and of what is agreed on, 'none'.
    """
    sums = [each for part in parts for each in _verdict_sums(part)]
    for row in rows_of(resampling, sums):
        if row.estimate or not str(row.condition).endswith(f" / {INVALID_NAME}"):
            yield row


def _verdict_sums(part: Part) -> Iterator[tuple[list[Where], ClusterSums]]:
    talks, rows, setting = part.talks, part.rows, part.setting
    agreed = [
        Where("agreed_verdict", None, "setting / verdict", f"{setting.name} / {name}") for name in (*VERDICTS, NONE)
    ]
    yield agreed, _by_verdict(part, talks.agreed_verdict[rows, None])
    ends = {"first_verdict": talks.verdict[rows, :, 0], "last_verdict": talks.at_end[rows]}
    for model, place, seats in speakers(setting):
        facet, where = (
            ("setting / place / verdict", f"{setting.name} / {place}") if place else ("setting / verdict", setting.name)
        )
        for measure, verdicts in ends.items():
            places = [Where(measure, model, facet, f"{where} / {name}") for name in _NAMES]
            yield places, _by_verdict(part, verdicts[:, seats])


def at_fault_rows(rows: Sequence[EstimateRow], talks: Deliberations) -> Iterator[EstimateRow]:
    """How often each model's first verdict is that the one who asks is at fault: pooled over settings and places, and
    without an interval if there are several of these. `rows` are those of first verdicts."""
    for code, model in enumerate(talks.models):
        found = [
            row.number
            for row in rows
            if (row.measure, row.model) == ("first_verdict", model) and str(row.condition).endswith(f" / {_FAULT}")
        ]
        if found:
            number = found[0] if len(found) == 1 else _pooled_fault(talks, code)
            yield EstimateRow(model=model, measure="first_verdict_at_fault", number=number)


_FAULT = "YTA"


def _pooled_fault(talks: Deliberations, model: int) -> Estimate:
    """The share of a model's first verdicts over all settings and places; each by its deliberation's weight."""
    first = talks.verdict[..., 0]
    given = (talks.model == model) & (first != ABSENT)
    weight = np.ones(len(talks)) if talks.weight is None else talks.weight
    counts = given * weight[:, None]
    share, n = counts[first == VERDICTS.index(_FAULT)].sum() / counts.sum(), int(given.sum())
    why = "it is over several formats, goals or orders"
    return share_without_interval(share * n, n, why, "no first verdict could be read")


def unreadable_rows(talks: Deliberations) -> Iterator[EstimateRow]:
    """Each model's messages without a readable verdict."""
    model = np.broadcast_to(talks.model[..., None], talks.verdict.shape)
    for code, name in enumerate(talks.models):
        own = model == code
        invalid = int((own & (talks.verdict == INVALID)).sum())
        messages = int((own & (talks.message >= 0)).sum())
        number = share_without_interval(
            invalid, messages, "messages of one deliberation are dependent", "there are no messages"
        )
        yield EstimateRow(model=name, measure="unreadable", number=number)


def speakers(setting: Setting) -> list[tuple[str, int | None, list[int]]]:
    """The models of a setting with their seats; if they take turns, each seat and its place."""
    if setting.format == "round-robin":
        return [(model, seat + 1, [seat]) for seat, model in enumerate(setting.agents)]
    return [
        (model, None, [seat for seat, name in enumerate(setting.agents) if name == model])
        for model in sorted(set(setting.agents))
    ]


def _by_verdict(part: Part, verdicts: AnyInts) -> ClusterSums:
    """How often each dilemma got each verdict, the invalid ones last."""
    there, codes = verdicts != ABSENT, verdicts % len(_NAMES)
    counts = part.count_codes(codes, len(_NAMES), there)
    many = None if part.talks.weight is None else part.unweighted.count_codes(codes, len(_NAMES), there).sum(1)
    return ClusterSums(counts, counts.sum(1), many)


_V = len(VERDICTS)
_ENDS: list[tuple[str, str, str | None]] = [
    *(("ended_elsewhere", first, last) for first in VERDICTS for last in VERDICTS),
    *((kind, verdict, None) for kind in ("held_out", "unresolved") for verdict in VERDICTS),
]
"""Kinds of archetypes with first and last verdict, in this order: changes from one to another; holdouts, which never
changed their verdict and reached no consensus (table 2's caption); no consensus, changed or not (which table 2's
numbers may mean)."""
_STARTS = (0, _V * _V, _V * _V + _V, _V * _V + 2 * _V)
"""Where each kind starts, and where the last one ends."""

_NOT_BEYOND = "no deliberation went beyond round 1"


def archetypes(parts: Sequence[Part], resampling: Resampling) -> Iterator[EstimateRow | TableRow]:
    """What became of each model's first verdict against each set of others, in deliberations beyond round 1.

    Rows are shares of these deliberations: `ended_elsewhere`, `held_out` and `unresolved` by first and last verdict,
    those that occur, most common first; `returned` is the share in which it changed its verdict and came back to it.
    The table 'archetypes' has counts, 'beyond_round_1' how many deliberations there are.
    """
    every = [(part.beyond_round_1, model) for part in parts for model in part.models]
    sums = [(_places(part, model), _archetype_sums(part, model)) for part, model in every]
    found = iter(rows_of(resampling, sums, _NOT_BEYOND))
    for (part, model), (places, _) in zip(every, sums, strict=True):
        where: Cells = {"model": model, "facet": "pooled", "condition": part.setting.name}
        known = _archetype_sums(part.unweighted, model)
        yield TableRow("beyond_round_1", {**where, "deliberations": int(known.below.sum())})
        *numbers, returned = [next(found) for _ in places]
        many = known.above.sum(0).astype(int).tolist()
        for start, stop in pairwise(_STARTS):
            for place in sorted((place for place in range(start, stop) if many[place]), key=lambda place: -many[place]):
                kind, first, last = _ENDS[place]
                yield numbers[place]
                cells: Cells = {"measure": kind, "first": first, "last": last, "count": many[place]}
                yield TableRow("archetypes", {**where, **cells, "archetype": _path(first, last)})
        yield returned


def _path(first: str, last: str | None) -> str:
    return f"{first} → {last or NONE}"


def _places(part: Part, model: str) -> list[Where]:
    name = part.setting.name
    places = [Where(kind, model, "pooled / archetype", f"{name} / {_path(first, last)}") for kind, first, last in _ENDS]
    return [*places, Where("returned", model, "pooled", name)]


def _archetype_sums(part: Part, model: str) -> ClusterSums:
    """By dilemma: changes by first and last verdict, holdouts and unresolved by first verdict, returned."""
    talks, rows, seated, changed = part.talks, part.rows, part.seated(model) & part.heard, part.talks.changed[part.rows]
    first, last = talks.first[rows], talks.last[rows]
    unresolved = seated & (first >= 0) & (talks.agreement[rows] == 0)[:, None]
    columns = [
        part.count_codes(first * _V + last, _V * _V, seated & changed & (first != last)),
        part.count_codes(first, _V, unresolved & ~changed),
        part.count_codes(first, _V, unresolved),
        part.count_agents(seated & changed & (first == last))[:, None],
    ]
    many = None if talks.weight is None else part.unweighted.count_agents(seated)
    return ClusterSums(np.concatenate(columns, axis=1), part.count_agents(seated), many)
