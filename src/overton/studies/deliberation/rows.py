"""Records of deliberation made into units: deliberations, openings, agents, and verdicts.

Each value that a measure is a mean of has a column here, null where a unit has none. Numbers of verdicts before and
after deliberation (figure 3), and of what became of first ones (appendix G, table 2), are rows of estimates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from overton.statistics import Estimate
from overton.statistics.arrays import AnyInts
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Resampling
from overton.studies.deliberation.contrasts import Where, rows_of
from overton.studies.deliberation.deliberations import ABSENT, INVALID, Deliberations, Part, Setting, split, talks_from
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.options import DeliberationHow
from overton.studies.findings import share_without_interval
from overton.studies.frame import Cells, EstimateRow
from overton.studies.grouping import Frame
from overton.studies.probabilities import Weighing
from overton.studies.results import Results
from overton.studies.study_measures import TableRow
from overton.studies.units import Units
from overton.studies.warnings import FaultCount, count_faults


@dataclass(frozen=True)
class DeliberationUnits(Units):
    """The units 'deliberations', with the arrays that they are made from: other numbers start from these."""

    talks: Deliberations | None = None


def talks_of(frame: Frame) -> Deliberations:
    """The arrays that a frame's units are made from."""
    units = frame.units["deliberations"]
    assert isinstance(units, DeliberationUnits)
    assert units.talks is not None
    return units.talks


def weighing_of(records: pl.DataFrame, how: DeliberationHow) -> Weighing | None:
    """None: nobody requests probabilities of verdicts, or of values."""
    return None


_FACETS = {
    "deliberations": ("setting", "pooled"),
    "openings": ("pooled",),
    "agents": ("setting", "place", "pooled", "speaks"),
    "verdicts": ("goal", "round"),
}


def units_of(
    records: pl.DataFrame, how: DeliberationHow, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
) -> dict[str, Units]:
    """The units of some kinds, by default all.

    deliberations  one row for each; those of all models are under the model ''
    openings  round-robin deliberations, of the model that speaks first
    agents    one row for each agent
    verdicts  each agent's verdicts in round 1 and in the last round, on dilemmas whose crowd is known

    Facets: `setting`, `pooled` (the setting with orders of speaking pooled), `place` (in the order of speaking; null if
    all speak at once), `speaks` (first or later), `round` and `goal` ('all' without one).
    """
    talks = talks_from(records)
    makers = (deliberations_of, openings_of, agents_of, verdicts_of)
    weight = "" if talks.weight is None else "weight"
    made: dict[str, Units] = {
        kind: Units(make(talks), "dilemma", facets, weight)
        for (kind, facets), make in zip(_FACETS.items(), makers, strict=True)
        if kind in (kinds or _FACETS)
    }
    if (own := made.get("deliberations")) is not None:
        made["deliberations"] = DeliberationUnits(own.table, own.cluster, own.facets, own.weight, talks=talks)
    return made


def _columns(talks: Deliberations, row: AnyInts, facets: Sequence[str] = ("setting", "pooled")) -> dict[str, pl.Series]:
    """The columns of units of these deliberations that say what they are of, and what they count."""
    names = {
        "setting": [setting.name for setting in talks.settings],
        "pooled": [setting.pooled.name for setting in talks.settings],
        "goal": [setting.goal or "all" for setting in talks.settings],
    }
    weight = {} if talks.weight is None else {"weight": pl.Series(talks.weight[row])}
    return {
        "model": _named([""], np.zeros(len(row), np.int64)),
        "condition": _named([""], np.zeros(len(row), np.int64)),
        "dilemma": _named(talks.dilemma_names, talks.dilemma[row]),
        **{name: _named(names[name], talks.setting[row]) for name in facets},
        **weight,
    }


def _named(names: Sequence[str] | pl.Series, codes: AnyInts) -> pl.Series:
    """Names by their codes, null for codes below 0."""
    known = names if isinstance(names, pl.Series) else pl.Series(names, dtype=pl.Enum(sorted(set(names))))
    place = pl.Series(codes.astype(np.int64))
    return known.gather(place.set(place < 0, None) if len(codes) and codes.min() < 0 else place)


def _with_failed(table: pl.DataFrame, talks: Deliberations, models: Sequence[str]) -> pl.DataFrame:
    """With a row without values for each deliberation that failed, of each of these models."""
    known = set(talks.dilemmas)
    failed = [(model, dilemma) for dilemma in talks.failed if dilemma in known for model in models]
    if not failed:
        return table
    rows = pl.DataFrame(failed, {"model": pl.String, "dilemma": pl.String}, orient="row").with_columns(
        pl.col("model").cast(table.schema["model"]),
        pl.col("dilemma").cast(table.schema["dilemma"]),
        condition=pl.lit("").cast(table.schema["condition"]),
        refused=pl.lit(value=False),
        failed=pl.lit(value=True),
        **({"weight": pl.lit(1.0)} if "weight" in table.columns else {}),
    )
    return pl.concat([table, rows], how="diagonal")


