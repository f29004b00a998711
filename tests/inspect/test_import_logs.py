"""From Inspect logs to runs: logs imported completely, in part, and refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")

from inspect_ai.log import EvalError, EvalLog, EvalSample, ProvenanceData, read_eval_log, write_eval_log
from inspect_ai.scorer import Score

import overton
from overton.engine import entries
from overton.errors import InputError, RunExists, RunMismatch
from overton.inspect import import_logs
from overton.inspect.export_logs import Scoring, write_logs
from overton.inspect.log_format import CALLS, KEY
from overton.studies.open_mindedness import Argument, Issue
from overton.studies.open_mindedness.paraphrases.templates import render_templates
from overton.untrusted import Zip

SCORING = Scoring(
    "stances", lambda records, *_: Score(value=len(records)), lambda table: [], "rows", {}, {}, with_nulls=False
)


def made_issue(name: str) -> Issue:
    pro, con = f"The town should have {name}.", f"The town should not have {name}."
    return Issue(
        id=name,
        question=f"Should the town have {name}?",
        pros=tuple(Argument(f"pro-{k}", f"Reason {k} for {name}.", ()) for k in (1, 2, 3)),
        cons=tuple(Argument(f"con-{k}", f"Reason {k} against {name}.", ()) for k in (1, 2, 3)),
        topic="Towns",
        pro=pro,
        con=con,
        paraphrases=render_templates(name, pro, con),
    )


ISSUES = [made_issue(name) for name in ("trams", "arcades")]


def asked(out: Path, **more: Any) -> Any:
    """A small run: two issues in two conditions (three samples each), two trials of each."""
    how: dict[str, Any] = {
        "models": ["simulated/open-minded"],
        "items": ISSUES,
        "seed": 3,
        "templates": [1],
        "trials": 2,
    }
    return overton.run("open-mindedness", out=out, conditions=["baseline", "balanced"], **how | more)


def logs_of(run: Any, out: Path) -> list[Path]:
    done = write_logs(run, out, lambda task: SCORING)
    return [log.path for log in done]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return asked(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def log(whole: Any, tmp_path: Path) -> Path:
    return logs_of(whole, tmp_path / "logs")[0]


@pytest.fixture
def edited(log: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of the log with something changed."""

    def edit(change: Callable[[EvalLog], Any], name: str = "edited.eval") -> Path:
        held = read_eval_log(log)
        change(held)
        write_eval_log(held, tmp_path / name)
        return tmp_path / name

    return edit


def task_of(held: EvalLog) -> dict[str, Any]:
    assert held.eval.metadata is not None
    found: dict[str, Any] = held.eval.metadata[KEY]
    return found


def baseline_of(held: EvalLog) -> EvalSample:
    (sample,) = [one for one in held.samples or () if one.id == "trams/baseline"]
    return sample


def test_a_log_becomes_the_run_that_it_came_from(whole: Any, log: Path, tmp_path: Path) -> None:
    run = overton.import_logs([log], out=tmp_path / "back")
    assert run.finished
    assert run.records().equals(whole.records())
    assert run.manifest.items == whole.manifest.items
    assert run.items() == whole.items()
    assert run.manifest.models == whole.manifest.models
    assert sorted(map(str, entries(run.path / "journal.db"))) == sorted(map(str, entries(whole.path / "journal.db")))
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "back"}


def test_a_json_log_is_as_good(whole: Any, edited: Callable[..., Path], tmp_path: Path) -> None:
    run = overton.import_logs([edited(lambda held: None, "log.json")], out=tmp_path / "back")
    assert run.records().equals(whole.records())


