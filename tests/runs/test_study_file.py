"""A run's folder has the configuration file that repeats it: the same calls, records and options."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.engine import entries
from overton.errors import InputError
from overton.files.texts import write_objects
from overton.runs.folder import read_manifest
from overton.runs.items import items_of_run
from overton.runs.setup import set_up
from overton.runs.study_file import STUDY_FILE
from overton.studies.registry import study_named

STUDIES: dict[str, tuple[str, ...]] = {
    "open-mindedness": (
        *("run", "open-mindedness", "--model", "a=simulated/open-minded", "--model", "simulated/open-minded"),
        *("--model-arg", "a", "letter=0.30", "--judge", "simulated/side-judge", "--answers", "both", "--trials", "1"),
        *("--condition", "baseline", "--condition", "balanced", "--only", "cashless-shops", "--null", "irrelevant"),
        *("--max-calls", "5000", "--seed", "7", "--price", "a", "1", "2.5", "--max-cost", "99.5"),
    ),
    "open-mindedness-precise": (
        *("run", "open-mindedness", "--model", "simulated/open-minded", "--trials", "2", "--wording", "1"),
        *("--precision", "open_mindedness=30", "--at-most-calls", "1500"),
    ),
    "stance-stability": (
        *("run", "stance-stability", "--model", "simulated/chameleon", "--judge", "j1=simulated/stance-judge"),
        *("--judge", "j2=simulated/stance-judge", "--search", "starter", "--search-arg", "top=2", "--turns", "2"),
        *("--temperature", "0.5", "--temperature", "own", "--only", "nutrition-low-carbohydrate-first"),
        *("--model-arg", "j2", "wrong=0.05"),
    ),
    "pluralism": (
        *("run", "pluralism", "--model", "simulated/pluralist", "--judge", "simulated/pluralist-judge"),
        *("--responses", "3", "--candidates", "3", "--ranked", "4", "--only", "walnut-and-panels"),
    ),
    "deliberation": (
        *("run", "deliberation", "--agent", "simulated/deliberator", "--agent", "b=simulated/deliberator"),
        *("--values-judge", "simulated/values-judge", "--values", "values.csv", "--rounds", "2"),
        *("--order", "2-1", "--format", "round-robin", "--only", "hose-under-the-fence"),
    ),
    "even-handedness": (
        *("run", "even-handedness", "--model", "simulated/advocate", "--judge", "simulated/even-judge"),
        *("--system", 'Say "no".\nThen\tstop. \\ é', "--prompts", "prompts", "--items", "pairs.jsonl"),
    ),
    "topics": (
        *("items", "topics", "--model", "m=@#scripted", "--domain", "city transport", "--domain", "Art"),
    ),
    "rephrase": (
        *("items", "rephrase", "issues", "--model", "@#scripted", "--model-arg", "@#scripted", "extra.top.k=[1]"),
        *("--positions", "positions.csv", "--again"),
    ),
    "values": (
        *("items", "values", "collected.csv", "--annotator", "simulated/value-annotator"),
        *("--annotator", "simulated/value-annotator/b", "--people", "j.doe.csv"),
    ),
    "table": (
        *("judge", "table", "texts.csv", "--judge", "simulated/word-judge", "--question", "question.toml"),
    ),
}  # fmt: skip


SOME_FAILED = 3
"""The exit code of studies whose scripted model answers something else than was asked."""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "values.csv").write_text("value,definition\nHonesty,Saying what is so.\nCare,Looking after others.\n")
    (tmp_path / "collected.csv").write_text("value\nHonesty\nPrivacy\nFamily bonds\nEmpathy\n")
    write_objects(overton.items.read("even-handedness")[:2], tmp_path / "pairs.jsonl")
    sorted_values = [("Honesty", "moral"), ("Privacy", "moral"), ("Family bonds", "epistemic"), ("Empathy", "moral")]
    rows = [f"{number},{value},{said},tfaca9fd38347" for number, (value, said) in enumerate(sorted_values, 1)]
    (tmp_path / "j.doe.csv").write_text("\n".join(["row,value,person,sheet", *rows]) + "\n")
    (tmp_path / "texts.csv").write_text("text\nI welcome it.\nI do not.\n")
    (tmp_path / "question.toml").write_text(
        'key = "stance"\nasks = "Does it?"\nprompt = "Does this welcome it? {text}\\n\\n{labels}"\n\n'
        '[labels]\nyes = "It does."\nno = "It does not."\n'
    )
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/ours.toml").write_text('nothing = "(No words.)"\nanswered = "[Assistant]: {{ answer }}"\n')
    issues = Path(overton.__file__).parent / "studies/open_mindedness/starter/issues"
    (tmp_path / "issues").mkdir()
    for file in ("cashless-shops.json", "positions.csv"):
        shutil.copy(issues / file, tmp_path / ("issues" if file.endswith("json") else "") / file)
    return tmp_path


@pytest.mark.parametrize("name", STUDIES)
def test_the_file_repeats_the_run(name: str, desk: Path, command_line: Any, endpoint: Any) -> None:
    words = [word.replace("@", endpoint.url) for word in STUDIES[name]]
    done = command_line(*words, "--out", "first", folder=desk)
    assert done.returncode in {0, SOME_FAILED}, done.stderr
    text = (desk / "first" / "study.toml").read_text()
    assert str(desk) not in text
    for given in desk.iterdir():  # nothing but the run's folder is needed
        if given.name != "first":
            shutil.rmtree(given) if given.is_dir() else given.unlink()
    again = command_line("run", "--config", "first/study.toml", "--out", "second", folder=desk)
    assert again.returncode == done.returncode, again.stderr
    assert calls(desk / "second") == calls(desk / "first")
    assert calls(desk / "first")
    assert (desk / "second" / "records.parquet").read_bytes() == (desk / "first" / "records.parquet").read_bytes()
    assert (desk / "second" / "study.toml").read_text() == text
    before, after = (read_manifest(desk / folder) for folder in ("first", "second"))
    for key in ("study", "seed", "options", "items", "prompts", "limits", "precision", "replaced"):
        assert getattr(after, key) == getattr(before, key), key
    assert after.models == before.models


def table(run: Path) -> dict[str, Any]:
    return tomllib.loads((run / STUDY_FILE).read_text())


SMALL: dict[str, Any] = {"models": ["a=simulated/open-minded"], "trials": 1, "templates": [1], "wordings": [1]}


def test_an_extended_run_has_the_file_of_the_extended_run(tmp_path: Path) -> None:
    overton.run("open-mindedness", **SMALL, out=tmp_path / "run")
    overton.extend(tmp_path / "run", models=["b=simulated/open-minded"], trials=2, templates=[4])
    found = table(tmp_path / "run")
    assert found["model"] == ["a=simulated/open-minded", "b=simulated/open-minded"]
    assert (found["trials"], found["template"]) == (2, [1, 4])
    more = {"models": found["model"], "trials": 2, "templates": [1, 4]}
    overton.run("open-mindedness", **{**SMALL, **more}, out=tmp_path / "whole")
    assert table(tmp_path / "whole") == found


def test_a_limit_that_is_raised_is_in_the_file(tmp_path: Path) -> None:
    assert not overton.run("open-mindedness", **SMALL, max_calls=9, out=tmp_path / "run").finished
    assert table(tmp_path / "run")["max-calls"] == 9
    assert overton.resume(tmp_path / "run", max_calls=900).finished
    assert table(tmp_path / "run")["max-calls"] == 900


def test_a_run_of_an_earlier_version_gets_no_file_until_it_is_extended(tmp_path: Path) -> None:
    overton.run("open-mindedness", **SMALL, max_calls=9, out=tmp_path / "run")
    (tmp_path / "run" / STUDY_FILE).unlink()
    assert overton.resume(tmp_path / "run", max_calls=900).finished
    assert not (tmp_path / "run" / STUDY_FILE).exists()
    overton.extend(tmp_path / "run", trials=2)
    assert table(tmp_path / "run")["trials"] == 2


def test_shards_and_the_run_made_of_them_have_the_file_of_the_whole(tmp_path: Path) -> None:
    overton.run("open-mindedness", **SMALL, max_calls=900, out=tmp_path / "whole")
    shards = overton.split("open-mindedness", **SMALL, max_calls=900, into=2, out=tmp_path / "shards")
    for shard in shards:
        overton.resume(shard.path)
    overton.merge([shard.path for shard in shards], tmp_path / "merged")
    for run in (*(shard.path for shard in shards), tmp_path / "merged"):
        assert table(run) == table(tmp_path / "whole")


def test_items_that_were_changed_are_read_as_any_file(tmp_path: Path) -> None:
    overton.run("open-mindedness", **SMALL, only=["cashless-shops", "voting-age"], out=tmp_path / "run")
    items = tmp_path / "run" / "items.jsonl"
    items.write_text("".join(reversed(items.read_text().splitlines(keepends=True))).replace("\n", "\n\n"))
    study = study_named("open-mindedness")
    assert items_of_run(study, items, {}) is None
    assert len(set_up(study, items=items, **SMALL).experiment.items) == 2


def test_a_problem_with_a_manifests_model_names_the_manifests_key(tmp_path: Path) -> None:
    overton.run("open-mindedness", **SMALL, max_calls=9, out=tmp_path / "run")
    manifest = tmp_path / "run" / "manifest.json"
    stored = json.loads(manifest.read_text())
    stored["models"]["subject"][0]["arguments"] = [["connections", "none"]]
    manifest.write_text(json.dumps(stored))
    with pytest.raises(InputError) as refused:
        overton.resume(tmp_path / "run", max_calls=900)
    (problem,) = refused.value.problems
    assert (problem.place, problem.key) == (str(manifest), "models.subject[0].arguments")
    assert problem.reason.startswith("connections: ")


def calls(run: Path) -> dict[bytes, bytes]:
    """The content of each call of a run by its slot."""
    return {entry.identity.slot: entry.identity.content for entry in entries(run / "journal.db")}
