"""How deliberations end: consensus and changes of verdict (section 4.1), verdicts before and after (figure 3), and what
became of first verdicts (appendix G, table 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, starmap
from math import inf

import numpy as np

from overton.statistics import Estimate
from overton.statistics.arrays import AnyInts, Flags, Floats
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Range, Resampling
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures.analysis import (
    INVALID_NAME,
    Archetype,
    Archetypes,
    Change,
    Changes,
    Consensus,
    ConsensusIn,
    ConsensusResult,
    SpeakerVerdicts,
    Verdicts,
)
from overton.studies.deliberation.measures.contrasts import NOTHING, SharePair, compared, corrected
from overton.studies.deliberation.measures.parts import SettingParts, SettingRows, Speaker, summed
from overton.studies.deliberation.measures.results import ContrastIn, Setting
from overton.studies.deliberation.measures.talks import ABSENT

ROUNDS: Range = (1.0, inf)
"""The range of the number of rounds until consensus, which is reached in the first one or later."""

_NEVER = "no deliberation reached consensus"


def measure_consensus(parts: SettingParts, resampling: Resampling) -> ConsensusResult:
    """Rounds to consensus and shares without consensus, over all deliberations and by setting."""
    overall, *settings = _consensus_in((parts.everything, *parts.by_setting), resampling)
    return ConsensusResult(
        overall=overall,
        settings=tuple(
            ConsensusIn(part.setting, setting) for part, setting in zip(parts.by_setting, settings, strict=True)
        ),
        formats=tuple(starmap(ContrastIn, corrected(compared(resampling, _formats(parts))))),
    )


def overall_consensus(parts: SettingParts, resampling: Resampling) -> Consensus:
    """How all deliberations together end: `overall` of `measure_consensus` alone."""
    (overall,) = _consensus_in((parts.everything,), resampling)
    return overall


def _consensus_in(parts: Sequence[SettingRows], resampling: Resampling) -> Iterator[Consensus]:
    every = [part.without_mutes for part in parts]
    endings = [_endings(part) for part in every]
    many = [None if part.weight is None else _endings(part.unweighted) for part in every]
    why = parts[0].talks.unread if parts[0].talks.mute else NOTHING
    shares = resampling.ratios(map(_shares, every, endings, many), why)
    rounds = resampling.ratios(map(_rounds, endings, many), _NEVER, ROUNDS)
    return map(_consensus, every, shares, rounds)


def _endings(part: SettingRows) -> Floats:
    """Deliberations on each dilemma by the round of their consensus, 0 for none [dilemmas, rounds + 1]."""
    shape = (len(part.talks.dilemmas), part.talks.verdict.shape[2] + 1)
    return summed([part.dilemma, part.agreement], shape, part.weight)


def _shares(part: SettingRows, endings: Floats, many: Floats | None = None) -> ClusterSums:
    """Consensus by majority, in any round, in no round, and in each round; `many` are endings without weights."""
    majority = part.count(part.talks.majority[part.rows] >= 0)
    above = np.column_stack([majority, endings[:, 1:].sum(1), endings])
    return ClusterSums(above, endings.sum(1), None if many is None else many.sum(1))


def rounds_of(part: SettingRows) -> ClusterSums:
    """The rounds of the deliberations that reach consensus, and how many these are, by dilemma."""
    return _rounds(_endings(part), None if part.weight is None else _endings(part.unweighted))


def _rounds(endings: Floats, many: Floats | None = None) -> ClusterSums:
    above, below = endings @ np.arange(endings.shape[1]), endings[:, 1:].sum(1)
    return ClusterSums(above, below, None if many is None else many[:, 1:].sum(1))


def _consensus(part: SettingRows, shares: list[Estimate], rounds: list[Estimate]) -> Consensus:
    majority, reached, without, *by_round = shares
    return Consensus(len(part.rows), reached, without, majority, dict(enumerate(by_round, 1)), rounds[0])


def _formats(parts: SettingParts) -> Iterator[SharePair[Setting]]:
    """The two formats, if the same models had both with the same goal."""
    by_name = {part.setting: part for part in parts.pooled}
    for setting, part in by_name.items():
        other = by_name.get(Setting("round-robin", setting.goal, setting.agents))
        if setting.format == "synchronous" and other:
            key = Setting("both", setting.goal, setting.agents)
            yield SharePair(key, ("synchronous", "round-robin"), part.reached, other.reached)


def measure_changes(parts: SettingParts, resampling: Resampling) -> Changes:
    """How often each model changes its verdict, over all deliberations and in each setting."""
    speakers = [(part, speaker) for part in parts.by_setting for speaker in part.speakers]
    rates = resampling.ratios((_changes(*pair) for pair in speakers), parts.talks.unread)
    pairs = (
        SharePair(part.setting, pair, part.changes(pair[0]), part.changes(pair[1]))
        for part in parts.by_setting
        for pair in combinations(part.models, 2)
    )
    return Changes(
        by_model=changes_by_model(parts, resampling),
        settings=tuple(
            Change(part.setting, speaker.model, speaker.position, rate)
            for (part, speaker), (rate,) in zip(speakers, rates, strict=True)
        ),
        contrasts=tuple(starmap(ContrastIn, corrected(compared(resampling, pairs)))),
    )


def changes_by_model(parts: SettingParts, resampling: Resampling) -> dict[str, Estimate]:
    """How often each model changes its verdict, over all deliberations: `by_model` of `measure_changes` alone."""
    models = parts.talks.models
    rates = resampling.ratios((parts.everything.changes(model) for model in models), parts.talks.unread)
    return {model: rate for model, (rate,) in zip(models, rates, strict=True)}


def _changes(part: SettingRows, speaker: Speaker) -> ClusterSums:
    seats = list(speaker.seats)
    return part.share_of_agents(part.changed[:, seats], part.heard[:, seats])


_NAMES = (*VERDICTS, INVALID_NAME)


def measure_verdicts(parts: SettingParts, resampling: Resampling) -> tuple[Verdicts, ...]:
    """Each agent's verdicts in round 1 and at the end, and what deliberations agree on, by setting."""
    counts = (cluster_sums for part in parts.by_setting for cluster_sums in _given(part))
    estimates = iter(resampling.ratios(counts, NOTHING))
    return tuple(_verdicts(part, estimates) for part in parts.by_setting)