def deliberations_of(talks: Deliberations) -> pl.DataFrame:
    """One row for each deliberation, and one without values for each that failed.

    Deliberations of models that never gave a readable verdict have no value but that of the crowd: with these, nobody
    can agree.
    """
    every, reached = np.arange(len(talks)), talks.agreement > 0
    crowd = talks.crowd[talks.dilemma]
    opening = talks.verdict[:, :, 0]
    flags = {
        "consensus": reached,
        "no_consensus": ~reached,
        "consensus_by_majority": talks.majority >= 0,
        "consensus_on_new": reached & (opening != talks.agreed_verdict[:, None]).all(1),
        "is_crowds": crowd == talks.agreed_verdict,
    }
    made = pl.DataFrame({**_columns(talks, every), **flags, "rounds": talks.agreement, "can": ~talks.has_mutes})
    made = made.with_columns(refused=pl.Series(talks.refused), failed=pl.lit(value=False))
    both = pl.Series((crowd >= 0) & (talks.agreed_verdict >= 0))
    all_read = pl.Series(((opening >= 0) | ~talks.seated).all(1))
    found = made.with_columns(
        *(pl.when("can").then(name).alias(name) for name in list(flags)[:3]),
        rounds_to_consensus=pl.when(pl.col("can") & pl.col("consensus")).then("rounds"),
        consensus_on_new=pl.when(all_read).then("consensus_on_new"),
        consensus_is_crowds=pl.when(both).then("is_crowds"),
    )
    return _with_failed(found.drop("can", "rounds", "is_crowds"), talks, [""])


def openings_of(talks: Deliberations) -> pl.DataFrame:
    """One row for each round-robin deliberation, of the model that speaks first."""
    in_turn = np.array([setting.format == "round-robin" for setting in talks.settings], bool)[talks.setting]
    row = np.flatnonzero(in_turn)
    reached = talks.agreement[row] > 0
    own = talks.agreed_verdict[row] == talks.verdict[row, 0, 0]
    return pl.DataFrame(
        {
            **_columns(talks, row, ("pooled",)),
            "model": _named(talks.models, talks.model[row, 0]),
            "led_to_consensus_at_once": talks.agreement[row] == 1,
            "led_to_consensus": reached,
            "prevailed": reached & own,
            "yielded": reached & ~own,
        }
    )


def agents_of(talks: Deliberations) -> pl.DataFrame:
    """One row for each agent, and one without a value for each model and deliberation that failed."""
    row, seat = np.nonzero(talks.seated)
    in_turn = np.array([setting.format == "round-robin" for setting in talks.settings], bool)[talks.setting[row]]
    places = [str(place) for place in range(1, talks.model.shape[1] + 1)]
    model = talks.model[row, seat]
    # A refusal counts once for each model of a deliberation, however many seats it has.
    again = (talks.model[row] == model[:, None]) & (np.arange(talks.model.shape[1]) < seat[:, None])
    made = pl.DataFrame(
        {
            **_columns(talks, row),
            "model": _named(talks.models, model),
            "place": _named(places, np.where(in_turn, seat, -1)),
            "speaks": _named(["first", "later"], np.where(in_turn, (seat > 0).astype(int), -1)),
            "moved": talks.changed[row, seat],
            "heard": talks.first[row, seat] >= 0,
            "refused": talks.refused[row] & ~again.any(1),
        }
    )
    found = made.select(
        pl.exclude("moved", "heard"), changed=pl.when("heard").then("moved"), failed=pl.lit(value=False)
    )
    return _with_failed(found, talks, talks.models)


def verdicts_of(talks: Deliberations) -> pl.DataFrame:
    """One row for each agent and either end of its deliberation, on dilemmas whose crowd is known: is its verdict there
    the crowd's?"""
    crowd = talks.crowd[talks.dilemma]
    ends = []
    for number, verdict in enumerate((talks.verdict[:, :, 0], talks.at_end)):
        row, seat = np.nonzero(talks.seated & (verdict != ABSENT) & (crowd >= 0)[:, None])
        ends.append(
            pl.DataFrame(
                {
                    **_columns(talks, row, ("goal",)),
                    "model": _named(talks.models, talks.model[row, seat]),
                    "round": _named(["round 1", "last round"], np.full(len(row), number)),
                    "verdict_is_crowds": verdict[row, seat] == crowd[row],
                }
            )
        )
    return pl.concat(ends)


