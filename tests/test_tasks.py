"""Tasks made from studies: their parameters as a command line gives them, and the messages that refuse wrong ones."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.model._model import init_active_model, init_model_roles

from overton import tasks
from overton.inspect.log_format import KEY
from overton.runs.items import read_items
from overton.studies.options import fields_of
from overton.studies.registry import asking_names, study_named

STUDIES = asking_names()
SHARED = {"prompts", "items", "only", "seed", "trials_at_once", "cache", "anyway"}


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A model that is evaluated, and judges."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    model = get_model("mockllm/model", custom_outputs=[ModelOutput.from_content("m", "A")], memoize=False)
    init_active_model(model, model.config)
    init_model_roles({"judge": model})


def made(study: str, **given: Any) -> Any:
    """The data that a study's task records about the run."""
    metadata = getattr(tasks, study.replace("-", "_"))(**given).metadata[KEY]
    return msgspec.json.decode(msgspec.json.encode(metadata))


def options(study: str, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = made(study, **given)["options"]
    return found


def refused(study: str, **given: Any) -> str:
    """The message that users get."""
    with pytest.raises(PrerequisiteError) as raised:
        made(study, **given)
    return str(raised.value.message).replace("\\[", "[")


@pytest.mark.parametrize("name", asking_names())
def test_a_task_takes_only_the_options_that_its_study_declares(name: str) -> None:
    study, task = study_named(name), getattr(tasks, name.replace("-", "_"))
    parameters = inspect.signature(task).parameters
    fields = [*fields_of(study.items.reading), *(one for one in fields_of(study.options) if not one.option.follows)]
    sources = {word for role in study.retrieval for word in (role, f"{role}_args")}
    own = {study.items.plural, *(one.name for one in fields), *sources, *(["agents"] if study.together else [])}
    assert parameters.keys() == SHARED | own | {"unknown"}
    assert parameters["unknown"].kind is inspect.Parameter.VAR_KEYWORD  # so that Inspect hands over what it is not
    assert study.question in task.__doc__


@pytest.mark.parametrize("study", STUDIES)
def test_the_metadata_has_its_format(study: str) -> None:
    said = made(study)
    assert (said["format"], said["study"]) == (2, study)


@pytest.mark.parametrize("study", STUDIES)
def test_unknown_parameters_are_refused(study: str) -> None:
    said = refused(study, tirals=1, also=2)
    assert said.startswith("-T tirals: no such parameter; known are ")
    assert "-T also: no such parameter" in said


@pytest.mark.parametrize(
    ("value", "found"),
    [("balanced", ["balanced"]), (["baseline", "balanced"], ["baseline", "balanced"]), (("balanced",), ["balanced"])],
)
def test_one_or_more_words(value: Any, found: Any) -> None:
    assert options("open-mindedness", conditions=value)["conditions"] == found


def test_whole_numbers_come_as_numbers_and_as_words() -> None:
    assert options("open-mindedness", templates=3)["templates"] == [3]
    assert options("open-mindedness", templates=["1", 2])["templates"] == [1, 2]
    assert options("stance-stability", pages_per_turn="2")["pages_per_turn"] == 2
    said = refused("open-mindedness", templates=["one", "1.5", "2"])
    assert said == "-T templates: one: must be a whole number\n-T templates: 1.5: must be a whole number"


def test_temperatures_may_be_the_endpoints_own() -> None:
    assert options("stance-stability", temperatures=["0", 0.5, "own"])["temperatures"] == [0.0, 0.5, None]
    assert "-T temperatures: hot: must be a number, or own" in refused("stance-stability", temperatures="hot")


def test_orders_are_agents_numbers() -> None:
    rounds = {"formats": "round-robin"}
    assert options("deliberation", named_orders="2-1-3", **rounds)["named_orders"] == [[2, 1, 3]]
    two = options("deliberation", named_orders=["2-1", "1-2"], agents=2, **rounds)
    assert two["named_orders"] == [[2, 1], [1, 2]]
    assert "-T named_orders: 2-one: must be numbers" in refused("deliberation", named_orders="2-one")


def test_pairs_repeat() -> None:
    pages = made("stance-stability", pages="web", pages_args=["allow=a", "allow=b", "timeout=3"])["models"]["pages"]
    assert pages[0]["arguments"] == [["allow", "a"], ["allow", "b"], ["timeout", "3"]]
    said = refused("stance-stability", pages_args="allow")
    assert "-T pages_args: allow: must be KEY=VALUE" in said


def test_the_starter_collection_is_searched_by_default() -> None:
    said = made("stance-stability")
    assert [one["spec"] for role in ("search", "pages") for one in said["models"][role]] == ["starter", "starter"]
    assert said["options"]["pages_per_turn"] == 3
    assert inspect.signature(tasks.stance_stability).parameters["search"].default == "starter"


def test_items_go_by_their_own_word_too(tmp_path: Path) -> None:
    for word in ("items", "topics"):
        assert "nowhere" in refused("stance-stability", **{word: str(tmp_path / "nowhere")})
    assert "-T items: topics: are given twice" in refused("stance-stability", items="a", topics="b")


def test_a_path_with_a_comma_is_one_path(tmp_path: Path) -> None:
    path = tmp_path / "a,b.jsonl"
    issue = read_items(study_named("open-mindedness"))[0]
    path.write_bytes(msgspec.json.encode(issue))
    task = tasks.open_mindedness(items=str(path).split(","), trials=1)
    assert {sample.id.split("/")[0] for sample in task.dataset} == {issue.id}


def test_a_role_that_is_needed_is_named_as_inspect_has_it() -> None:
    init_model_roles({})
    said = refused("pluralism")
    assert said == "--model-role judge: name a model for this role: --model-role judge=PROVIDER/NAME"


def test_parameters_of_every_task_are_checked_too() -> None:
    assert refused("deliberation", agents="two") == "-T agents: two: must be a whole number"
    assert "-T trials_at_once: 0: must be 1 or more" in refused("open-mindedness", trials_at_once=0)
    assert "-T cache: perhaps: must be true or false" in refused("open-mindedness", cache="perhaps")
    assert "-T seed: first: must be a whole number" in refused("open-mindedness", seed="first")


@pytest.mark.parametrize(
    ("given", "systems"),
    [
        ("Be brief.", ["Be brief."]),
        (["Be brief", " not blunt", " but kind."], ["Be brief, not blunt, but kind."]),
        (["Be brief.", "Be kind."], ["Be brief.", "Be kind."]),
    ],
)
def test_a_comma_before_a_space_is_part_of_a_system_prompt(given: Any, systems: list[str]) -> None:
    """Inspect splits what a command line gives at commas."""
    assert options("open-mindedness", systems=given, only=["cashless-shops"], trials=1)["systems"] == systems


def test_a_task_names_the_system_prompt_that_it_cannot_read(tmp_path: Path) -> None:
    said = refused("open-mindedness", systems=f"@{tmp_path / 'none.txt'}", only=["cashless-shops"])
    assert said.startswith("-T systems: ")
    assert "cannot be read" in said
