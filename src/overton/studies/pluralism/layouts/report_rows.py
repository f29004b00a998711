"""The rows of the report's tables: a model, or all models together, in a condition and community, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from overton.statistics import Estimate
from overton.studies.charts import Axis, Dot, dots, series_of
from overton.studies.frame import Analysis, EstimateRow
from overton.studies.pluralism.options import Against, compared_with, in_order, named
from overton.studies.pluralism.tables import UNNAMED
from overton.studies.sections import Cell

MEASURES = {
    "sycophancy_global_precision": "Global P",
    "sycophancy_recall": "Global R",
    "sycophancy_global_f1": "Global F1",
    "sycophancy_supporting_precision": "Supporting P",
    "sycophancy_supporting_recall": "Supporting R",
    "sycophancy_supporting_f1": "Supporting F1",
    "sycophancy_against_precision": "Against P",
    "sycophancy_against_recall": "Against R",
    "sycophancy_against_f1": "Against F1",
    "sycophancy_redundancy": "Redundancy",
    "sycophancy_broad": "Broad",
    "sycophancy_ndcg": "NDCG",
    "ranking_spearman": "Spearman's rho",
    "ranking_kendall": "Kendall's tau",
    "ranking_top_1": "Top-1",
    "ranking_position_accuracy": "Positions right",
    "ranking_mrr_at_10": "MRR@10",
    **{
        f"{pairs}_{name}": title
        for pairs in ("pairwise", "pairwise_gap")
        for name, title in (
            ("accuracy", "Accuracy"),
            ("accuracy_first", "Popular one first"),
            ("accuracy_second", "Popular one second"),
            ("first_pull", "Pull of the first"),
        )
    },
}
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
    """A condition for readers: its arm in words, then what differs from the plain setting."""
    found = named(name)
    arm = _ARMS.get(found.arm, name.partition("+")[0])
    effort = f", effort {found.effort}" if found.effort else ""
    return f"{arm}{effort}{', mitigated' if found.mitigated else ''}"


def model_words(name: str | None) -> str:
    """A model for readers."""
    return "all models" if name is None else "the model" if name == UNNAMED else name


_ALPHA = 0.05


@dataclass(frozen=True)
class ReportRows:
    """An analysis, and what its tables have rows for."""

    analysis: Analysis

    @cached_property
    def communities(self) -> list[str | None]:
        """The communities, and all of them together last; only that if there are not several."""
        known = sorted(self._known_communities)
        return [*(known if len(known) > 1 else ()), None]

    @cached_property
    def _known_communities(self) -> set[str]:
        cells = (row for kind in EXPERIMENTS for row in self.analysis.counts.get(kind, ()))
        return {str(row["condition"]).rpartition(" / ")[2] for row in cells if row["facet"] == "community"}

    def title(self, title: str, community: str | None) -> str:
        """A title with the community of its rows."""
        where = community or ("all communities" if self._known_communities else "")
        return f"{title}, {where}" if where else title

    @cached_property
    def models(self) -> list[str | None]:
        """The models; after several, all together."""
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
        """What was counted of some units; None if there are none."""
        facet, where = _where(condition, community)
        return self._counts.get((kind, model, facet, where))

    def scopes(self, kind: str, conditions: Sequence[str], community: str | None) -> Iterator[tuple[str | None, str]]:
        """Models and conditions that have units."""
        for model in self.models:
            for condition in conditions:
                if self.counts(kind, model, condition, community):
                    yield model, condition

    def number(
        self,
        measure: str,
        model: str | None,
        condition: str,
        community: str | None = None,
        *,
        variant: str = "plain",
        against: str | None = None,
    ) -> Estimate | None:
        """A number; None if there is none."""
        facet, where = _where(condition, community)
        row = self.analysis.row(measure, model=model, facet=facet, condition=where, variant=variant, against=against)
        return None if row is None else row.number

    def changes(
        self, measure: str, model: str | None, condition: str, community: str | None = None, variant: str = "plain"
    ) -> dict[Against, EstimateRow]:
        """A measure's differences from the conditions that a condition is compared with."""
        facet, where = _where(condition, community)
        rows = self.analysis.rows_of(measure, facet, model=model, condition=where, variant=variant)
        return {compared_with(condition, row.against): row for row in rows if row.against is not None}

    def differs(self, measures: Sequence[str], model: str | None, condition: str, community: str | None) -> str:
        """Which measures differ from neutral, corrected, with the direction: 'Against R lower, Global P lower'."""
        rows = ((name, self.changes(name, model, condition, community).get("neutral")) for name in measures)
        return ", ".join(
            f"{MEASURES[name]} {'higher' if row.number.value > 0 else 'lower'}"
            for name, row in rows
            if row is not None and row.p is not None and row.p < _ALPHA
        )

    def differs_note(self, kind: str, community: str | None) -> str:
        """How a column of differences was computed."""
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

    def dots(
        self, conditions: Sequence[str], picked: Callable[[str | None, str, str | None], Estimate | None]
    ) -> list[Dot]:
        """A dot for each model, community and condition."""
        several = len(self.communities) > 1
        return [
            Dot(model_words(model), series, found, panel=(community or "all communities") if several else "")
            for community in self.communities
            for model in self.models
            for series, condition in enumerate(conditions)
            if (found := picked(model, condition, community)) is not None
        ]


def _where(condition: str, community: str | None) -> tuple[str | None, str]:
    """The facet and the condition of a row."""
    return (None, condition) if community is None else ("community", f"{condition} / {community}")


def heads(model: str | None, condition: str) -> list[Cell]:
    """The cells that name a row."""
    return [model_words(model), condition_words(condition)]


def drawn(conditions: Sequence[str], made: Sequence[Dot], axis: Axis) -> Any:
    """A chart of dots by model, with a series for each condition."""
    rows = list(dict.fromkeys(dot.row for dot in made))
    panels = list(dict.fromkeys(dot.panel for dot in made if dot.panel))
    return partial(dots, made, rows, series_of([condition_words(name) for name in conditions]), axis, panels=panels)
