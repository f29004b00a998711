"""A run that continues elsewhere: the same models, and what a user names needs no question."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.runs.conftest import SEED, Endpoint

from overton.engine import Limits
from overton.errors import InputError, RunMismatch
from overton.runs.answerers import ModelRequest
from overton.runs.trust import Trust

MORE = Limits(calls=10**6)


@pytest.fixture
def second() -> Any:
    server = Endpoint()
    server.start()
    yield server
    server.stop()


def at(server: Endpoint, *more: tuple[str, str]) -> ModelRequest:
    return ModelRequest("vllm/m", (("base_url", server.url), *more))


def test_a_run_goes_on_at_another_address_with_its_other_arguments(
    runs: Any, endpoint: Endpoint, second: Endpoint
) -> None:
    runs.start("alone", models=[at(endpoint, ("seed", str(SEED)))])
    runs.start(models=[at(endpoint, ("seed", str(SEED)), ("connections", "4"))], limits=Limits(calls=5))
    before = len(endpoint.asked)
    moved = runs.resume(elsewhere=[at(second)], limits=MORE)
    assert moved.status == "finished"
    assert len(endpoint.asked) == before
    assert runs.records().equals(runs.records("alone"))
    (entry,) = moved.models["subject"]
    assert dict(entry.arguments) == {"base_url": second.url, "seed": str(SEED), "connections": "4"}


def test_a_model_that_is_not_in_the_run_is_refused(runs: Any, endpoint: Endpoint) -> None:
    runs.start(models=[at(endpoint)], limits=Limits(calls=5))
    with pytest.raises(InputError, match="is not a model of this run, which has vllm/m"):
        runs.resume(elsewhere=[ModelRequest("vllm/other")], limits=MORE)


def test_other_settings_are_another_model(runs: Any, endpoint: Endpoint) -> None:
    runs.start(models=[at(endpoint)], limits=Limits(calls=5))
    with pytest.raises(RunMismatch, match="its settings"):
        runs.resume(elsewhere=[at(endpoint, ("temperature", "0.9"))], limits=MORE)


def test_settings_of_a_folder_need_confirmation_even_if_the_user_names_the_model(
    runs: Any, endpoint: Endpoint, second: Endpoint
) -> None:
    runs.start(models=[at(endpoint)], limits=Limits(calls=5))
    path = runs.folder / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["models"]["subject"][0]["arguments"].append(["key_env", "SECRET_OF_OURS"])
    path.write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="SECRET_OF_OURS"):
        runs.resume(elsewhere=[at(second)], limits=MORE, trust=Trust())
    assert not second.asked
