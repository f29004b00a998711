"""The rows of the report's tables. Each row is about a model, or all models together, in a condition and community."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.frame import Analysis, EstimateRow
from overton.studies.layouts import MeasureColumn
from overton.studies.pluralism.measures import MEASURES, PULLS
from overton.studies.pluralism.options import Against, compared_with, in_order, named
from overton.studies.pluralism.tables import UNNAMED
from overton.studies.sections import Cell, Chart, Column, EmptyCell, Table

HEADINGS = {measure.name: measure.heading for measure in (*MEASURES, *PULLS)}
"""Headings of measures in tables."""

EXPERIMENTS = {
    "sycophancy": "Responses",
    "ranking": "Rankings",
    "pairwise": "Pairs with the most popular viewpoint",
    "pairwise_gap": "Random pairs",
}

AGAINST: dict[Against, str] = {
    "neutral": "neutral",
    "matched-neutral": "neutral in the biased wording",
    "twin": "the plain setting",
}

_ARMS = {
    "neutral": "neutral",
    "toward": "biased toward",
    "opposing": "biased opposing",
    "biased": "biased",
    "matched-neutral": "neutral, biased wording",
}


def condition_words(name: str) -> str:
    """A condition in words: its arm, then the differences from the plain setting."""
    found = named(name)
    arm = _ARMS.get(found.arm, name.partition("+")[0])
    effort = f", effort {found.effort}" if found.effort else ""
    return f"{arm}{effort}{', mitigated' if found.mitigated else ''}"


def model_words(name: str | None) -> str:
    """A model's name for readers."""
    return "all models" if name is None else "the model" if name == UNNAMED else name


_ALPHA = 0.05
HEADS = [Column("Model"), Column("Condition")]
_NOT_THERE = EmptyCell("not in this table")


