"""Differences between two runs, one kind at a time, through the command: refused, reported, or irrelevant."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.calls import Reply, user
from overton.runs.items import read_items
from overton.studies.open_mindedness import protocol
from overton.studies.open_mindedness.simulated import OpenMinded
from overton.studies.registry import study_named

STUDY = "open-mindedness"
ITEMS = read_items(study_named(STUDY))[:5]
PLAIN: dict[str, Any] = {"models": ["m=simulated/open-minded"], "trials": 1, "templates": (2,)}


def held(out: Path, items: Any = ITEMS, **more: Any) -> Path:
    return overton.run(STUDY, items=list(items), out=out, **PLAIN | more).path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return held(tmp_path_factory.mktemp("instruments") / "base")


def edited(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path, Path], Path]:
    """A copy of the base with a changed manifest, as an older version of Overton might have left it."""

    def made(base: Path, out: Path) -> Path:
        shutil.copytree(base, out)
        manifest = json.loads((out / "manifest.json").read_text())
        change(manifest)
        (out / "manifest.json").write_text(json.dumps(manifest))
        return out

    return made


def asked(**more: Any) -> Callable[[Path, Path], Path]:
    """A separate run, asked with something else."""
    return lambda base, out: held(out, **more)


def other_prompt(manifest: dict[str, Any]) -> None:
    name = next(iter(manifest["prompts"]))
    manifest["prompts"][name] = "0" * len(manifest["prompts"][name])


OTHER = [msgspec.structs.replace(ITEMS[0], question="Should this be asked in other words?"), *ITEMS[1:]]
REFUSED: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "prompts": (edited(other_prompt), "prompts differ: "),
    "items": (asked(items=OTHER), f"some issues have the same name but other contents: {ITEMS[0].id}"),
    "options": (asked(templates=(2, 5)), "--template differs: 2 and 2, 5"),
}


def compared(command_line: Any, *words: str | Path) -> Any:
    return command_line("compare", *map(str, words), folder=Path.cwd())


@pytest.mark.parametrize("kind", REFUSED)
def test_a_changed_instrument_is_refused_by_name_and_goes_on_with_a_reason(
    kind: str, base: Path, tmp_path: Path, command_line: Any
) -> None:
    make, said = REFUSED[kind]
    other = make(base, tmp_path / "other")
    refused = compared(command_line, base, other)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert "--although" in refused.stderr
    done = compared(command_line, base, other, "--although", "a pilot")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert said in told
    assert "The reason given: a pilot" in told
    blank = compared(command_line, base, other, "--although", " ")
    assert blank.returncode == 2


def older(manifest: dict[str, Any]) -> None:
    manifest["overton"] = "0.0.1"


def test_versions_that_conduct_alike_are_compared_without_a_word(base: Path, tmp_path: Path, command_line: Any) -> None:
    done = compared(command_line, base, edited(older)(base, tmp_path / "other"))
    assert done.returncode == 0, done.stderr
    assert "version" not in done.stdout


def test_changed_conduct_is_refused_and_goes_on_with_a_reason(
    base: Path, tmp_path: Path, command_line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(protocol, "user", lambda text: user(f"{text}\n"))
        made = held(tmp_path / "made")
    other = edited(older)(made, tmp_path / "other")
    refused = compared(command_line, base, other)
    assert refused.returncode == 2
    assert "versions of Overton differ" in refused.stderr
    assert "the installed version asks differently from other" in refused.stderr
    done = compared(command_line, base, other, "--although", "a pilot")
    assert done.returncode == 0, done.stderr
    assert "versions of Overton differ" in " ".join(done.stdout.split())


def test_conduct_of_a_baseline_by_another_version_is_not_known(base: Path, tmp_path: Path, command_line: Any) -> None:
    kept = overton.baseline(edited(older)(base, tmp_path / "other"), out=tmp_path / "kept.json")
    done = compared(command_line, kept, base)
    assert done.returncode == 0, done.stderr
    assert "may have asked differently" in " ".join(done.stdout.split())


JUDGED: dict[str, Any] = {
    "models": ["m=simulated/chameleon"],
    "judge": "simulated/stance-judge",
    "search": "starter",
    "turns": 2,
    "temperatures": (0,),
}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"model_args": {"simulated/stance-judge": {"wrong": "0.2"}}},
            "the model for the role judge differs: simulated/stance-judge with other settings or weights",
        ),
        ({"turns": 3}, "--turns differs: 2 and 3"),
    ],
    ids=["judge", "turns"],
)
def test_another_judge_or_other_conversations_are_refused_by_name(
    more: dict[str, Any], said: str, tmp_path: Path, command_line: Any
) -> None:
    items = read_items(study_named("stance-stability"))[:5]
    one, other = (
        overton.run("stance-stability", items=list(items), out=tmp_path / name, **JUDGED | given).path
        for name, given in (("one", {}), ("two", more))
    )
    refused = compared(command_line, one, other)
    assert refused.returncode == 2
    assert said in refused.stderr
    done = compared(command_line, one, other, "--although", "a pilot")
    assert done.returncode == 0, done.stderr
    assert said in " ".join(done.stdout.split())


PRECISION: dict[str, tuple[dict[str, Any], str]] = {
    "conditions": ({"conditions": ("one-sided-pro", "balanced")}, "--condition differs: "),
    "seed": ({"seed": 1}, "seeds differ (0 and 1)"),
    "trials": ({"trials": 2}, "--trials differs: 1 and 2"),
    "items": ({"items": ITEMS[1:]}, "1 issues were asked about in only one of the runs, and are left out"),
}


@pytest.mark.parametrize("kind", PRECISION)
def test_differences_that_only_cost_precision_are_reported(
    kind: str, base: Path, tmp_path: Path, command_line: Any
) -> None:
    more, said = PRECISION[kind]
    done = compared(command_line, base, held(tmp_path / "other", **more))
    assert done.returncode == 0, done.stderr
    assert said in " ".join(done.stdout.split())


UPSTREAM = {
    "model": "another upstream model under the same name (v1 and v2)",
    "fingerprint": "another system fingerprint (v1 and v2)",
    "served_by": "served by another provider, or another version of a package (v1 and v2)",
}


@pytest.mark.parametrize("word", UPSTREAM)
def test_compare_reports_a_change_of_the_served_model(
    word: str, tmp_path: Path, command_line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = OpenMinded.answer
    runs = []
    for version in ("v1", "v2"):

        async def answer(self: Any, request: Any, version: str = version) -> Reply:
            return msgspec.structs.replace(await plain(self, request), **{word: version})

        monkeypatch.setattr(OpenMinded, "answer", answer)
        runs.append(held(tmp_path / version))
    done = compared(command_line, *runs)
    assert done.returncode == 0, done.stderr
    assert UPSTREAM[word] in " ".join(done.stdout.split())
