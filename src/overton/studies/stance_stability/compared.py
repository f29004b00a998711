"""What models can be compared by in stance stability: sums over each topic's conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics.arrays import Floats
from overton.studies.measures import Contribution, Measure, Sides, of_pairs
from overton.studies.results import Results
from overton.studies.stance_stability.alignments import are_alignments, read_alignments
from overton.studies.stance_stability.measures.analysis import counts_something
from overton.studies.stance_stability.measures.assembly import labels_of
from overton.studies.stance_stability.measures.cells import range_of, reason
from overton.studies.stance_stability.measures.scores import FormulaRules, score
from overton.studies.stance_stability.measures.traces import traces_from
from overton.studies.stance_stability.tables import read_table

if TYPE_CHECKING:
    from overton.studies.stance_stability.how import StanceHow
    from overton.studies.tables import RawTable


_LEADS = {"change_rate": "Rate of change", "chameleon": "Chameleon score", "drift": "Drift"}
_DRIFT = 0.2
_COUNT = 0.5
"""Margins: drift is on [-2, 2], and half a turn is less than any difference in counts."""


def of_records(results: Results, how: StanceHow) -> Sides:
    """Every model's contributions; failures are counted by topic."""
    return _sides(results.records, how)


def of_table(table: RawTable, how: StanceHow) -> Sides:
    """The same for a table of labelled turns.

    Raises:
        InputError: it is not such a table.
    """
    return _sides(read_alignments(table)[0] if are_alignments(table) else read_table(table), how)


def _sides(turns: pl.DataFrame, how: StanceHow) -> Sides:
    named = turns.with_columns(pl.col("model").replace("", "not named")) if "model" in turns.columns else turns
    traces = traces_from(named)
    reading = FormulaRules(how.no_change, how.no_documents, how.unclear, how.unlabelled, how.labels, how.target)
    reading = FormulaRules(**{**vars(reading), "labels": labels_of(traces, reading)})
    values = score(traces, reading).values
    by_topic = traces.topic is not None and how.over != "conversations"
    items, unit = _numbered(traces.about, "topic" if by_topic else "conversation")
    models, code = _numbered(traces.about, "model")
    failed, refused = _by_item(named, items, models, "failure"), _by_item(named, items, models, "refused")
    return {
        name: list(
            _contributions(
                values, items, np.where(code == number, unit, -1), failed[name], refused[name], traces.weight
            )
        )
        for number, name in enumerate(models)
    }


def _numbered(about: pl.DataFrame, column: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The distinct names in order, and the code of each conversation's."""
    names = about[column].unique().sort().to_list()
    places = {name: place for place, name in enumerate(names)}
    return tuple(map(str, names)), np.array([places[name] for name in about[column].to_list()], np.int64)


def _contributions(  # noqa: PLR0917
    values: Mapping[str, Floats],
    items: tuple[str, ...],
    unit: NDArray[np.int64],
    failed: Floats,
    refused: Floats,
    weight: Floats | None,
) -> Iterator[Contribution]:
    for name, column in values.items():
        use = np.isfinite(column) & (unit >= 0)
        many = np.bincount(unit[use], minlength=len(items)).astype(float)
        if weight is None:
            above, below, each = np.bincount(unit[use], column[use], len(items)), many, np.ones(len(items))
        else:
            above = np.bincount(unit[use], weight[use] * column[use], len(items))
            below = np.bincount(unit[use], weight[use], len(items))
            each = np.divide(below, many, out=np.ones(len(items)), where=many > 0)
        made = of_pairs(
            _measure(name),
            items,
            above,
            below,
            failed_weight=failed * each,
            refused_weight=np.minimum(refused * each, below),
        )
        yield made if made.items else Contribution(made.measure, (), np.empty((0, 2)), why=reason(name))


def _measure(name: str) -> Measure:
    within, title = range_of(name), _LEADS.get(name, name.replace("_", " ").capitalize())
    if counts_something(name):
        return Measure(name, title, within, _COUNT, "value", "value")
    if name == "drift":
        return Measure(name, title, within, _DRIFT, "value", "value", leads=True)
    if name.startswith("chameleon"):
        return Measure(name, title, within, kind="value", gap="value", leads=name in _LEADS)
    return Measure(name, title, within, leads=name in _LEADS)


def _by_item(turns: pl.DataFrame, items: tuple[str, ...], models: tuple[str, ...], column: str) -> dict[str, Floats]:
    """How many conversations of each model on each item have a turn that failed or was refused, by `column`."""
    made = {name: np.zeros(len(items)) for name in models}
    if column not in turns.columns or not {"topic", "model", "conversation"} <= {*turns.columns}:
        return made
    had = pl.col(column) if turns.schema[column] == pl.Boolean else pl.col(column).is_not_null()
    key = [name for name in ("model", "topic", "conversation", "temperature") if name in turns.columns]
    found = turns.filter(had).unique(key).group_by("model", "topic").len()
    places = {name: place for place, name in enumerate(items)}
    for model, topic, count in found.iter_rows():
        if model in made and topic in places:
            made[model][places[topic]] = count
    return made
