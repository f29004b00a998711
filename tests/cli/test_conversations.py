"""`overton show` prints messages and replies as people read them, and nothing in them acts on a terminal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.reports.changed_journals import change_outcomes

import overton
from overton.calls import Reply
from overton.cli.main import app

HOSTILE = "\x1b[2Jposition <<A>>\x07 [red]bold[/red]"
TRIAL = "voting-age/baseline/w0/t1/r1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("printed") / "run"
    model = ["simulated/open-minded"]
    overton.run("open-mindedness", models=model, trials=1, only=["voting-age"], conditions=["baseline"], out=folder)
    return folder


def shown(run: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["show", str(run), *words])


def test_a_trial_is_printed_with_prompt_reply_and_reading(run: Path) -> None:
    (trial,) = overton.show(run, trials=[TRIAL])
    printed = shown(run, "--trial", TRIAL)
    assert printed.exit_code == 0
    lines = printed.stdout.splitlines()
    assert lines[:3] == [
        TRIAL,
        "  model simulated/open-minded, item voting-age, condition baseline",
        "  To subject (simulated/open-minded)",
    ]
    assert lines[3] == f"    user: {trial.calls[0].messages[0].content.splitlines()[0]}"
    assert lines[lines.index("  Reply") + 1] == f"    {trial.calls[0].reply}"
    assert any(line.startswith(f"  Read as: stance {trial.read[0]['stance']}") for line in lines)


def test_without_a_choice_three_trials_are_printed(run: Path) -> None:
    printed = shown(run)
    assert sum(line.startswith("voting-age/") for line in printed.stdout.splitlines()) == 3
    assert "--sample N" in printed.stderr
    assert shown(run).stdout == printed.stdout != shown(run, "--seed", "1").stdout
    assert len(json.loads(shown(run, "--sample", "4", "--json").stdout)) == 4


def test_replies_are_printed_as_text_and_obeyed_by_no_terminal(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    change_outcomes(copy, lambda entry: Reply(HOSTILE, finish="length", refused=entry.place.trial == TRIAL))
    printed = shown(copy, "--trial", TRIAL)
    assert "\x1b" not in printed.stdout
    assert "\x07" not in printed.stdout
    assert "position <<A>>" in printed.stdout
    assert "[red]bold[/red]" in printed.stdout
    assert "  Reply, flagged as a refusal by the endpoint" in printed.stdout.splitlines()
    assert "Reply, ended by 'length'" in shown(copy, "--trial", TRIAL.replace("t1", "t2")).stdout
    assert json.loads(shown(copy, "--trial", TRIAL, "--json").stdout)[0]["calls"][0]["reply"] == HOSTILE


def test_an_empty_choice_succeeds_and_an_unknown_name_fails(run: Path) -> None:
    nothing = shown(run, "--unread")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "No trial" in nothing.stderr
    unknown = CliRunner().invoke(app, ["show", str(run), "--trial", TRIAL[:-1]])
    assert unknown.exit_code != 0
    assert f"--trial: {TRIAL[:-1]}: no such trial" in str(unknown.exception)
    assert f"did you mean '{TRIAL}'" in str(unknown.exception)


def test_repeated_messages_and_retrieved_pages_are_cut(tmp_path: Path) -> None:
    run = tmp_path / "run"
    overton.run(
        "stance-stability",
        models=["simulated/chameleon"],
        judge="simulated/stance-judge",
        search="starter",
        only=["education-policy-school-phones"],
        temperatures=[0],
        turns=4,
        out=run,
    )
    (trial,) = overton.show(run, sample=1)
    printed = shown(run, "--sample", "1").stdout
    systems = [call.messages[0].content for call in trial.calls if call.messages[0].role == "system"]
    assert len(systems) > len(set(systems)) > 0
    for content in set(systems):
        lines = printed.splitlines()
        assert lines.count(f"    system: {content.splitlines()[0]}") == 1
        assert lines.count(f"    system: {content[:60]}... (as above)") == systems.count(content) - 1
    page = next(call for call in trial.calls if call.role == "pages" and len(call.reply) > 300)
    assert page.retrieved
    assert page.reply not in printed
    assert f"({len(page.reply):,} characters; --json has all)" in printed