def without_faults(results: Results) -> Results:
    """The view in which the verdicts of malformed messages could not be read; the results themselves without any."""
    records = results.records
    if "faults" not in records.columns:
        return results
    is_faulty = pl.col("faults").list.len().fill_null(0) > 0
    if not records.select(is_faulty.any()).item():
        return results
    return replace(results, records=records.with_columns(verdict=pl.when(~is_faulty).then("verdict")))


def faults_of(records: pl.DataFrame, how: DeliberationHow) -> tuple[FaultCount, ...]:
    """Malformed messages, by model and format."""
    return count_faults(records, "format")


def counts_of(frame: Frame, facets: Sequence[str]) -> dict[str, tuple[Cells, ...]]:
    """The tables 'counts', for all models together, by model, and by setting; 'settings', which says what their names
    stand for; and 'openings', how often each model's first verdict was which, on how many dilemmas."""
    talks = talks_of(frame)
    settings = {"setting": split(talks), "pooled": split(talks, pooled=True)}
    counts = [
        _count_all(talks),
        *_count_by_model(talks),
        *(_count_setting(part) for part in settings["setting"]),
    ]
    return {
        "counts": tuple(counts),
        "openings": tuple(_count_openings(talks)),
        "settings": tuple(
            {
                "facet": facet,
                "condition": part.setting.name,
                "format": part.setting.format,
                "goal": part.setting.goal,
                "agents": " + ".join(part.setting.agents),
            }
            for facet, parts in settings.items()
            for part in parts
        ),
    }


def _count_all(talks: Deliberations) -> Cells:
    """What there is to measure.

    `failed` deliberations are left out because a call failed for good; in `heard` ones every model gave a readable
    verdict. `unfinished` ones have no consensus and fewer rounds than the longest one of their kind; `continued` ones
    went on after consensus. Of messages, `invalid` ones have no readable verdict, `values_known` counts those whose
    values are known, `values_empty` those among these that use none; `values_dropped` counts values outside the list
    that the judge named, null if not recorded. `crowd_unknown` counts dilemmas whose crowd's verdict is unknown or
    tied.
    """
    empty = 0 if talks.masks is None else int((~talks.masks.any(1) & talks.known).sum())
    return {
        "model": None,
        "facet": None,
        "condition": None,
        "deliberations": len(talks),
        "heard": int((~talks.has_mutes).sum()),
        "failed": len(talks.failed),
        "dilemmas": len(talks.dilemmas),
        "messages": int((talks.message >= 0).sum()),
        "invalid": int((talks.verdict == INVALID).sum()),
        "unfinished": sum(map(_unfinished, split(talks, pooled=True))),
        "continued": int(((talks.agreement > 0) & (talks.agreement < talks.rounds)).sum()),
        "values_known": int(talks.known.sum()),
        "values_empty": empty,
        "values_dropped": talks.dropped,
        "crowd_unknown": int((talks.crowd < 0).sum()),
    }


def _unfinished(part: Part) -> int:
    """Deliberations without consensus that are shorter than the longest of their kind."""
    rounds = part.talks.rounds[part.rows]
    return int(((part.talks.agreement[part.rows] == 0) & (rounds < rounds.max())).sum())


def _count_by_model(talks: Deliberations) -> Iterator[Cells]:
    """Each model's messages, and those without a readable verdict."""
    model = np.broadcast_to(talks.model[..., None], talks.verdict.shape)
    for code, name in enumerate(talks.models):
        yield {
            "model": name,
            "facet": None,
            "condition": None,
            "dilemmas": len(talks.dilemmas),
            "messages": int(((talks.message >= 0) & (model == code)).sum()),
            "invalid": int(((talks.verdict == INVALID) & (model == code)).sum()),
        }


def _count_setting(part: Part) -> Cells:
    heard = int((~part.talks.has_mutes[part.rows]).sum())
    return {"model": None, "facet": "setting", "condition": part.setting.name, "deliberations": heard}


def _count_openings(talks: Deliberations) -> Iterator[Cells]:
    for code, name in enumerate(talks.models):
        given = (talks.model == code) & (talks.first >= 0)
        dilemma = np.broadcast_to(talks.dilemma[:, None], given.shape)[given]
        counts = np.bincount(talks.first[given], minlength=len(VERDICTS)).tolist()
        verdicts = dict(zip(VERDICTS, counts, strict=True))
        yield {"model": name, "given": sum(counts), "dilemmas": len(np.unique(dilemma)), **verdicts}


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
