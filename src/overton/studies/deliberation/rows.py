"""Units of deliberation, made from records: deliberations, openings, agents, and verdicts.

For each measure that is a mean, the units have a column with its values, null where a unit has no value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from overton.statistics.arrays import AnyInts
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.deliberation.deliberations import (
    ABSENT,
    INVALID,
    Deliberations,
    DeliberationUnits,
    Part,
    pairs_of_goals,
    split,
    talks_from,
    talks_of,
)
from overton.studies.deliberation.findings import notes
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.options import DeliberationHow
from overton.studies.frame import Cells
from overton.studies.grouping import Frame
from overton.studies.probabilities import Weighing
from overton.studies.results import Results
from overton.studies.study_measures import TableRow
from overton.studies.units import Units
from overton.studies.warnings import FaultCount, count_faults


def weighing_of(records: pl.DataFrame, how: DeliberationHow) -> Weighing | None:
    """Always None, because no run requests token probabilities of verdicts or values."""
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
    """The units of the given kinds, by default all kinds.

    deliberations  one row for each deliberation, with '' as the model
    openings  one row for each round-robin deliberation, with the model that speaks first
    agents    one row for each agent
    verdicts  each agent's verdicts in round 1 and in the last round, on dilemmas whose crowd verdict is known

    Facets: `setting`, `pooled` (the setting with orders of speaking pooled), `place` (in the order of speaking; null if
    all speak at once), `speaks` (first or later), `round` and `goal` ('all' if there is no goal).
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
    """The columns that units share: their model, condition, dilemma and facets, and their weights if there are any."""
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
    """Add a row without values for each failed deliberation and each of these models."""
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
    """One row for each deliberation. Failed deliberations have a row without values.

    If a model never gave a readable verdict, agreement is impossible. Its deliberations then have no values for
    consensus.
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
    """One row for each round-robin deliberation, with the model that speaks first."""
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
    """One row for each agent. For a failed deliberation, there is one row for each model, without a value."""
    row, seat = np.nonzero(talks.seated)
    in_turn = np.array([setting.format == "round-robin" for setting in talks.settings], bool)[talks.setting[row]]
    places = [str(place) for place in range(1, talks.model.shape[1] + 1)]
    model = talks.model[row, seat]
    # Count a refusal once for each model of a deliberation, however many seats the model has.
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
    """One row for each agent's first and last verdict, on dilemmas whose crowd verdict is known. The value says whether
    the agent's verdict equals the crowd's."""
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
    """Results in which the verdicts of malformed messages count as unreadable.

    If no message is malformed, the given results.
    """
    records = results.records
    if "faults" not in records.columns:
        return results
    is_faulty = pl.col("faults").list.len().fill_null(0) > 0
    if not records.select(is_faulty.any()).item():
        return results
    return replace(results, records=records.with_columns(verdict=pl.when(~is_faulty).then("verdict")))


def faults_of(records: pl.DataFrame, how: DeliberationHow) -> tuple[FaultCount, ...]:
    """Counts of malformed messages, by model and format."""
    return count_faults(records, "format")


def counts_of(frame: Frame, facets: Sequence[str]) -> dict[str, tuple[Cells, ...]]:
    """Three tables.

    The table 'counts' has counts for all models together, by model, and by setting. 'settings' explains the settings'
    names. 'openings' has the distribution of each model's first verdicts, and the number of dilemmas.
    """
    talks = talks_of(frame)
    settings = {"setting": split(talks), "pooled": split(talks, pooled=True)}
    by_model: list[Cells] = [
        {"dilemmas": len(talks.dilemmas), "messages": messages, "invalid": invalid, "model": name}
        for name, messages, invalid in messages_by_model(talks)
    ]
    by_setting: list[Cells] = [
        {
            "facet": "setting",
            "condition": part.setting.name,
            "deliberations": int((~talks.has_mutes[part.rows]).sum()),
        }
        for part in settings["setting"]
    ]
    whole: Cells = {"model": None, "facet": None, "condition": None}
    return {
        "counts": tuple({**whole, **cells} for cells in (_count_all(talks), *by_model, *by_setting)),
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
    """Counts of the units to measure.

    Deliberations: `failed` are left out because a call failed permanently. In `heard`, every model gave at least one
    readable verdict. `unfinished` have no consensus and fewer rounds than the longest of the same setting. `continued`
    went on after consensus. Messages: `invalid` have no readable verdict, `values_known` have known values, and
    `values_empty` have known values but use none. `values_dropped` counts values outside the list that the judge named,
    null if not recorded. `crowd_unknown` counts dilemmas whose crowd's verdict is unknown or tied.
    """
    empty = 0 if talks.masks is None else int((~talks.masks.any(1) & talks.known).sum())
    return {
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
    """The number of deliberations without consensus that have fewer rounds than the part's longest."""
    rounds = part.talks.rounds[part.rows]
    return int(((part.talks.agreement[part.rows] == 0) & (rounds < rounds.max())).sum())


def messages_by_model(talks: Deliberations) -> Iterator[tuple[str, int, int]]:
    """For each model, the number of its messages, and of its messages without a readable verdict."""
    model = np.broadcast_to(talks.model[..., None], talks.verdict.shape)
    for code, name in enumerate(talks.models):
        own = model == code
        yield name, int((own & (talks.message >= 0)).sum()), int((own & (talks.verdict == INVALID)).sum())


def _count_openings(talks: Deliberations) -> Iterator[Cells]:
    for code, name in enumerate(talks.models):
        given = (talks.model == code) & (talks.first >= 0)
        dilemma = np.broadcast_to(talks.dilemma[:, None], given.shape)[given]
        counts = np.bincount(talks.first[given], minlength=len(VERDICTS)).tolist()
        verdicts = dict(zip(VERDICTS, counts, strict=True))
        yield {"model": name, "given": sum(counts), "dilemmas": len(np.unique(dilemma)), **verdicts}


def missing(results: Results, frame: Frame, how: DeliberationHow) -> Iterator[TableRow]:
    """The reasons why some kinds of numbers are missing, and notes to read with the numbers."""
    talks = talks_of(frame)
    pooled = [part.setting for part in split(talks, pooled=True)]
    reasons = {
        "values": _NO_VALUES if talks.masks is None else LEFT_OUT if talks.weight is not None else "",
        "order": "" if any(setting.format == "round-robin" for setting in pooled) else _NO_ORDER,
        "steering": "" if any(pairs_of_goals(pooled)) else _NO_GOALS,
        "crowd": "" if (talks.crowd >= 0).any() else _CROWD_UNKNOWN,
    }
    for what, why in reasons.items():
        if why:
            yield TableRow("not_computed", {"what": what, "why": why})
    for note in notes(counts_of(frame, ())["counts"]):
        yield TableRow("notes", {"note": note})
    if how.bootstraps:  # makes charts like the paper's figures
        yield TableRow("choices", {"intervals": how.intervals})


_NO_VALUES = "no message has values; a judge can name them"
_NO_ORDER = "no deliberation is round-robin"
_NO_GOALS = "no models deliberated with more than one goal"
_CROWD_UNKNOWN = "no dilemma's crowd verdict is known"
