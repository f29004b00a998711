"""How measures and conditions are named for readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan

from overton.studies.sections import Callout, Cell
from overton.studies.stance_stability.measures.analysis import Analysis, Group, TurnMeasure

TITLES: dict[str, str] = {
    "stance_changes": "Stance changes",
    "change_rate": "Change rate",
    "reversals": "Reversals of side",
    "balanced_moves": "Moves of 'balanced'",
    "unclear_moves": "Moves of 'unclear'",
    "drifted": "Ends on another stance",
    "drift": "Drift",
    "overall_view_changed": "Overall view changed",
    "confidence": "Confidence",
    "confidence_at_changes": "Confidence at changes",
    "source_reuse": "Source re-use",
    "source_reuse_given_pages": "... given the pages",
    "source_reuse_by_chance": "... from the collection",
    "source_reuse_cited_hosts": "Re-use, hosts of cited",
    "source_reuse_retrieved": "Re-use, retrieved",
    "source_reuse_retrieved_hosts": "Re-use, hosts of retrieved",
    "chameleon": "Chameleon score",
    "chameleon_cited_hosts": "Score, hosts of cited",
    "chameleon_retrieved": "Score, retrieved",
    "chameleon_retrieved_hosts": "Score, hosts of retrieved",
    "premise_changes": "Changes towards the premise",
    "premise_change_rate": "Change rate towards the premise",
    "premise_excess": "Difference of rates",
    "turn_of_flip": "Turn of Flip",
    "flips": "Number of Flips",
}

COLUMNS = ("chameleon", "source_reuse", "confidence", "stance_changes")
"""The columns of table 1."""


@dataclass(frozen=True)
class ModelTemperature:
    """A row of a table: a model at one temperature, or at 'all'."""

    model: str
    temperature: str
    group: Group


def conditions(analysis: Analysis) -> Iterator[ModelTemperature]:
    """Models at each temperature, in the order of table 1; then each over all temperatures."""
    names = list(analysis.temperatures)
    for temperature in names if len(names) > 1 else []:
        for model in analysis.models.values():
            if temperature in model.temperatures:
                yield ModelTemperature(model.name, temperature, model.temperatures[temperature])
    for model in analysis.models.values():
        yield ModelTemperature(model.name, names[0] if len(names) == 1 else "all", model.overall)


def present(analysis: Analysis, measures: Sequence[str]) -> list[str]:
    """The measures that the table allows."""
    return [name for name in measures if name in analysis.overall.measures]


def measured(analysis: Analysis, name: str) -> bool:
    """Whether any conversation has a measure."""
    return name in analysis.overall.measures and not isnan(analysis.overall.measures[name].mean.value)


def mean(group: Group, measure: str) -> Cell:
    """The mean of a measure, or None."""
    found: TurnMeasure | None = group.measures.get(measure)
    return found.mean if found else None


def absent(analysis: Analysis, key: str, what: str) -> Callout:
    """A note that says why something is not shown."""
    reason = analysis.not_computed.get(key)
    return Callout(f"{what} not computed: {reason or 'the data do not determine it'}.", summary=reason is not None)
