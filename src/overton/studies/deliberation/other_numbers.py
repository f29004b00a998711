"""The numbers that are not averages over units: round of consensus, verdicts, archetypes, comparisons, and values.

The verdicts are those of round 1 and of the last round (figure 3). Archetypes describe the fate of first verdicts
(appendix G, table 2). The comparisons are between groups of deliberations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations

import numpy as np
import polars as pl
from msgspec import structs

from overton.statistics import Estimate
from overton.statistics.arrays import AnyInts
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Resampling
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.contributions import Contribution, Sides, of_pairs
from overton.studies.deliberation.contrasts import Contrast, Where, compare, rows_of
from overton.studies.deliberation.deliberations import (
    ABSENT,
    Deliberations,
    Part,
    Setting,
    in_order,
    pairs_of_formats,
    pairs_of_goals,
    split,
    talks_from,
    talks_of,
)
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures import (
    AT_ONCE,
    CHANGED,
    CONSENSUS,
    IN_ROUND,
    INHERITED,
    IS_CROWDS,
    NOT_BEYOND,
    SIMILARITY,
    no_contribution,
)
from overton.studies.deliberation.options import DeliberationHow
from overton.studies.deliberation.rows import messages_by_model
from overton.studies.deliberation.values import (
    inheritance,
    inherited,
    pair_similarity,
    similarity,
    value_use,
)
from overton.studies.findings import share_without_interval
from overton.studies.frame import Cells, EstimateKey, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.measures import WHOLE, Measure
from overton.studies.results import Results
from overton.studies.study_measures import TableRow

INVALID_NAME, NONE = "invalid", "none"
_NAMES = (*VERDICTS, INVALID_NAME)


def round_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[EstimateRow]:
    """The proportion of deliberations that reach consensus in each round, overall and in each setting."""
    talks = talks_of(frame)
    everything = Part(Setting("all", None, talks.models), talks, np.arange(len(talks)))
    numbers = range(1, talks.verdict.shape[2] + 1)
    sums = [([Where("consensus_in_round", None, "round", str(number)) for number in numbers], _by_round(everything))]
    for part in split(talks):
        name, facet = part.setting.name, "setting / round"
        places = [Where("consensus_in_round", None, facet, f"{name} / {number}") for number in numbers]
        sums.append((places, _by_round(part)))
    for row in rows_of(frame.jackknife.over(len(talks.dilemmas)), sums, IN_ROUND.nothing):
        yield structs.replace(row, variant=frame.variant)


def _by_round(part: Part) -> ClusterSums:
    """Proportions of deliberations by the round of their consensus.

    Deliberations with a model that gave no readable verdict are left out.
    """
    heard = part.where(~part.talks.has_mutes[part.rows])
    codes, rounds = part.talks.agreement[heard.rows, None], part.talks.verdict.shape[2]
    endings = heard.share_codes(codes, rounds + 1, np.ones(codes.shape, bool))
    return endings._replace(above=endings.above[:, 1:])


def verdict_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[EstimateRow | TableRow]:
    """Verdicts by setting, as proportions of deliberations: agreed verdicts, and each speaker's verdicts in round 1 and
    in the last round.

    Also first verdicts against the post's author, unreadable verdicts, and archetypes.

    A speaker is all seats of a model, or a single seat if agents take turns. Unreadable verdicts are 'invalid'. Without
    consensus, the agreed verdict is 'none'.
    """
    talks = talks_of(frame)
    resampling = frame.jackknife.over(len(talks.dilemmas))
    sums = [each for part in split(talks) for each in _verdict_sums(part)]
    every = rows_of(resampling, sums)
    verdicts = [row for row in every if row.estimate or not str(row.condition).endswith(f" / {INVALID_NAME}")]
    yield from verdicts
    yield from _at_fault_rows(verdicts, talks)
    for name, messages, invalid in messages_by_model(talks):
        why = "messages of one deliberation are dependent"
        number = share_without_interval(invalid, messages, why, "there are no messages")
        yield EstimateRow(model=name, measure="unreadable", number=number)
    yield from _archetypes(split(talks, pooled=True), resampling)


def _verdict_sums(part: Part) -> Iterator[tuple[list[Where], ClusterSums]]:
    talks, rows, setting = part.talks, part.rows, part.setting

    def by_verdict(verdicts: AnyInts) -> ClusterSums:
        """The proportion of each kind of verdict, by dilemma. Invalid verdicts come last."""
        return part.share_codes(verdicts % len(_NAMES), len(_NAMES), verdicts != ABSENT)

    agreed = [
        Where("agreed_verdict", None, "setting / verdict", f"{setting.name} / {name}") for name in (*VERDICTS, NONE)
    ]
    yield agreed, by_verdict(talks.agreed_verdict[rows, None])
    ends = {"first_verdict": talks.verdict[rows, :, 0], "last_verdict": talks.at_end[rows]}
    for model, place, seats in speakers(setting):
        facet, where = (
            ("setting / place / verdict", f"{setting.name} / {place}") if place else ("setting / verdict", setting.name)
        )
        for measure, verdicts in ends.items():
            places = [Where(measure, model, facet, f"{where} / {name}") for name in _NAMES]
            yield places, by_verdict(verdicts[:, seats])


def _at_fault_rows(rows: Sequence[EstimateRow], talks: Deliberations) -> Iterator[EstimateRow]:
    """The proportion of each model's first verdicts that blame the poster, over all settings and places.

    With several settings or places, there is no interval. `rows` are the rows of first verdicts.
    """
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
    """The proportion of a model's first verdicts that blame the poster, over all settings and places, weighted by
    deliberation."""
    first = talks.verdict[..., 0]
    given = (talks.model == model) & (first != ABSENT)
    weight = np.ones(len(talks)) if talks.weight is None else talks.weight
    counts = given * weight[:, None]
    share, n = counts[first == VERDICTS.index(_FAULT)].sum() / counts.sum(), int(given.sum())
    why = "it is over several formats, goals or orders"
    return share_without_interval(share * n, n, why, "no first verdict could be read")


def speakers(setting: Setting) -> list[tuple[str, int | None, list[int]]]:
    """The speakers of a setting: model, place and seats.

    A speaker is all seats of a model, or a single seat if agents take turns. Without turns, the place is None.
    """
    if setting.format == "round-robin":
        return [(model, seat + 1, [seat]) for seat, model in enumerate(setting.agents)]
    return [
        (model, None, [seat for seat, name in enumerate(setting.agents) if name == model])
        for model in sorted(set(setting.agents))
    ]


_V = len(VERDICTS)
_ENDS: list[tuple[str, str, str | None]] = [
    *(("ended_elsewhere", first, last) for first in VERDICTS for last in VERDICTS),
    *((kind, verdict, None) for kind in ("held_out", "unresolved") for verdict in VERDICTS),
]
"""Kinds of archetypes with first and last verdict, in this order: changes, holdouts, and unresolved first verdicts.