def _given(part: SettingRows) -> Iterator[ClusterSums]:
    """What is agreed on, then each speaker's verdicts in round 1 and in the last."""
    talks, rows = part.talks, part.rows
    first, last = talks.verdict[rows, :, 0], talks.at_end[rows]
    yield _by_verdict(part, talks.agreed_verdict[rows, None])
    for speaker in part.speakers:
        yield _by_verdict(part, first[:, list(speaker.seats)])
        yield _by_verdict(part, last[:, list(speaker.seats)])


def _by_verdict(part: SettingRows, verdicts: AnyInts) -> ClusterSums:
    """How often each dilemma got each verdict, the invalid ones last."""
    there, codes = verdicts != ABSENT, verdicts % len(_NAMES)
    counts = _coded(part, there, codes, len(_NAMES))
    many = None if part.weight is None else _coded(part.unweighted, there, codes, len(_NAMES)).sum(1)
    return ClusterSums(counts, counts.sum(1), many)


def _verdicts(part: SettingRows, estimates: Iterator[list[Estimate]]) -> Verdicts:
    *agreed, without = next(estimates)
    speakers = tuple(
        SpeakerVerdicts(speaker.model, speaker.position, _named(next(estimates)), _named(next(estimates)))
        for speaker in part.speakers
    )
    return Verdicts(part.setting, speakers, _named(agreed), without)


def _named(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """By name; 'invalid' only if there are such verdicts."""
    named = dict(zip(_NAMES, estimates, strict=False))
    if INVALID_NAME in named and not named[INVALID_NAME].value > 0:
        del named[INVALID_NAME]
    return named


_V = len(VERDICTS)
_HOLDOUTS, _UNRESOLVED, _RETURNED = _V * _V, _V * _V + _V, _V * _V + 2 * _V
_ENDS = [*((a, b) for a in VERDICTS for b in VERDICTS), *[(verdict, None) for verdict in VERDICTS] * 2]
"""First and last verdicts, in the order of `_kinds`: changes, holdouts, unresolved."""

_NOT_BEYOND = "no deliberation went beyond round 1"


def measure_archetypes(parts: SettingParts, resampling: Resampling) -> tuple[Archetypes, ...]:
    """Changes and holdouts of each model against each set of others."""
    pairs = [(part.beyond_round_1, model) for part in parts.pooled for model in part.models]
    counts = [_kinds(part.unweighted, model) for part, model in pairs]
    estimates = resampling.ratios((_kinds(*pair) for pair in pairs), _NOT_BEYOND)
    return tuple(
        _archetypes(*pair, *made) for pair, made in zip(pairs, zip(counts, estimates, strict=True), strict=True)
    )


def _kinds(part: SettingRows, model: str) -> ClusterSums:
    """By dilemma: changes by first and last verdict, holdouts and unresolved by first verdict, returned."""
    talks, rows, seated, changed = part.talks, part.rows, part.seated(model) & part.heard, part.changed
    first, last = talks.first[rows], talks.last[rows]
    unresolved = seated & (first >= 0) & (part.agreement == 0)[:, None]
    columns = [
        _coded(part, seated & changed & (first != last), first * _V + last, _V * _V),
        _coded(part, unresolved & ~changed, first, _V),
        _coded(part, unresolved, first, _V),
        part.count_agents(seated & changed & (first == last))[:, None],
    ]
    many = None if part.weight is None else part.unweighted.count_agents(seated)
    return ClusterSums(np.concatenate(columns, axis=1), part.count_agents(seated), many)


def _coded(part: SettingRows, chosen: Flags, codes: AnyInts, width: int) -> Floats:
    """How often each dilemma has each code among the chosen agents [dilemmas, width]."""
    dilemma = np.broadcast_to(part.dilemma[:, None], chosen.shape)
    weight = None if part.weight is None else np.broadcast_to(part.weight[:, None], chosen.shape)[chosen]
    return summed([dilemma[chosen], codes[chosen]], (len(part.talks.dilemmas), width), weight)


def _archetypes(part: SettingRows, model: str, counts: ClusterSums, estimates: list[Estimate]) -> Archetypes:
    totals = counts.above.sum(0).astype(int).tolist()
    made = [Archetype(*ends, *numbers) for ends, *numbers in zip(_ENDS, totals[:-1], estimates[:-1], strict=True)]
    return Archetypes(
        setting=part.setting,
        model=model,
        deliberations=int(counts.below.sum()),
        changes=_rank_archetypes(made[:_HOLDOUTS]),
        returned=estimates[_RETURNED],
        holdouts=_rank_archetypes(made[_HOLDOUTS:_UNRESOLVED]),
        unresolved=_rank_archetypes(made[_UNRESOLVED:]),
    )


def _rank_archetypes(found: list[Archetype]) -> tuple[Archetype, ...]:
    """Those that occur, most common first, ties in the order of the verdicts."""
    return tuple(sorted((archetype for archetype in found if archetype.count), key=lambda archetype: -archetype.count))
