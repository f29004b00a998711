"""The results of runs, put together: who answered, what is known of each run, and the records."""

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
    """A model that answered: its name in records, and what belongs to that name.

    `spec` is the model requested, as 'provider/name', with `settings` as 'key=value'; `family` groups models of one
    kind; with `holds_form` a grammar held its answers to their form; `run` is the name of its run's folder; `sampled`
    is the temperature at which it answered, '' if not known.
    """

    name: str
    spec: str
    family: str = ""
    holds_form: bool = False
    run: str = ""
    settings: tuple[str, ...] = ()
    sampled: str = ""


class JudgeOnControls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A judge, as 'provider/name', tried on controls of one kind of label: how many of how many it got right."""

    judge: str
    what: str
    right: int
    controls: int
    fails: bool


class StoredAgreement(msgspec.Struct, frozen=True):
    """The agreement of a judge with a sheet that a person filled in, as Overton 0.2.0 stored it: the share of equal
    labels of one kind, and Cohen's kappa. The labels themselves were not stored."""

    what: str
    same: Estimate
    kappa: Estimate


@dataclass(frozen=True)
class RunFacts:
    """The facts of one run.

    `name` is its folder's, and `roles` say who answered. `labels` are people's, `agreements` those that 0.2.0 stored,
    and `controls` show how its judge did on texts whose label is beyond doubt.
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
    """The results of runs, put together: models of several runs with the same name are kept apart, never pooled.

    `records` are the outcome tables under each other, `items` what was asked about, each once. A table that was made
    elsewhere has neither items nor runs. `nulls` are the records of null conditions, by the null's name: they are not
    among `records`.

    If there are several judges, all of this is by the first of them, and `others` has the same by each of the others,
    by name: the results if that judge alone had judged.
    """

    records: pl.DataFrame
    items: Sequence[Any] = ()
    models: Sequence[MeasuredModel] = ()
    runs: Sequence[RunFacts] = ()
    nulls: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    others: Mapping[str, Results] = field(default_factory=dict)

    @property
    def held(self) -> tuple[str, ...]:
        """The names of the models whose answers a grammar held to their form."""
        return tuple(model.name for model in self.models if model.holds_form)

    def part(self, records: pl.DataFrame) -> Results:
        """The same results with some of their records, by the first judge alone."""
        return Results(records, self.items, self.models, self.runs)

    def answering(self, role: str) -> tuple[MeasuredModel, ...]:
        """Who answered in a role, in any of the runs: each name once, sorted."""
        found = {model.name: model for run in self.runs for model in run.roles.get(role, ())}
        return tuple(found[name] for name in sorted(found))
