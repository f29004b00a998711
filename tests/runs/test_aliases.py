"""One model under several names: planned, run, killed, resumed, extended, and distinguished wherever it is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.analysis.results import results_of
from overton.calls import Reply, Request
from overton.engine import Limits, RetryPolicy, entries
from overton.errors import InputError
from overton.models import factory
from overton.runs.answerers import ModelRequest

PATIENCE = RetryPolicy(4, 0.002, 0.02)
RUN = """
import json, sys, overton
from overton.engine import RetryPolicy
overton.run("open-mindedness", patience=RetryPolicy(4, 0.002, 0.02), **json.loads(sys.argv[1]))
"""
NAMES = ["careful", "bold"]


@pytest.fixture
def given(runs: Any, tmp_path: Path) -> Any:
    """Arguments of `overton.run`: one model of the endpoint under two names."""
    items = tmp_path / "issues.jsonl"
    items.write_bytes(b"".join(msgspec.json.encode(issue) + b"\n" for issue in runs.issues))

    def made(out: str, names: list[str] = NAMES) -> dict[str, Any]:
        return {
            "models": [f"{name}={runs.spec()}" for name in names],
            "model_args": {name: {"seed": "7", "connections": "4"} for name in names},
            "items": str(items),
            "out": str(tmp_path / out),
            "trials": 1,
        }

    return made


def calls_of(run: Path) -> dict[str, Any]:
    return {str(one.identity): one.outcome for one in entries(run / "journal.db")}


def test_a_plan_has_a_row_a_name(given: Any, endpoint: Any) -> None:
    arguments = given("run") | {"prices": {"bold": (1.0, 2.0)}}
    del arguments["out"]
    rows = overton.plan("open-mindedness", **arguments).models
    assert [(row.model, row.calls, row.price is not None) for row in rows] == [
        ("careful", 132, False),
        ("bold", 132, True),
    ]
    assert endpoint.asked == []


def test_equal_settings_under_two_names_are_distinct_calls(given: Any, endpoint: Any, runs: Any) -> None:
    run = overton.run("open-mindedness", patience=PATIENCE, **given("run"))
    assert len(set(endpoint.seeds())) == len(endpoint.asked) == 264
    assert Counter(asked.prompt for asked in endpoint.asked).most_common()[-1][1] >= 2
    records = run.records()
    assert records["model"].unique(maintain_order=True).to_list() == NAMES
    assert run.manifest.missing == {"careful": [], "bold": []}
    assert [(entry.name, entry.spec) for entry in run.entries] == [(name, runs.spec()) for name in NAMES]
    assert {one.place.answerer for one in entries(run.path / "journal.db")} == {"careful=http/m", "bold=http/m"}
    assert [(model.name, model.spec, model.run) for model in results_of([run]).models] == [
        (name, runs.spec(), "run") for name in NAMES
    ]
    analysis = overton.analyze("open-mindedness", run.path)
    assert set(analysis.models) == set(NAMES)
    told = overton.report([run.path]).read_text("utf-8")
    assert all(f"{name} = {runs.spec()}" in told for name in NAMES)


def test_a_model_without_a_name_has_the_identities_that_it_had(given: Any, runs: Any, endpoint: Any) -> None:
    overton.run("open-mindedness", patience=PATIENCE, **given("both", ["careful"]))
    arguments = given("plain", [])
    mixed = arguments | {
        "models": [f"careful={runs.spec()}", runs.spec()],
        "model_args": {name: {"seed": "7"} for name in ("careful", runs.spec())},
    }
    run = overton.run("open-mindedness", patience=PATIENCE, **mixed)
    runs.start("alone", models=[ModelRequest(runs.spec(), (("seed", "7"),))])
    plain = {key for key, one in _by_answerer(run.path).items() if one == "http/m"}
    assert plain == set(_by_answerer(runs.folder / "alone"))
    named = {key for key, one in _by_answerer(run.path).items() if one == "careful=http/m"}
    assert named == set(_by_answerer(runs.folder / "both"))
    assert plain.isdisjoint(named)


def _by_answerer(run: Path) -> dict[str, str]:
    return {str(one.identity): one.place.answerer for one in entries(run / "journal.db")}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_killed_and_resumed(given: Any, endpoint: Any) -> None:
    whole = overton.run("open-mindedness", patience=PATIENCE, **given("whole"))
    endpoint.asked.clear()
    endpoint.replied.clear()

    def kill(asked: Any) -> None:
        if len(endpoint.replied) == 60:
            process.send_signal(signal.SIGKILL)

    endpoint.before_reply, endpoint.latency = kill, 0.01
    process = subprocess.Popen([sys.executable, "-c", RUN, json.dumps(given("killed"))], env=os.environ)
    assert process.wait(60) == -signal.SIGKILL
    endpoint.before_reply, endpoint.latency = None, 0.0
    killed = Path(given("killed")["out"])
    resumed = overton.resume(killed, patience=PATIENCE)
    assert resumed.finished
    assert resumed.records().equals(whole.records())
    assert calls_of(killed) == calls_of(whole.path)


def test_another_name_for_a_model_that_the_run_has(given: Any, endpoint: Any, runs: Any) -> None:
    run = overton.run("open-mindedness", patience=PATIENCE, **given("run", ["careful"]))
    endpoint.asked.clear()
    more = {"models": [f"bold={runs.spec()}"], "model_args": {"bold": {"seed": "7", "connections": "4"}}}
    extended = overton.extend(run.path, patience=PATIENCE, **more)
    assert len(endpoint.asked) == 132
    whole = overton.run("open-mindedness", patience=PATIENCE, **given("whole"))
    assert extended.records().equals(whole.records())
    with pytest.raises(InputError, match="careful: is the name of several"):
        overton.extend(run.path, models=[f"careful={runs.spec()}"])


def test_settings_go_by_the_name(given: Any) -> None:
    arguments = given("run")
    arguments["model_args"]["careful"]["temperature"] = "0"
    run = overton.run("open-mindedness", patience=PATIENCE, **arguments, only=["trams"], max_cost=None)
    assert [entry.settings.temperature for entry in run.entries] == [0.0, None]
    with pytest.raises(InputError, match="bolt: no such model in this run; its models are bold, careful"):
        overton.run("open-mindedness", **given("other") | {"prices": {"bolt": (1.0, 1.0)}})
    with pytest.raises(InputError, match="option max_cost: careful: its price is unknown"):
        overton.run("open-mindedness", **given("other") | {"prices": {"bold": (1.0, 1.0)}}, max_cost=1)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (["a=simulated/open-minded", "a=simulated/open-minded"], "a: is the name of several"),
        (["a=simulated/open-minded", "a=openai/gpt-4o"], "a: is the name of several"),
        (["simulated/open-minded"] * 2, "as NAME=simulated/open-minded"),
        (["gguf:/one/m.gguf", "gguf:/two/m.gguf"], "m.gguf"),
        (["a b=simulated/open-minded"], "letters, digits"),
        (["a=open-minded"], "write a model as provider/name"),
    ],
)
def test_names_that_tell_nothing_apart_are_refused(
    models: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(InputError, match=said):
        overton.run("open-mindedness", models=models, out=tmp_path / "run", trials=1)
    assert not (tmp_path / "run").exists()


def test_one_name_for_a_model_and_another_as_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="x: names two models, simulated/pluralist and simulated/pluralist-judge"):
        overton.run(
            "pluralism",
            models=["x=simulated/pluralist"],
            others={"judge": ["x=simulated/pluralist-judge"]},
            out=tmp_path / "run",
        )


def test_two_simulated_ones_alike_answer_apart(tmp_path: Path) -> None:
    run = overton.run(
        "open-mindedness",
        models=["a=simulated/open-minded", "b=simulated/open-minded"],
        model_args={"a": {"lean_spread": "1"}, "b": {"lean_spread": "1"}},
        out=tmp_path / "run",
        trials=2,
        only=["cashless-shops"],
    )
    answers = {name: run.records().filter(model=name)["answer"].to_list() for name in "ab"}
    assert answers["a"] != answers["b"]
    assert overton.resume(run.path).records().equals(run.records())


def test_a_judge_is_asked_for_each_name(tmp_path: Path) -> None:
    run = overton.run(
        "stance-stability",
        models=["a=simulated/chameleon", "b=simulated/chameleon"],
        others={"judge": ["j=simulated/stance-judge"], "search": ["starter"]},
        model_args={"j": {"invalid": "0"}},
        out=tmp_path / "run",
        only=["nutrition-low-carbohydrate-first"],
        turns=2,
    )
    judged = [one.place for one in entries(run.path / "journal.db") if one.place.speaker.startswith("judge")]
    assert judged
    assert {place.answerer.partition("=")[0] for place in judged} == {"j"}
    lanes = {place.trial.partition(" of ")[2].partition("=")[0] for place in judged if place.trial}
    assert lanes == {"a", "b"}
    told = overton.report([run.path]).read_text("utf-8")
    assert "The judge j is simulated" in told


def test_seats_at_a_table_have_names_of_their_own(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {
        "others": {"values": ["simulated/values-judge"]},
        "only": ["quarter-to-eight"],
        "formats": ["round-robin"],
    }
    agents = ["a=simulated/deliberator", "b=simulated/deliberator"]
    run = overton.run("deliberation", models=agents, out=tmp_path / "run", **arguments)
    assert set(run.records()["model"]) == {"a", "b"}
    assert set(run.records()["agents"]) == {"a + b", "b + a"}
    assert run.manifest.options["agents"] == ("a", "b")
    same = overton.run("deliberation", models=["simulated/deliberator"] * 2, out=tmp_path / "same", **arguments)
    assert set(same.records()["model"]) == {"simulated/deliberator"}
    with pytest.raises(InputError, match="a: is the name of several"):
        overton.run("deliberation", models=agents[:1] * 2, out=tmp_path / "other", **arguments)


def test_a_stopped_run_names_the_models_with_missing_items(runs: Any) -> None:
    named = [ModelRequest(runs.spec(), (("connections", "4"),), name=name) for name in NAMES]
    manifest = runs.start(models=named, limits=Limits(calls=20))
    assert set(manifest.missing) == set(NAMES)
    assert runs.resume(limits=Limits(calls=1000)).missing == {"careful": [], "bold": []}


class Weights:
    """A replacement for a file's weights."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    holds_form = True
    identity = "sha256:0123"

    async def answer(self, request: Request) -> Reply:
        return Reply("position <<A>>")

    async def close(self) -> None:
        """Nothing to release."""


