"""The models that runs measured: the names that they have in records, and what stands beside those names."""

from __future__ import annotations

from collections.abc import Sequence

from overton.api.runs import Run
from overton.hosts.local.opening import published
from overton.studies.measuring import Measured

__all__ = ["BOUND", "held_models", "judges_named", "listed", "models_of"]

BOUND = "bound by a grammar"
"""What stands beside the name of a model whose answers a grammar held to their form."""


def models_of(run: Run) -> list[Measured]:
    """The models that a run measured, one a lane or a seat, as they were named."""
    return [
        Measured(entry.name, published(entry.spec), entry.family, entry.holds_form, run.path.name)
        for entry in run.entries
    ]


def held_models(runs: Sequence[Run]) -> list[str]:
    """The names of the measured models whose answers a grammar held to their form."""
    return sorted({model.name for run in runs for model in models_of(run) if model.holds_form})


def judges_named(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Name and spec of every model that judged, sorted."""
    entries = [entry for run in runs for entry in run.manifest.models.get("judge", ())]
    return sorted({(entry.name, published(entry.spec)) for entry in entries})


def listed(model: Measured, name: str = "") -> str:
    """A model in a list of models, by the `name` that it has in tables beside it: what it is, and its mark."""
    name = name or model.name
    called = name if model.spec == model.name else f"{name} = {model.spec}"
    return f"{called}, {BOUND}" if model.holds_form else called