Holdouts never changed their verdict and reached no consensus (table 2's caption). Unresolved means that there was no
consensus, whether or not the verdict changed. Table 2's numbers may be of this third kind.
"""
_KINDS = list(dict.fromkeys(kind for kind, *_ in _ENDS))


def _archetypes(parts: Sequence[Part], resampling: Resampling) -> Iterator[EstimateRow | TableRow]:
    """The fate of each model's first verdict, by setting, in deliberations beyond round 1.

    Rows are proportions of these deliberations. `ended_elsewhere`, `held_out` and `unresolved` have a row for each
    combination of first and last verdict that occurs, most common first. `returned` is the proportion in which the
    model changed its verdict and came back to it. The table 'archetypes' has counts, and 'beyond_round_1' the numbers
    of deliberations.
    """
    every = [(part.beyond_round_1, model) for part in parts for model in part.models]
    sums = [(_places(part, model), _archetype_sums(part, model)) for part, model in every]
    found = iter(rows_of(resampling, sums, NOT_BEYOND))
    for (part, model), (places, _) in zip(every, sums, strict=True):
        where: Cells = {"model": model, "facet": "pooled", "condition": part.setting.name}
        known = _archetype_sums(part.unweighted, model)
        yield TableRow("beyond_round_1", {**where, "deliberations": int(known.below.sum())})
        *numbers, returned = [next(found) for _ in places]
        many = known.above.sum(0).astype(int).tolist()
        occurring = (place for place, _ in enumerate(numbers) if many[place])
        for place in sorted(occurring, key=lambda place: (_KINDS.index(_ENDS[place][0]), -many[place])):
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
    """Sums by dilemma.

    The columns are changes by first and last verdict, holdouts and unresolved first verdicts by verdict, and returns.
    """
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


def compared_groups(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[EstimateRow | TableRow]:
    """Comparisons of groups of deliberations: formats, models, places in the order, goals, and first against last
    verdicts. Tests are corrected for the number of tests of the same kind. The groups' own numbers have rows, too."""
    known = set[EstimateKey]()
    for contrasts in _groups(frame):
        if contrasts:
            for row in compare(frame.jackknife.over(len(contrasts[0].first.below)), contrasts):
                if isinstance(row, TableRow) or row.key not in known:
                    yield row
                if isinstance(row, EstimateRow):
                    known.add(row.key)


def _groups(frame: Frame) -> Iterator[list[Contrast]]:
    """Lists of contrasts. The tests of each list are corrected together."""
    talks = talks_of(frame)
    by_setting, pooled = ([part.setting for part in split(talks, pooled=also)] for also in (False, True))
    in_turn = [setting for setting in pooled if setting.format == "round-robin"]

    @cache
    def sums(measure: Measure, *facets: str) -> Mapping[tuple[str, ...], ClusterSums]:
        return frame.sums(measure, {facet: facet for facet in facets})

    def of_settings(facet: str, first: Setting, second: Setting, measure: Measure, model: str = "") -> Contrast:
        """The contrast of two settings that differ in their format or goal."""
        shared = first._replace(format="both") if facet == "format" else first._replace(goal=None)
        before, after = ((setting.format if facet == "format" else setting.goal or "") for setting in (first, second))
        where = Where(measure.name, model or None, facet, f"{shared.name} / {after}", before)
        sides = [where._replace(facet="pooled", condition=setting.name, against=None) for setting in (first, second)]
        found = [sums(measure, "pooled")[model, "", setting.name] for setting in (first, second)]
        return Contrast([where], found[0], found[1], (sides[0], sides[1]))

    def of_models(measure: Measure, facet: str, settings: Sequence[Setting]) -> Iterator[Contrast]:
        for setting in settings:
            for first, second in combinations(sorted(set(setting.agents)), 2):
                both = [sums(measure, facet).get((model, "", setting.name)) for model in (first, second)]
                if both[0] is not None and both[1] is not None:
                    yield Contrast([Where(measure.name, second, facet, setting.name, first)], both[0], both[1])

    yield [of_settings("format", first, second, CONSENSUS) for _, first, second in pairs_of_formats(pooled)]
    yield list(of_models(CHANGED, "setting", by_setting))
    yield list(of_models(AT_ONCE, "pooled", in_turn))
    yield [
        contrast
        for setting in in_turn
        for model in sorted(set(setting.agents))
        for contrast in _of_places(sums(CHANGED, "pooled", "speaks"), setting, model)
    ]
    yield [
        contrast
        for shared, first, second in pairs_of_goals(pooled)
        for contrast in (
            *(of_settings("goal", first, second, CHANGED, model) for model in sorted(set(shared.agents))),
            of_settings("goal", first, second, CONSENSUS),
        )
    ]
    yield list(_of_rounds(sums(IS_CROWDS, "goal", "round")))


def _of_places(sums: Mapping[tuple[str, ...], ClusterSums], setting: Setting, model: str) -> Iterator[Contrast]:
    """A model's changes of verdict when it speaks first, and when it speaks later."""
    both = [sums.get((model, "", setting.name, place)) for place in ("first", "later")]
    if both[0] is not None and both[1] is not None and both[0].below.any() and both[1].below.any():
        first, later = (
            Where("changed", model, "pooled / speaks", f"{setting.name} / {place}") for place in ("first", "later")
        )
        yield Contrast([later._replace(against="first")], both[0], both[1], (first, later))


def _of_rounds(sums: Mapping[tuple[str, ...], ClusterSums]) -> Iterator[Contrast]:
    """Contrasts of how often each model's verdict is the crowd's, in round 1 and in the last round."""
    names = ("round 1", "last round")
    for goal in in_order(goal for _, _, goal, _ in sums):
        for model in sorted({model for model, *_ in sums}):
            both = [sums.get((model, "", goal or "", name)) for name in names]
            if both[0] is not None and both[1] is not None:
                where = Where(IS_CROWDS.name, model, "goal / round", f"{goal} / {names[1]}", names[0])
                yield Contrast([where], both[0], both[1])


def value_numbers(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[EstimateRow | TableRow]:
    """Numbers about values, if any values are known and all deliberations have the same weight."""
    talks = talks_of(frame)
    if talks.masks is None or talks.weight is not None:
        return
    pooled, resampling = split(talks, pooled=True), frame.jackknife.over(len(talks.dilemmas))
    yield from value_use(pooled, resampling)
    yield from pair_similarity(pooled, resampling)
    yield from inheritance(pooled, resampling)
    yield from rows_of(resampling, [([Where("similarity")], similarity(talks))], SIMILARITY.nothing)
    sums = [([Where("inherited", model)], inherited(talks, model)) for model in talks.models]
    yield from rows_of(resampling, sums, INHERITED.nothing)


def value_sides(results: Results, how: DeliberationHow) -> Sides:
    """Each dilemma's contributions to similarity and inheritance."""
    return _of_values(talks_from(results.records))


def value_sides_by_chance(results: Results, rows: pl.DataFrame | None, how: DeliberationHow) -> Sides:
    """Similarity and inheritance with randomly chosen partners; empty if no values are known."""
    talks = talks_from(results.records)
    return _of_values(talks, np.random.default_rng((how.seed, len(talks))))


def _of_values(talks: Deliberations, rng: np.random.Generator | None = None) -> Sides:
    if talks.masks is None or not talks.known.any():
        return {}
    if talks.weight is not None:
        whole = [no_contribution(SIMILARITY, LEFT_OUT)]
        return {WHOLE: whole, **{model: [no_contribution(INHERITED, LEFT_OUT)] for model in talks.models}}
    whole = [_made(SIMILARITY, talks, similarity(talks, rng))]
    return {
        WHOLE: whole,
        **{model: [_made(INHERITED, talks, inherited(talks, model, rng))] for model in talks.models},
    }


def _made(measure: Measure, talks: Deliberations, sums: ClusterSums) -> Contribution:
    found = of_pairs(measure, talks.dilemmas, sums.above.reshape(-1), sums.below.reshape(-1))
    return found if found.items else no_contribution(measure, measure.nothing)