def test_samples_are_read_one_at_a_time(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    read = Zip.read
    monkeypatch.setattr(Zip, "read", lambda self, name: taken.append(name) or read(self, name))
    samples = import_logs.open_log(log).samples()
    for count in range(1, 7):
        next(samples)
        assert len(taken) == 1 + count  # the head, and a member for each sample


def test_an_imported_run_is_reported_resumed_and_extended(log: Path, tmp_path: Path) -> None:
    run = overton.import_logs([log], out=tmp_path / "back")
    assert "simulated/open-minded" in Path(overton.report([run.path])).read_text("utf-8")
    before = len(list(entries(run.path / "journal.db")))
    assert overton.resume(run.path).finished
    assert len(list(entries(run.path / "journal.db"))) == before
    more = overton.extend(run.path, trials=3)
    assert more.finished
    assert len(list(entries(run.path / "journal.db"))) == before * 3 // 2


@pytest.mark.parametrize("how", ["missing", "erred", "invalidated"])
def test_samples_missing_from_a_log_are_asked_when_the_run_is_resumed(
    whole: Any, edited: Callable[..., Path], tmp_path: Path, how: str
) -> None:
    def spoil(held: EvalLog) -> None:
        assert held.samples is not None
        (sample,) = [one for one in held.samples if one.id == "trams/balanced/w1"]
        held.status = "error"
        if how == "missing":
            held.samples.remove(sample)
        elif how == "erred":
            sample.scores = None
            sample.error = EvalError(message="cut off", traceback="", traceback_ansi="")
            sample.store[CALLS] = sample.store[CALLS][:1]
        else:
            sample.invalidation = ProvenanceData(author="me")

    run = overton.import_logs([edited(spoil)], out=tmp_path / "back")
    assert run.manifest.status == "stopped"
    assert run.manifest.missing == {"simulated/open-minded": ["trams"]}
    assert run.records().equals(whole.records().filter(whole.records()["issue"] == "arcades"))
    journaled = len(list(entries(run.path / "journal.db")))
    assert journaled == {"missing": 10, "erred": 11, "invalidated": 10}[how]
    resumed = overton.resume(run.path)
    assert resumed.finished
    assert resumed.records().equals(whole.records())


def test_items_without_a_sample_are_left_out_and_reported(edited: Callable[..., Path], tmp_path: Path) -> None:
    def cut(held: EvalLog) -> None:
        assert held.samples is not None
        held.samples = [one for one in held.samples if str(one.id).startswith("arcades")]

    run = overton.import_logs([edited(cut)], out=tmp_path / "back")
    assert run.finished
    assert [item.id for item in run.items()] == ["arcades"]
    assert "items without a sample in the logs" in run.manifest.left_out


def test_logs_of_several_models_are_one_run(tmp_path: Path) -> None:
    models = ["simulated/chameleon", "simulated/chameleon/other"]
    run = overton.run(
        "stance-stability",
        models=models,
        others={"judge": ["simulated/stance-judge"], "search": ["starter"]},
        only=["nutrition-low-carbohydrate-first"],
        temperatures=[0.0],
        turns=2,
        out=tmp_path / "run",
    )
    logs = logs_of(run, tmp_path / "logs")
    assert len(logs) == 2
    back = overton.import_logs(logs, out=tmp_path / "back")
    assert back.finished
    assert back.records().equals(run.records())
    assert len(list(entries(back.path / "journal.db"))) == len(list(entries(run.path / "journal.db")))
    alone = overton.import_logs(logs[1:], out=tmp_path / "alone")
    assert alone.records().equals(run.records().filter(run.records()["model"] == models[1]))
    with pytest.raises(InputError, match=r"simulated/chameleon: is already measured in"):
        overton.import_logs([logs[0], copied(logs[0])], out=tmp_path / "twice")


def copied(log: Path) -> Path:
    copy = log.with_name(f"copy-{log.name}")
    copy.write_bytes(log.read_bytes())
    return copy


def test_logs_whose_shared_calls_were_answered_differently_are_not_one_run(tmp_path: Path) -> None:
    first, second = (stance_log(tmp_path, number) for number in (1, 2))

    def tell_otherwise(held: EvalLog) -> None:
        for sample in held.samples or ():
            for call in sample.store[CALLS]:
                if not call["trial"]:
                    call["reply"]["text"] += " "

    held = read_eval_log(second)
    tell_otherwise(held)
    write_eval_log(held, second)
    with pytest.raises(InputError, match="got the same shared prompt"):
        overton.import_logs([first, second], out=tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_sample_with_another_answer_to_a_shared_call_is_asked_again(tmp_path: Path) -> None:
    """As after an `eval-retry` without a cache: the rest of the log is still valid."""
    log = stance_log(tmp_path, 1, temperatures=[0.0, 1.0])
    held = read_eval_log(log)
    assert held.samples is not None
    (shared, *_) = [call for call in held.samples[1].store[CALLS] if not call["trial"]]
    shared["reply"]["text"] += " "
    write_eval_log(held, log)
    run = overton.import_logs([log], out=tmp_path / "back")
    assert run.manifest.status == "stopped"
    assert "1 got a different answer to a call that all samples share" in run.manifest.stopped
    assert overton.resume(run.path).finished


def stance_log(folder: Path, number: int, temperatures: Sequence[float] = (0.0,)) -> Path:
    run = overton.run(
        "stance-stability",
        models=[f"simulated/chameleon/m{number}"],
        others={"judge": ["simulated/stance-judge"], "search": ["starter"]},
        only=["nutrition-low-carbohydrate-first"],
        temperatures=list(temperatures),
        turns=2,
        out=folder / f"run-{number}",
    )
    return logs_of(run, folder / f"logs-{number}")[0]


def test_a_deliberation_is_a_run_of_its_own(tmp_path: Path) -> None:
    logs = []
    for number in (1, 2):
        agents = [f"simulated/deliberator/{number}", "simulated/deliberator/b"]
        run = overton.run("deliberation", models=agents, only=["quarter-to-eight"], out=tmp_path / f"run-{number}")
        logs += logs_of(run, tmp_path / f"logs-{number}")
    assert overton.import_logs(logs[:1], out=tmp_path / "back").finished
    with pytest.raises(InputError, match="is a separate run"):
        overton.import_logs(logs, out=tmp_path / "both")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda task: task.update(seed=4), "seed: differs from that of"),
        (lambda task: task["options"].update(trials=3), "options: differs"),
        (lambda task: task["prompts"].update(new="x"), "prompts: differs"),
    ],
)
def test_logs_that_were_asked_otherwise_are_not_one_run(
    log: Path, edited: Callable[..., Path], tmp_path: Path, change: Callable[[Any], None], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        overton.import_logs([log, edited(lambda held: change(task_of(held)))], out=tmp_path / "back")


def test_logs_of_other_samples_or_items_are_not_one_run(log: Path, edited: Callable[..., Path], tmp_path: Path) -> None:
    def fewer(held: EvalLog) -> None:
        held.eval.dataset.sample_ids = held.eval.dataset.sample_ids[:-1]  # type: ignore[index]

    with pytest.raises(InputError, match=r"set of samples \(arcades/balanced/w2 is in only one of them\)"):
        overton.import_logs([log, edited(fewer)], out=tmp_path / "back")

    def reworded(held: EvalLog) -> None:
        task_of(held)["models"]["subject"][0].update(
            identity="simulated/other", spec="simulated/other", name="simulated/other"
        )
        for sample in held.samples or ():
            sample.metadata[KEY]["item"]["question"] += "!"

    with pytest.raises(InputError, match="sample trams/baseline: its item trams differs"):
        overton.import_logs([log, edited(reworded)], out=tmp_path / "back")


def test_a_log_made_with_other_prompts_is_refused_by_their_names(edited: Callable[..., Path], tmp_path: Path) -> None:
    def reword(held: EvalLog) -> None:
        task = task_of(held)
        task["prompts"][min(task["prompts"])] = "0" * 32
        task["overton"] = "0.0.9"

    with pytest.raises(RunMismatch, match=r"prompt .*differs[\s\S]*import it with overton 0\.0\.9"):
        overton.import_logs([edited(reword)], out=tmp_path / "back")


def change_content(held: EvalLog) -> None:
    call = baseline_of(held).store[CALLS][1]
    call["content"] = "00" * 8 + call["content"][16:]


def change_item(held: EvalLog) -> None:
    for sample in held.samples or ():
        sample.metadata[KEY]["item"]["paraphrases"][0]["text"] += " Or not?"


@pytest.mark.parametrize("change", [change_content, change_item])
def test_a_call_that_the_study_would_not_make_is_named(
    edited: Callable[..., Path], tmp_path: Path, change: Callable[[EvalLog], None]
) -> None:
    with pytest.raises(
        RunMismatch, match=r"edited\.eval: does not contain the calls of open-mindedness\. trial trams.* this call's m"
    ):
        overton.import_logs([edited(change)], out=tmp_path / "back")
    assert not (tmp_path / "back").exists()
    assert not list(tmp_path.glob(".import*"))


def drop_reply(held: EvalLog) -> None:
    del baseline_of(held).store[CALLS][0]["reply"]


def break_item(held: EvalLog) -> None:
    baseline_of(held).metadata[KEY]["item"]["pros"] = "none"


def break_calls(held: EvalLog) -> None:
    baseline_of(held).store[CALLS] = {"slot": 1}


def lose_metadata(held: EvalLog) -> None:
    baseline_of(held).metadata = {}


def lose_paraphrases(held: EvalLog) -> None:
    for sample in held.samples or ():
        sample.metadata[KEY]["item"]["paraphrases"] = []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (drop_reply, "ask 0 of subject in trams/baseline/w0/t1/r1 is damaged"),
        (break_item, "sample trams/baseline: its item is damaged"),
        (break_calls, "sample trams/baseline: is damaged"),
        (lose_metadata, "sample trams/baseline: is damaged"),
        (lose_paraphrases, "its items or options cannot be used"),
        (
            lambda held: task_of(held)["options"].update(trials="many"),
            r"is damaged: options\.trials: cannot be read: Expected `int`, got `str`",
        ),
        (lambda held: task_of(held)["models"].update(subject=[]), "subject: is damaged: it names no model"),
        (lambda held: task_of(held).pop("seed"), "overton: its metadata is damaged"),
        (lambda held: task_of(held).update(format=9, overton="9.9"), "has format 9 of Overton '9.9'"),
        (lambda held: task_of(held).update(study="rephrase"), "rephrase, which has no task"),
        (lambda held: task_of(held).update(study="nothing"), "no such study"),
        (lambda held: held.eval.metadata.clear(), "not one of Overton's"),
    ],
)
def test_a_damaged_log_is_refused_with_the_place(
    edited: Callable[..., Path], tmp_path: Path, change: Callable[[EvalLog], None], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        overton.import_logs([edited(change)], out=tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("name", ["text.eval", "text.json", "cut.eval", "folder.eval", "absent.eval", "odd.txt"])
def test_files_that_are_not_logs_are_refused(log: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "folder.eval":
        path.mkdir()
    elif name == "cut.eval":
        path.write_bytes(log.read_bytes()[:-700])
    elif name != "absent.eval":
        path.write_text("This is no log.")
    with pytest.raises(InputError, match=name):
        overton.import_logs([path], out=tmp_path / "back")


def test_a_sample_cut_in_the_archive_is_refused(log: Path, tmp_path: Path) -> None:
    data = bytearray(log.read_bytes())
    data[200:2000] = b"\0" * 1800
    log.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read as an Inspect log"):
        overton.import_logs([log], out=tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_nothing_is_written_over(log: Path, tmp_path: Path) -> None:
    (tmp_path / "back").mkdir()
    with pytest.raises(RunExists):
        overton.import_logs([log], out=tmp_path / "back")
    with pytest.raises(InputError, match="name at least one log"):
        overton.import_logs([])


def test_texts_of_replies_come_back_unchanged(tmp_path: Path) -> None:
    """Inspect stores long text once and replaces it by a reference: a reply that looks like one is not one."""
    issue = msgspec.structs.replace(made_issue("parks"), topic='<img src=x onerror="a()"> attachment://0')
    run = asked(tmp_path / "run", items=[issue])
    back = overton.import_logs(logs_of(run, tmp_path / "logs"), out=tmp_path / "back")
    assert back.records().equals(run.records())
    assert json.loads((back.path / "items.jsonl").read_text())["topic"] == issue.topic
