"""Names in Inspect logs, both exported from runs and written by evals of Overton's tasks, and the parameters of the
tasks.

Values that are texts, numbers or figures are not kept: the records are pinned elsewhere.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.unchanged.platform import folders, wire
from tests.unchanged.platform.listening import listening

import overton

__all__ = ["EVALUATED", "EXPORTED", "evaluating", "exporting", "task_parameters"]

EXPORTED: dict[str, tuple[str, dict[str, Any]]] = {
    **{study: (study, {}) for study in folders.SIMULATED},
    "nulls-open-mindedness": ("open-mindedness", {"nulls": ["all"]}),
    "nulls-deliberation": ("deliberation", {"nulls": ["all"]}),
}
"""Runs that are exported: the study, and further options."""
EVALUATED: dict[str, dict[str, Any]] = {
    "open-mindedness": {"trials": 1, "templates": [1], "conditions": ["baseline", "balanced"], "nulls": ["all"]},
    "even-handedness": {"trials": 1, "nulls": 1.0},
    "stance-stability": {"turns": 2, "temperatures": [0.5], "search": "starter"},
    "pluralism": {"responses": 2, "ranked": 4},
    "deliberation": {"rounds": 2},
}
"""An eval of each task: the task's parameters."""

_ROLES = {"stance-stability": {"judge"}, "pluralism": {"judge"}, "even-handedness": {"judge"}}
_ROLES["deliberation"] = {"agent_2", "values_judge"}
_EMPTY = {"null", None}


def task_parameters(scratch: Path) -> dict[str, Any]:
    """The parameters of each Inspect task with their defaults, as `-T` takes them."""
    from overton import tasks

    return {
        study: {
            one.name: [one.kind.description, _default(one.default)]
            for one in inspect.signature(getattr(tasks, study.replace("-", "_"))).parameters.values()
        }
        for study in folders.SIMULATED
    } | {"names": sorted(tasks.__all__), "entry point": _entry_point()}


def _entry_point() -> list[str]:
    from importlib.metadata import entry_points

    return sorted(one.name for one in entry_points(group="inspect_ai") if one.dist and one.dist.name == "overton")


def _default(value: Any) -> Any:
    return "none" if value is inspect.Parameter.empty else json.loads(json.dumps(value, default=repr))


def exporting(name: str) -> Callable[[Path], Any]:
    """The function that exports a run of simulated models."""

    def export(scratch: Path) -> Any:
        from inspect_ai.log import read_eval_log

        study, options = EXPORTED[name]
        run = folders.simulated(study, scratch / "run", **options)
        return [
            _described(read_eval_log(str(log.path), resolve_attachments=True))
            for log in overton.export_run(run.path, out=scratch / "logs")
        ]

    return export


def evaluating(study: str) -> Callable[[Path], Any]:
    """The function that evaluates a task against a server on the loopback."""

    def evaluate(scratch: Path) -> Any:
        from inspect_ai import eval as inspect_eval
        from inspect_ai.model import get_model

        with _inspect_home(scratch), wire.keys(), listening() as listener:
            url = f"{listener.url}/v1"
            roles = {
                role: get_model(f"openai-api/local/{_model(role)}", base_url=url, memoize=False)
                for role in _ROLES.get(study, ())
            }
            only = [overton.items.read(study)[0].id]
            (log,) = inspect_eval(
                f"overton/{study.replace('-', '_')}",
                model="openai-api/local/m",
                model_base_url=url,
                model_roles=roles,
                task_args=EVALUATED[study] | {"only": only, "anyway": True},
                display="none",
                seed=5,
            )
        assert log.status == "success", log.error
        return _described(log)

    return evaluate


def _model(role: str) -> str:
    return "n" if role.startswith("agent") else role.partition("_")[0]


@contextmanager
def _inspect_home(scratch: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "INSPECT_LOG_DIR": os.fspath(scratch / "logs"),
            "INSPECT_CACHE_DIR": os.fspath(scratch / "cache"),
            "INSPECT_DISPLAY": "none",
            "XDG_DATA_HOME": os.fspath(scratch / "data"),
            "LOCAL_API_KEY": wire.KEY,
        }.items():
            patch.setenv(name, value)
        yield


def _described(log: Any) -> dict[str, Any]:
    """Every name in a log that its readers look for."""
    about = log.eval
    data = about.metadata["overton"]
    return {
        "task": [about.task, about.task_registry_name, sorted(about.task_args)],
        "metadata": {key: _shape(value) for key, value in about.metadata.items()},
        "overton": {key: data[key] for key in ("study", "seed", "options", "prompts", "format")},
        "dataset": [about.dataset.name, about.dataset.location, sorted(map(str, about.dataset.sample_ids))],
        "scorers": [[one.name, _shape(one.options), _named(one.metrics), one.metadata] for one in about.scorers or ()],
        "tags": sorted(about.tags or ()),
        "results": [
            [score.name, score.scorer, sorted([key, one.name] for key, one in score.metrics.items())]
            for score in log.results.scores
        ],
        "samples": {str(sample.id): _sample(sample) for sample in log.samples},
    }


def _named(metrics: Any) -> Any:
    if isinstance(metrics, Mapping):
        return {key: _named(one) for key, one in metrics.items()}
    return [_named(one) for one in metrics] if isinstance(metrics, list) else getattr(metrics, "name", None)


def _sample(sample: Any) -> dict[str, Any]:
    return {
        "metadata": {key: _shape(value) for key, value in sample.metadata.items()},
        "condition": sample.metadata["overton"]["condition"],
        "trials": sample.metadata["overton"]["trials"],
        "store": {key: _shape(value) for key, value in sample.store.items()},
        "identities": _digest(
            sorted([call[key] for key in ("slot", "content", "trial", "speaker", "number")] for call in _calls(sample))
        ),
        "scores": {
            name: [_shape(score.metadata), _digest(score.metadata.get("records"))]
            for name, score in sample.scores.items()
        },
        "events": sorted(
            {f"{one.event} {getattr(one, 'type', None) or ''} {_event_name(one)}".strip() for one in sample.events}
        ),
    }


def _calls(sample: Any) -> Iterable[dict[str, Any]]:
    return sample.store["overton:calls"]


def _event_name(event: Any) -> str:
    return {"span_begin": lambda: event.name, "score": lambda: str(sorted(event.score.metadata or ()))}.get(
        event.event, lambda: ""
    )()


def _shape(value: Any) -> Any:
    """Keys and types; of a list those of all its elements together."""
    if isinstance(value, Mapping):
        return {str(key): _shape(one) for key, one in sorted(value.items(), key=lambda one: str(one[0]))}
    if isinstance(value, list | tuple):
        shapes = {json.dumps(_shape(one), sort_keys=True) for one in value}
        return [json.loads(one) for one in sorted(shapes)]
    return type(value).__name__


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:32]
