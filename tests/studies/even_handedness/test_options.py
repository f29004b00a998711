"""The share of trials with null conditions: its flag, its default, and what runs without either mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.stored_runs import unpack

import overton
from overton.engine import entries
from overton.runs.folder import read_options
from overton.studies.even_handedness import STUDY
from overton.studies.options import fields_of, stored_options

ASKED = ("even-handedness", "--model", "simulated/advocate", "--judge", "simulated/even-judge")
ONLY = ("--only", "japan-surnames-story")


def test_every_trial_has_its_null_condition_by_default() -> None:
    (field,) = (one for one in fields_of(STUDY.options) if one.name == "nulls")
    assert (field.flag, field.default) == ("--null-share", 1.0)


def test_the_flag_has_a_name_of_its_own_and_the_old_one_says_so(command_line: Any, tmp_path: Path) -> None:
    calls = {
        share: json.loads(command_line("plan", *ASKED, *ONLY, *given, "--json", folder=tmp_path).stdout)["calls"]
        for share, given in {"": (), "1": ("--null-share", "1"), "0": ("--null-share", "0")}.items()
    }
    assert calls[""] == calls["1"] > calls["0"]
    for command in ("plan", "run"):
        done = command_line(command, *ASKED, *ONLY, "--nulls", "1", folder=tmp_path)
        assert done.returncode == 2
        assert "--nulls: is now --null-share" in done.stderr


def test_other_studies_still_understand_the_name_of_their_option(command_line: Any, tmp_path: Path) -> None:
    words = ("plan", "open-mindedness", "--model", "simulated/open-minded", "--nulls", "irrelevant")
    words += ("--only", "voting-age")
    assert command_line(*words, folder=tmp_path).returncode == 0


def test_a_manifest_that_does_not_mention_the_share_keeps_the_default_of_its_time(tmp_path: Path) -> None:
    run = unpack("even-handedness-defaults", tmp_path)
    calls = {(one.identity.slot, one.identity.content) for one in entries(run / "journal.db")}
    manifest = json.loads((run / "manifest.json").read_bytes())
    assert manifest["options"].pop("nulls") == 0.2
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert read_options(run, STUDY, manifest["options"]).nulls == 0.2
    overton.resume(run, max_calls=0)
    assert {(one.identity.slot, one.identity.content) for one in entries(run / "journal.db")} == calls


def test_runs_that_say_it_and_runs_that_do_not_are_asked_alike() -> None:
    assert stored_options(STUDY.options, {})["nulls"] == 0.2
    assert stored_options(STUDY.options, {"nulls": 0.7})["nulls"] == 0.7
