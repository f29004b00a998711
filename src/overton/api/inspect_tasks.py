"""A study as an Inspect AI task: made from the user's settings; its scores of samples, and figures over all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.results import measuring_of
from overton.api.setting_up import set_up
from overton.hosts.inspect.task import Hosted, cast_of, make_task, model_entries
from overton.hosts.local import ModelEntry
from overton.studies.measuring import Headline, Measured, Results
from overton.studies.nulls import apart
from overton.studies.registry import study_named
from overton.untrusted import converted

if TYPE_CHECKING:
    import polars as pl


__all__ = ["figures", "figures_of_records", "make", "score_of", "scorer_name"]

Measuring = Callable[[str, Sequence[ModelEntry]], tuple[Any, Any]]
"""The scorer and the metric for a study and the models that it measures."""


def make(
    study: str,
    measuring: Measuring,
    *,
    items: str | Path | Sequence[Any] | None = None,
    only: Sequence[str] | None = None,
    seed: int = 0,
    agents: int = 0,
    sources: Mapping[str, Sequence[str]] | None = None,
    source_args: Mapping[str, Mapping[str, str | Sequence[str]]] | None = None,
    trials_at_once: int = 10,
    cache: bool = True,
    **options: Any,
) -> Any:
    """The task of a study; parameters are those of `overton.run`, models are Inspect's.

    `agents` is how many models interact, in studies where they do; `sources` are the roles that search and read pages.

    Raises:
        InputError: anything wrong with the arguments; nothing was asked.
    """
    found = study_named(study)
    given = model_entries(found, seed, agents)
    named = {role: [entry.name for entry in entries] for role, entries in given.items()} | dict(sources or {})
    first = named.pop(found.first)
    ready = set_up(found, options, models=first, others=named, items=items, only=only, source_args=source_args)
    searched = {role: requests for role, requests in ready.wanted.items() if role in found.retrieval}
    roomy = found.with_tokens(ready.options)
    models = model_entries(roomy, seed, agents)
    cast = cast_of(roomy, seed, agents, models, searched)
    hosted = Hosted(cast, ready.items, ready.options, trials_at_once, cache, ready.left_out)
    return make_task(hosted, *measuring(found.name, models[found.first]))


_LONGEST = 60
"""Most characters of a cell shown."""
_MOST_ROWS = 200


def scorer_name(study: str) -> str:
    """The name of a study's task and its scorer."""
    return study.replace("-", "_")


def score_of(study: str, records: Sequence[Any]) -> Any:
    """Inspect's score of one sample's records: a number to sort by, and a table to read."""
    from inspect_ai.scorer import Score

    headline = _headline(study)
    value = round(headline.value(records), 4)
    return Score(value=value, explanation=f"{headline.meaning}\n\n{_table(headline.columns, records)}")


def figures_of_records(
    study: str, records: Sequence[Mapping[str, Any]], models: Sequence[str], *, held: bool = False
) -> dict[str, float]:
    """The figures of records as stored in scores' metadata; see `figures`."""
    from overton.engine.outcomes import columns_of, record_type_columns

    kind = study_named(study).record
    rows = [converted(record, kind) for record in records]
    return figures(study, columns_of(rows, record_type_columns(kind)), models, held=held)


def figures(study: str, table: pl.DataFrame, models: Sequence[str], *, held: bool = False) -> dict[str, float]:
    """A study's first figures of a table of records, each followed by its standard error over items if it has one.

    `models` are the names of those measured, a single one if each has its own lane; with `held`, a grammar held answers
    to their form. Empty if there is nothing to measure.
    """
    from overton.errors import InputError

    measuring, headline = measuring_of(study_named(study)), _headline(study)
    if not table.height or not headline.item:
        return {}
    design, nulls = apart(_labelled(study, table, models, held), study_named(study).nulls)
    results = Results(design, models=[Measured(name, name) for name in models], nulls=nulls)
    try:
        analysis = measuring.records(results, measuring.how())
    except InputError:  # every call failed, or there is nothing to measure
        return {}
    made = {}
    for name, estimate in headline.figures(analysis):
        if not isfinite(estimate.value):
            continue
        made[name] = estimate.value
        if estimate.error is not None:
            made[f"{name}_stderr"] = estimate.error
    return made


def _headline(study: str) -> Headline[Any, Any]:
    """The study's headline; without one there are no figures, and records are shown unchanged."""
    named = study_named(study)
    said = "This study declares no figures; its records are in the metadata."
    bare: Headline[Any, Any] = Headline(lambda _: iter(()), "", lambda _: nan, said, named.record.__struct_fields__)
    return measuring_of(named).headline or bare


def _labelled(study: str, table: pl.DataFrame, models: Sequence[str], held: bool) -> pl.DataFrame:
    """The table as in a run's records: with the model's name, unless every row has it anyway."""
    import polars as pl

    if study_named(study).together:
        return table
    (name,) = models
    return table.with_columns(model=pl.lit(name), held=pl.lit(held))


def _table(columns: Sequence[str], records: Sequence[Any]) -> str:
    """Records as a plain-text table for the log viewer; columns without values are left out."""
    rows = [[_cell(getattr(record, name)) for name in columns] for record in records[:_MOST_ROWS]]
    filled = [[name, *cells] for name, *cells in zip(columns, *rows, strict=True) if any(cells)]
    widths = [max(map(len, column)) for column in filled]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*filled, strict=True)
    ]
    more = len(records) - _MOST_ROWS
    return "\n".join([*lines, *([f"\n{more} more records are in the metadata."] if more > 0 else [])])


def _cell(value: Any) -> str:
    """A value on one line, truncated if it is long."""
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