@pytest.mark.parametrize(("prefix", "name"), [("", "gguf:model.gguf"), ("small=", "small")])
def test_a_local_path_is_only_in_the_manifest(
    prefix: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "folder-of-mine"
    monkeypatch.setattr(factory, "_open_embedded", lambda spec, arguments: Weights(spec.text, spec.name))
    spec = f"gguf:/home/{secret}/model.gguf"
    run = overton.run(
        "open-mindedness",
        models=[f"{prefix}{spec}"],
        model_args={prefix + spec: {"seed": "3"}},
        out=tmp_path / "run",
        trials=1,
        only=["cashless-shops"],
        max_calls=10,
    )
    assert not run.finished
    run = overton.resume(run.path, max_calls=1000)
    assert run.finished
    assert run.entries[0].spec == spec
    assert run.records()["model"].unique().to_list() == [name]
    analysis = overton.analyze("open-mindedness", run.path)
    assert list(analysis.models) == [name]
    assert secret not in json.dumps(analysis.to_json())
    told = overton.report([run.path]).read_text("utf-8")
    assert secret not in told
    shown = name if not prefix else "small = gguf:model.gguf"
    assert f"{shown}, bound by a grammar" in told
    assert secret not in run.records().write_json()
    pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    with zipfile.ZipFile(done.path) as archive:
        assert not [part for part in archive.namelist() if secret.encode() in archive.read(part)]
    back = overton.import_logs([done.path], out=tmp_path / "back")
    assert back.records().equals(run.records())
    assert [entry.name for entry in back.entries] == [name]


def test_names_go_to_inspect_and_come_back(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")
    from inspect_ai.log import read_eval_log

    asked: dict[str, Any] = {
        "trials": 1,
        "only": ["cashless-shops"],
        "models": [f"{n}=simulated/open-minded" for n in "ab"],
    }
    run = overton.run("open-mindedness", out=tmp_path / "run", **asked)
    done = overton.export_run(run.path, out=tmp_path / "logs")
    assert [one.lane for one in done] == ["a", "b"]
    assert [read_eval_log(one.path, header_only=True).eval.model for one in done] == ["a", "b"]
    back = overton.import_logs([one.path for one in done], out=tmp_path / "back")
    assert back.records().equals(run.records())
    assert [(entry.name, entry.spec) for entry in back.entries] == [(n, "simulated/open-minded") for n in "ab"]
    assert overton.resume(back.path).finished
    other = overton.run(
        "open-mindedness",
        out=tmp_path / "other",
        **asked | {"models": ["a=simulated/open-minded"]},
        model_args={"a": {"lean_spread": "0.25"}},
    )
    (same,) = overton.export_run(other.path, out=tmp_path / "more")
    with pytest.raises(InputError, match="a: is another model's name in"):
        overton.import_logs([done[0].path, same.path], out=tmp_path / "clash")


def test_a_model_with_other_arguments_joins_a_run_under_a_name_of_its_own_only(tmp_path: Path) -> None:
    run = overton.run(
        "open-mindedness", out=tmp_path / "run", models=["simulated/open-minded"], only=["cashless-shops"], trials=1
    )
    new = {"simulated/open-minded": {"letter": "20"}}
    with pytest.raises(InputError, match="is the name of several"):
        overton.extend(run.path, models=["simulated/open-minded"], model_args=new)
    other = {"other": new["simulated/open-minded"]}
    more = overton.extend(run.path, models=["other=simulated/open-minded"], model_args=other)
    assert more.records()["model"].unique().sort().to_list() == ["other", "simulated/open-minded"]


def test_extending_a_finished_run_by_nothing_new_is_refused(tmp_path: Path) -> None:
    run = overton.run(
        "open-mindedness", out=tmp_path / "run", models=["simulated/open-minded"], only=["cashless-shops"], trials=1
    )
    with pytest.raises(InputError, match="nothing to add: the run already has trials=1"):
        overton.extend(run.path, trials=1)