@dataclass(frozen=True)
class ReportRows:
    """An analysis, with the models, conditions and communities for which its tables have rows."""

    analysis: Analysis

    @cached_property
    def communities(self) -> list[str | None]:
        """The communities, then None for all communities together. If there are fewer than two communities, only
        None."""
        known = sorted(self._known_communities)
        return [*(known if len(known) > 1 else ()), None]

    @cached_property
    def _known_communities(self) -> set[str]:
        cells = (row for kind in EXPERIMENTS for row in self.analysis.counts.get(kind, ()))
        return {str(row["condition"]).rpartition(" / ")[2] for row in cells if row["facet"] == "community"}

    def title(self, title: str, community: str | None) -> str:
        """A table's title with the community of its rows."""
        where = community or ("all communities" if self._known_communities else "")
        return f"{title}, {where}" if where else title

    @cached_property
    def models(self) -> list[str | None]:
        """The models; if there are several, then None for all models together."""
        own = list(self.analysis.models)
        return [*own, None] if len(own) > 1 else [*own]

    def conditions(self, kind: str) -> list[str]:
        """The conditions of an experiment, in order."""
        cells = self.analysis.counts.get(kind, ())
        return in_order([str(row["condition"]) for row in cells if row["model"] is None and row["facet"] is None])

    @cached_property
    def _counts(self) -> Mapping[tuple[Any, ...], Mapping[str, Any]]:
        return {
            (kind, row["model"], row["facet"], row["condition"]): row
            for kind in EXPERIMENTS
            for row in self.analysis.counts.get(kind, ())
        }

    def counts(self, kind: str, model: str | None, condition: str, community: str | None = None) -> Any:
        """The counts for these units; None if there are no such units."""
        facet, where = _where(condition, community)
        return self._counts.get((kind, model, facet, where))

    def scopes(self, kind: str, community: str | None = None) -> Iterator[tuple[str | None, str]]:
        """Models and conditions that have units."""
        for model in self.models:
            for condition in self.conditions(kind):
                if self.counts(kind, model, condition, community):
                    yield model, condition

    def changes(
        self, measure: str, model: str | None, condition: str, community: str | None = None, variant: str = "plain"
    ) -> dict[str, EstimateRow]:
        """A measure's differences between `condition` and each condition that `condition` is compared with."""
        facet, where = _where(condition, community)
        rows = self.analysis.rows_of(measure, facet, model=model, condition=where, variant=variant)
        return {compared_with(condition, row.against): row for row in rows if row.against is not None}

    def differs(self, measures: Sequence[str], model: str | None, condition: str, community: str | None) -> str:
        """The measures that differ from neutral after correction, with their direction: 'Against R lower, Global P
        lower'."""
        rows = ((name, self.changes(name, model, condition, community).get("neutral")) for name in measures)
        return ", ".join(
            f"{HEADINGS[name]} {'higher' if row.number.value > 0 else 'lower'}"
            for name, row in rows
            if row is not None and row.p is not None and row.p < _ALPHA
        )

    def differs_note(self, kind: str, community: str | None) -> str:
        """The note on how the column of differences was computed."""
        facet, _ = _where("", community)
        counts = {
            int(test["comparisons"] or 0)
            for test in self.analysis.counts.get("tests", ())
            if str(test["measure"]).rpartition("_")[0].startswith(kind) and test["facet"] == facet
            if test["variant"] == "plain" and self._is_from_neutral(test, community)
            if (test["model"] is None) <= (len(self.models) > 1)
        }
        of = sorted(counts - {0})
        times = (
            f", corrected for {' or '.join(f'{count:,}' for count in of)} comparisons of each measure (Holm)"
            if of
            else ""
        )
        return f"Differences: Wilcoxon signed-rank over threads, p < {_ALPHA:g}{times}. Intervals are not corrected."

    def _is_from_neutral(self, test: Mapping[str, Any], community: str | None) -> bool:
        condition = str(test["condition"])
        if community is not None and not condition.endswith(f" / {community}"):
            return False
        return compared_with(condition.partition(" / ")[0], str(test["against"])) == "neutral"

    def cells(
        self, columns: Sequence[MeasureColumn], model: str | None, condition: str, community: str | None
    ) -> list[Estimate | None]:
        """The numbers of a row. If a column has `against`, the number in this column is a difference from the condition
        that `against` names."""
        facet, where = _where(condition, community)
        rows = (
            self.analysis.row(column.measure, model=model, facet=facet, condition=where, variant=column.variant)
            if column.against is None
            else self.changes(column.measure, model, condition, community, column.variant).get(column.against)
            for column in columns
        )
        return [None if row is None else row.number for row in rows]

    def rows(
        self, kind: str, columns: Sequence[MeasureColumn], community: str | None, *, tested: bool = False
    ) -> Iterator[list[Cell]]:
        """A row for each model and condition of an experiment. With `tested`, a row starts with the number of threads
        and ends with the measures that differ from neutral."""
        measures = [column.measure for column in columns]
        for model, condition in self.scopes(kind, community):
            cells: list[Cell] = [*self.cells(columns, model, condition, community)]
            if tested:
                threads = self.counts(kind, model, condition, community)["threads"]
                cells = [threads, *cells, self.differs(measures, model, condition, community)]
            yield [*heads(model, condition), *cells]

    def table(
        self,
        title: str,
        columns: Mapping[str, Sequence[MeasureColumn]],
        communities: Sequence[str | None] = (None,),
        *,
        named: Mapping[str, str] | None = None,
        tested: bool = False,
        needed: str = "plain",
        note: str = "",
        **more: Any,
    ) -> Table:
        """A table of numbers, with the `columns` of each experiment.

        `named` has names of the experiments for a separate column. A row is left out if it has no number of the variant
        `needed`. A column without numbers is also left out.
        """
        *_, own = columns.values()
        first = [*(["Community"] if len(communities) > 1 else []), *(["Pairs"] if named else [])]
        made = [*map(Column, first), *HEADS, *([Column("Threads", "count")] if tested else [])]
        counts = [len(made) + at for at, column in enumerate(own) if column.variant == needed]
        made += [_column(column, self.analysis) for column in own]
        made += [Column("Differs from neutral")] if tested else []
        rows = [
            [*[community or ""][: len(communities) - 1], *([named[kind]] if named else []), *row]
            for community in communities
            for kind, numbers in columns.items()
            for row in self.rows(kind, numbers, community, tested=tested)
        ]
        rows = [row for row in rows if any(row[at] is not None for at in counts)]
        kept = [at for at, _ in enumerate(made) if not rows or any(row[at] is not None for row in rows)]
        cells = [[_NOT_THERE if row[at] is None else row[at] for at in kept] for row in rows]
        if tested and len(communities) == 1:
            note = " ".join(dict.fromkeys(self.differs_note(kind, communities[0]) for kind in columns))
        return Table(title, [made[at] for at in kept], cells, note, **more)

    def chart(  # noqa: PLR0917
        self,
        name: str,
        title: str,
        about: str,
        column: MeasureColumn,
        conditions: Sequence[str],
        axis: Axis,
        source: str,
    ) -> Chart:
        """A chart of a measure by model, with a series for each condition. If there are several communities, each has a
        panel."""
        made = self.dots(column, conditions)
        rows = list(dict.fromkeys(dot.row for dot in made))
        panels = list(dict.fromkeys(dot.panel for dot in made if dot.panel))
        series = series_of([condition_words(name) for name in conditions])
        draw = partial(dots, made, rows, series, axis, panels=panels)
        return Chart(name, title, about, draw, source=source)

    def dots(self, column: MeasureColumn, conditions: Sequence[str]) -> list[Dot]:
        """A dot for each model, community and condition."""
        several = len(self.communities) > 1
        return [
            Dot(model_words(model), series, found, panel=(community or "all communities") if several else "")
            for community in self.communities
            for model in self.models
            for series, condition in enumerate(conditions)
            for found in self.cells([column], model, condition, community)
            if found is not None
        ]


def _column(column: MeasureColumn, analysis: Analysis) -> Column:
    kind = column.kind or analysis.measures[column.measure].kind
    return Column(column.title or HEADINGS[column.measure], kind, detail=column.detail)


def _where(condition: str, community: str | None) -> tuple[str | None, str]:
    """The facet and the condition of a row."""
    return (None, condition) if community is None else ("community", f"{condition} / {community}")


def heads(model: str | None, condition: str) -> list[Cell]:
    """The cells that name a row."""
    return [model_words(model), condition_words(condition)]
