"""The check of a study's contract inside Inspect AI, with the same simulated models as outside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any
from unittest.mock import patch

import msgspec
from inspect_ai import eval as inspect_eval
from inspect_ai.model import GenerateConfig, Model, ModelAPI, get_model, modelapi

from overton.calls import Answerer
from overton.inspect.compat import prerequisite_kind
from overton.inspect.logs import export_run, import_logs
from overton.inspect.provider import OvertonAPI, OwnModel
from overton.models import open_model
from overton.runs.folder import ModelEntry
from overton.testing.case import Case, require, sorted_lines

__all__ = ["check_inspect"]

_PROVIDER = "overton-testing"


class _SimulatedApi(OvertonAPI):
    """A simulated answerer of a study as an Inspect model. `seated` has the case and the model entry by the Inspect
    model's name."""

    seated: Mapping[str, tuple[Case, ModelEntry]] = {}

    def __init__(
        self, model_name: str, base_url: Any = None, api_key: Any = None, config: Any = None, **_: Any
    ) -> None:
        ModelAPI.__init__(self, model_name, base_url, api_key, [], config or GenerateConfig())
        case, entry = self.seated[model_name]
        items = case.whole.items()
        self._model = open_model(
            entry.spec, entry.arguments, simulated=lambda name, given: case.study.simulate(items, name, given)
        )
        self.overton = OwnModel(entry.spec, entry.arguments, self._model.answerer)

    async def _answerer_in_loop(self) -> Answerer:
        return self._model.answerer


@modelapi(name=_PROVIDER)
def _simulated_api() -> type[ModelAPI]:
    return _SimulatedApi


def check_inspect(case: Case) -> None:
    """Check that the study has the same records inside Inspect AI, that its log converts to a run and back, and that
    unknown parameters are refused."""
    study, whole = case.study, case.whole
    with _seat_models(case) as models:
        logs = [_run_eval(case, models | {study.first: evaluated}) for evaluated in _models_by_eval(case, models)]
        for log in logs:
            require(log.status == "success", study, f"its eval failed: {log.error.message if log.error else ''}")
        imported = import_logs([log.location for log in logs], out=case.new())
        advice = "conduct() must depend only on the trial and the replies"
        same = sorted_lines(imported.records()) == sorted_lines(whole.records())
        require(same, study, f"has different records inside Inspect AI: {advice}")
        refused = _run_eval(case, models, no_such_option=1)
        require(refused is None, study, "its task accepts a parameter that it does not have")
    exported = case.new()
    export_run(whole.path, out=exported)
    back = import_logs([exported], out=case.new())
    require(
        sorted_lines(back.records()) == sorted_lines(whole.records()),
        study,
        "has different records after being exported and imported",
    )


@contextmanager
def _seat_models(case: Case) -> Iterator[dict[str, list[Model]]]:
    """A context with Inspect's models by role. Within it, the models answer, and logs, caches and traces go to the
    case's folder."""
    entries = {
        role: found for role, found in case.whole.manifest.models.items() if found and role not in case.study.retrieval
    }
    seated = {f"{role}-{number}": entry for role, found in entries.items() for number, entry in enumerate(found)}
    _SimulatedApi.seated = {name: (case, entry) for name, entry in seated.items()}
    homes = {"INSPECT_LOG_DIR": "logs", "INSPECT_CACHE_DIR": "cache", "XDG_DATA_HOME": "data"}
    with patch.dict(os.environ, {name: str(case.folder / place) for name, place in homes.items()}):
        yield {
            role: [
                get_model(f"{_PROVIDER}/{role}-{number}", config=GenerateConfig(), memoize=False)
                for number in range(len(found))
            ]
            for role, found in entries.items()
        }
    _SimulatedApi.seated = {}


def _models_by_eval(case: Case, models: Mapping[str, list[Model]]) -> list[list[Model]]:
    """The models that each eval measures: all models if they meet in one conversation, otherwise one model per eval."""
    measured = models[case.study.first]
    return [measured] if case.study.together else [[model] for model in measured]


def _run_eval(case: Case, models: Mapping[str, Sequence[Model]], **unknown: Any) -> Any:
    """The log of an eval; None if Overton refused to start the eval."""
    study = case.study
    first, *more = models[study.first]
    roles: dict[str, Any] = {study.role(role).word: found[0] for role, found in models.items() if role != study.first}
    if study.together:
        roles |= {f"{study.roles[0].word}_{number}": model for number, model in enumerate((first, *more), 1)}
    given = {name: value for name, value in case.options.items() if value is not None}
    if study.together:
        given["agents"] = len(models[study.first])
    sources = {role: case.others[role][0] for role in study.retrieval if case.others.get(role)}
    chosen = {"items": str(case.items)} if case.items else {}
    only = {"only": list(case.only)} if case.only else {}
    try:
        # Run in a separate context, because Inspect leaves its transcript in the context in which an eval is called.
        (log,) = copy_context().run(
            inspect_eval,
            f"overton/{study.name.replace('-', '_')}",
            model=first,
            model_roles=roles,
            task_args=msgspec.to_builtins({**given, **sources, **chosen, **only, **unknown, "seed": case.seed}),
            display="none",
            log_dir=str(case.folder / "logs"),
        )
    except prerequisite_kind():
        return None
    return log
