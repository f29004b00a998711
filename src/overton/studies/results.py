"""The combined results of runs: models and services, facts about each run, and records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from overton.statistics import Estimate

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.label_tasks import SavedLabels


@dataclass(frozen=True)
class MeasuredModel:
    """A measured model: its name in records, and its properties.

    `spec` is the model requested, as 'provider/name', with `settings` as 'key=value'. `family` groups models of one
    kind. `holds_form` is True if constrained decoding forced its answers into their format. `run` is the name of the
    run's folder. `sampled` is the model's temperature, '' if unknown.
    """

    name: str
    spec: str
    family: str = ""
    holds_form: bool = False
    run: str = ""
    settings: tuple[str, ...] = ()
    sampled: str = ""


class JudgeOnControls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A judge's result on control texts for one kind of label: the number of controls, and the number labelled
    correctly (`right`). `judge` is 'provider/name'."""

    judge: str
    what: str
    right: int
    controls: int
    fails: bool


class StoredAgreement(msgspec.Struct, frozen=True):
    """The agreement of a judge with a sheet of human labels, as stored by Overton 0.2.0: the proportion of equal labels
    of one kind, and Cohen's kappa. The labels themselves were not stored."""

    what: str
    same: Estimate
    kappa: Estimate


@dataclass(frozen=True)
class RunFacts:
    """The facts of one run.

    `name` is the folder's name, and `roles` has the models and services by role. `labels` are human labels,
    `agreements` are agreements with human labels as stored by 0.2.0, and `controls` are the judge's results on control
    texts.
    """

    name: str
    options: Mapping[str, Any]
    roles: Mapping[str, Sequence[MeasuredModel]]
    agreements: Sequence[StoredAgreement] = ()
    labels: Sequence[SavedLabels] = ()
    seed: int = 0
    controls: Sequence[JudgeOnControls] = ()


@dataclass(frozen=True)
class Results:
    """The combined results of runs. Models of different runs are never pooled, even if they have the same name.

    `records` are the concatenated outcome tables, and `items` the items of their trials without repetitions. A table
    made outside Overton has neither items nor runs. `nulls` has the records of null conditions, by the condition's
    name; `records` does not contain them.

    If there are several judges, `records` and `nulls` have the first judge's labels. `others` maps each other judge's
    name to the results with that judge's labels.
    """

    records: pl.DataFrame
    items: Sequence[Any] = ()
    models: Sequence[MeasuredModel] = ()
    runs: Sequence[RunFacts] = ()
    nulls: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    others: Mapping[str, Results] = field(default_factory=dict)

    @property
    def held(self) -> tuple[str, ...]:
        """The names of the models whose answers were forced into their format by constrained decoding."""
        return tuple(model.name for model in self.models if model.holds_form)

    def part(self, records: pl.DataFrame) -> Results:
        """The same results with other `records`, without null conditions and other judges."""
        return Results(records, self.items, self.models, self.runs)

    def answering(self, role: str) -> tuple[MeasuredModel, ...]:
        """The models that have the given role in at least one run, sorted and without repetitions."""
        found = {model.name: model for run in self.runs for model in run.roles.get(role, ())}
        return tuple(found[name] for name in sorted(found))
