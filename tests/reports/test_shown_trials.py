"""A run's trials are shown as they were asked and read, from its journal alone, also while it runs."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.reports.changed_journals import change_outcomes

import overton
from overton.analysis.analyze import measure_run
from overton.calls import Failure, Reply
from overton.engine import Journal
from overton.engine.journal_file import JournalEntry
from overton.errors import DamagedJournal, InputError, RunMismatch

ONE, OTHER = "one=simulated/open-minded", "other=simulated/open-minded"
UNREAD, FAILED, REFUSED = (f"voting-age/baseline/w0/t{template}/r1" for template in (1, 2, 3))
TALK = "hose-under-the-fence/synchronous/correctness/1-2/r1"

DILEMMA = "boiler-loan-in-the-family-chat"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown") / "run"
    conditions = ["baseline", "balanced"]
    overton.run(
        "open-mindedness", models=[ONE, OTHER], trials=1, only=["voting-age"], conditions=conditions, out=folder
    )
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("talked") / "run"
    agents = ["simulated/deliberator", "simulated/deliberator/b"]
    overton.run("deliberation", models=agents, only=["hose-under-the-fence"], out=folder)
    return folder


def worse(entry: JournalEntry) -> Reply | Failure:
    """Outcomes of the first model: one that names no letter, one that failed, one that its endpoint refused."""
    if not entry.place.answerer.startswith("one"):
        return entry.outcome
    changed: dict[str, Reply | Failure] = {
        UNREAD: Reply("I would rather not say."),
        FAILED: Failure("timeout", "no reply in 60 s"),
        REFUSED: Reply("", finish="refusal", refused=True),
    }
    return changed.get(entry.place.trial, entry.outcome)


def test_every_trial_is_shown_in_plan_order_with_its_prompt_reply_and_stance(run: Path) -> None:
    shown = overton.show(run)
    records = overton.open_run(run).records()
    assert [(trial.model, trial.trial) for trial in shown] == list(records.select("model", "trial").iter_rows())
    assert [trial.read[0]["stance"] for trial in shown] == records["stance"].to_list()
    assert [trial.calls[0].reply for trial in shown] == records["answer"].to_list()
    for trial in shown:
        (call,) = trial.calls
        assert (call.role, call.model, call.messages[0].role) == ("subject", trial.model, "user")
        assert "voting age" in call.messages[0].content
        assert (trial.item, trial.unread, trial.refused, trial.finished) == ("voting-age", (), False, True)
    assert {trial.condition.partition("/")[0] for trial in shown} == {"baseline", "balanced"}


def test_unread_and_refused_trials_are_found_with_the_reason(run: Path) -> None:
    change_outcomes(run, worse)
    unread = {trial.trial: trial.unread for trial in overton.show(run, unread=True)}
    assert list(unread) == [UNREAD, FAILED, REFUSED]
    assert unread[UNREAD] == ("answers without a clear side: 1 of 1",)
    assert unread[FAILED][0] == "the call to one failed: timeout: no reply in 60 s"
    refused = overton.show(run, refused=True)
    assert [(trial.trial, trial.model, trial.refused) for trial in refused] == [(REFUSED, "one", True)]
    assert len(overton.show(run, unread=True, refused=True)) == 3
    assert not overton.show(run, unread=True, models=["other"])
    assert not overton.show(run, refused=True, trials=[UNREAD])


def test_names_choose_trials_and_models(run: Path) -> None:
    assert [(trial.trial, trial.model) for trial in overton.show(run, trials=[REFUSED, UNREAD])] == [
        (name, model) for model in ("one", "other") for name in (UNREAD, REFUSED)
    ]
    assert {trial.model for trial in overton.show(run, models=["other"])} == {"other"}
    with pytest.raises(InputError, match=f"no such trial in .*; did you mean '{UNREAD}'"):
        overton.show(run, trials=[UNREAD.replace("voting", "votin")])
    with pytest.raises(InputError, match=r"no such model in .*; did you mean 'other'"):
        overton.show(run, models=["othr"])
    with pytest.raises(InputError, match="must be 1 or more"):
        overton.show(run, sample=0)


def test_a_sample_follows_from_its_seed_and_the_other_choices(run: Path) -> None:
    every = overton.show(run)
    drawn = overton.show(run, sample=5)
    assert drawn == overton.show(run, sample=5)
    assert drawn == [trial for trial in every if trial in drawn]
    assert len(drawn) == 5
    assert len({tuple(trial.trial for trial in overton.show(run, sample=5, seed=seed)) for seed in range(4)}) > 1
    change_outcomes(run, worse)
    assert {trial.trial for trial in overton.show(run, unread=True, sample=2)} < {UNREAD, FAILED, REFUSED}
    assert len(overton.show(run, unread=True, sample=9)) == 3


def test_a_run_is_shown_while_another_process_holds_it_and_nothing_is_written(run: Path) -> None:
    whole = len(overton.show(run))
    change_outcomes(run, lambda entry: entry.outcome if entry.place.trial.endswith("/t1/r1") else None)
    with closing(Journal(run / "journal.db")):
        before = {path.name: path.read_bytes() for path in run.iterdir() if path.suffix != ".db-shm"}
        shown = overton.show(run)
        assert {path.name: path.read_bytes() for path in run.iterdir() if path.suffix != ".db-shm"} == before
    assert 0 < len(shown) < whole
    assert all(trial.trial.endswith("/t1/r1") for trial in shown)


def test_a_trial_is_shown_as_far_as_it_went(talked: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(talked, tmp_path / "run"))
    (whole,) = overton.show(run)
    assert whole.finished
    assert [read["round"] for read in whole.read] == sorted(read["round"] for read in whole.read)
    change_outcomes(run, lambda entry: entry.outcome if entry.place.number == 0 else None)
    (begun,) = overton.show(run)
    assert not begun.finished
    assert begun.read == ()
    assert begun.calls == whole.calls[:2]
    change_outcomes(run, lambda entry: entry.outcome if entry.place.speaker == "agent/2" else None)
    assert [call.speaker for call in overton.show(run)[0].calls] == ["agent/2"]


def test_a_model_that_meets_others_chooses_the_trials_in_which_it_spoke(talked: Path) -> None:
    assert [trial.trial for trial in overton.show(talked, models=["simulated/deliberator/b"])] == [TALK]


def test_a_run_without_replies_shows_nothing_and_one_that_lost_its_journal_is_refused(run: Path) -> None:
    change_outcomes(run, lambda entry: None)
    assert overton.show(run) == []
    (run / "journal.db").unlink()
    with pytest.raises(DamagedJournal, match="no such journal"):
        overton.show(run)


def test_prompts_that_are_not_those_asked_are_not_shown(run: Path) -> None:
    items = run / "items.jsonl"
    items.write_text(items.read_text("utf-8").replace("sixteen", "seventeen"), "utf-8")
    with pytest.raises(RunMismatch, match="messages differ"):
        overton.show(run)


def test_flipped_trials_are_those_whose_stance_is_not_the_usual_one_without_arguments(run: Path) -> None:
    sides = dict(overton.open_run(run).records().filter(model="one").select("trial", "a_is").iter_rows())
    changed = next(name for name in sides if "balanced" in name)

    def settled(entry: JournalEntry) -> Reply | Failure:
        """'one' is for it everywhere but in one trial with arguments."""
        if not entry.place.answerer.startswith("one"):
            return Reply("no letter")
        wanted = "con" if entry.place.trial == changed else "pro"
        return Reply(f"position <<{'A' if sides[entry.place.trial] == wanted else 'B'}>>")

    change_outcomes(run, settled)
    (shown,) = overton.show(run, flipped=True)
    assert (shown.trial, shown.model) == (changed, "one")
    assert shown.flipped == "con; mostly pro in condition baseline"
    assert overton.show(run, flipped=True, models=["other"]) == []


def test_a_finding_is_named_by_number_or_code_and_has_the_trials_of_its_model_and_condition(tmp_path: Path) -> None:
    conditions = ["baseline", "one-sided-pro", "one-sided-con"]
    folder = tmp_path / "moved"
    overton.run("open-mindedness", models=[ONE, OTHER], trials=1, conditions=conditions, out=folder)
    findings = measure_run("open-mindedness", folder).findings
    number, found = next(
        (number, finding)
        for number, finding in enumerate(findings, 1)
        if finding.model == "other" and finding.code == "shift_one_sided_pro above 0"
    )
    shown = overton.show(folder, finding=str(number))
    assert {(trial.model, trial.condition.partition("/")[0]) for trial in shown} == {("other", "one-sided-pro")}
    records = overton.open_run(folder).records().filter(model="other", condition="one-sided-pro")
    assert len(shown) == records.height
    assert {trial.trial for trial in overton.show(folder, finding=found.code)} == set(records["trial"])
    with pytest.raises(InputError, match=r"no such finding among .* did you mean"):
        overton.show(folder, finding="shift_one_sided_pro above 1")
    with pytest.raises(InputError, match="no such finding among"):
        overton.show(folder, finding="99")


def test_unread_values_of_a_judge_are_found(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"others": {"values": "simulated/degenerate/silent"}, "anyway": True, "trials": 1}
    models = ["a=simulated/deliberator", "b=simulated/deliberator"]
    unread = overton.run("deliberation", models=models, **asked, only=[DILEMMA], out=tmp_path / "unread")
    found = overton.show(unread.path, unread=True)
    assert found
    for trial in found:
        messages = sum(call.role != "values" for call in trial.calls)
        assert trial.unread == (f"labels that the judge's replies do not give: {messages} of {messages}",)
    asked["others"] = {"values": "simulated/values-judge"}
    read = overton.run("deliberation", models=models, **asked, only=[DILEMMA], out=tmp_path / "read")
    assert overton.show(read.path, unread=True) == []
