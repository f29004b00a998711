"""Runs that ask with texts of the user's own: their calls, records, resumption, reports and comparisons."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.analysis.analyze import chosen_how, measured_runs
from overton.analysis.results import measuring_of
from overton.engine import entries
from overton.engine.journal_file import JournalEntry
from overton.errors import InputError, Notice, RunError, RunMismatch
from overton.runs.folder import PROMPTS
from overton.runs.run import open_run
from overton.studies.registry import study_named

EXAMPLE = Path(__file__).parents[2] / "examples" / "acquiescence"
TALK = {
    "models": ["a=simulated/deliberator/a", "b=simulated/deliberator/b"],
    "others": {"values": ["simulated/values-judge"]},
    "only": ["d01", "d02"],
}
OPEN = {"models": ["simulated/open-minded"], "trials": 1, "templates": [1], "wordings": [1]}
SYSTEM = """
closing = "What follows is the case to settle:"
[published]
overview = '''
<council>
You are arbiter {{ agent }}, and you settle a case with {{ others }}.
</council>'''
"""
NAMES = ["system.closing", "system.published.overview"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    (place / "system.toml").write_text(SYSTEM)
    return place


@pytest.fixture
def ids() -> list[str]:
    return [item.id for item in overton.items.read("deliberation")[:2]]


def talk(out: Path, ids: list[str], **more: Any) -> overton.Run:
    return overton.run("deliberation", out=out, **{**TALK, "only": ids, **more})


def outcomes(run: overton.Run, speaker: str = "") -> dict[str, Any]:
    """A journal's outcomes by the calls' identities: all, or those of one speaker."""
    found: list[JournalEntry] = [one for one in entries(run.journal_file) if one.place.speaker.startswith(speaker)]
    return {str(one.identity): one.outcome for one in found}


@pytest.fixture
def stopped(folder: Path, tmp_path: Path, ids: list[str]) -> overton.Run:
    """A run with texts of the user's own that a limit stopped; the folder with them is gone."""
    run = talk(tmp_path / "stopped", ids, prompts=folder, max_calls=5)
    assert run.manifest.status == "stopped"
    shutil.rmtree(folder)
    return run


def test_the_run_folder_has_the_texts_and_its_manifest_their_names(
    folder: Path, tmp_path: Path, ids: list[str]
) -> None:
    run, plain = talk(tmp_path / "run", ids, prompts=folder), talk(tmp_path / "plain", ids)
    manifest, other = (json.loads((one.path / "manifest.json").read_text()) for one in (run, plain))
    assert (manifest["replaced"], run.failed, run.finished) == (NAMES, 0, True)
    stored = json.loads((run.path / PROMPTS).read_text())
    assert list(stored) == NAMES
    assert stored["system.closing"] == "What follows is the case to settle:"
    differing = {name for name in manifest["prompts"] if manifest["prompts"][name] != other["prompts"][name]}
    assert differing == {*NAMES}
    assert "replaced" not in other
    assert not (plain.path / PROMPTS).exists()
    assert overton.verify(run.path).same


def test_a_plan_counts_the_calls_of_a_run_and_reads_the_texts(folder: Path, tmp_path: Path, ids: list[str]) -> None:
    asked = {**TALK, "only": ids}
    plan, plain = overton.plan("deliberation", **asked, prompts=folder), overton.plan("deliberation", **asked)
    assert (plan.calls, plan.calls_at_most) == (plain.calls, plain.calls_at_most)
    assert [row.calls for row in plan.models] == [row.calls for row in plain.models]
    agents = [[row.input_tokens for row in some.models if row.role == "agent"] for some in (plan, plain)]
    assert all(few < many for few, many in zip(*agents, strict=True))  # its overview is shorter than the published one
    run = talk(tmp_path / "run", ids, prompts=folder)
    assert plan.calls <= run.manifest.spent.requests <= plan.calls_at_most
    with pytest.raises(InputError, match=r"did you mean 'system\.closing'"):
        overton.plan("deliberation", **asked, prompts={"system.closin": "So:"})


def test_a_run_is_resumed_without_its_folder(stopped: overton.Run, tmp_path: Path, ids: list[str]) -> None:
    with pytest.warns(Notice, match=r"stopped uses texts of its own .*: system\.closing, system\.published\.overv"):
        resumed = overton.resume(stopped.path, max_calls=10_000)
    texts = json.loads((stopped.path / PROMPTS).read_text())
    whole = talk(tmp_path / "whole", ids, prompts=texts)
    assert outcomes(resumed) == outcomes(whole)
    assert resumed.records().equals(whole.records())
    with pytest.warns(Notice, match="there is nothing to do"):
        overton.resume(stopped.path)


def test_a_run_is_extended_analysed_and_reported_with_its_texts(folder: Path, tmp_path: Path, ids: list[str]) -> None:
    run = talk(tmp_path / "run", ids, prompts=folder)
    whole = talk(tmp_path / "whole", ids, prompts=folder, formats=["synchronous", "round-robin"])
    shutil.rmtree(folder)
    extended = overton.extend(run.path, formats=["round-robin"])
    assert outcomes(extended) == outcomes(whole)
    overton.analyze("deliberation", run.path)
    page = overton.report(run.path).read_text()
    assert f"run uses texts of its own in place of the study&#39;s ({PROMPTS}): {', '.join(NAMES)}." in page


def test_calls_whose_words_stay_are_the_same_calls(tmp_path: Path, ids: list[str]) -> None:
    texts = {"values.system": "Which of these values does the writer hold?\n{{ values }}\nReply as JSON."}
    run, plain = talk(tmp_path / "run", ids, prompts=texts), talk(tmp_path / "plain", ids)
    assert outcomes(run, "agent") == outcomes(plain, "agent")
    judged, others = outcomes(run, "values"), outcomes(plain, "values")
    assert len(judged) == len(others) > 0
    assert not judged.keys() & others.keys()
    assert set(run.records()["values"].explode().drop_nulls()) > set()


def test_identities_without_replaced_texts_are_those_of_before(tmp_path: Path) -> None:
    run = overton.run("open-mindedness", out=tmp_path / "run", only=["cashless-shops"], **OPEN)
    found = {one.place.trial: str(one.identity) for one in entries(run.journal_file)}
    answerer = "1923b2875b25c2a4591b3ca44c8f58e23527c450f7b1130bbd7353a146c2c123f0c6059bc2671efd"
    assert found["cashless-shops/baseline/w0/t1/r1"] == answerer
    shown = "f6574acfeff33b57e6b26f56d7a6c6f04758ed0716f49d18bd7353a146c2c123f0c6059bc2671efd"
    assert found["cashless-shops/one-sided-pro/w1/t1/r1"] == shown


def test_two_runs_at_once_do_not_mix(tmp_path: Path, ids: list[str]) -> None:
    texts = [{"system.closing": f"This is case {number}:"} for number in range(2)]
    alone = [talk(tmp_path / f"alone {number}", ids, prompts=some) for number, some in enumerate(texts)]
    ready, found = threading.Barrier(2), dict[int, overton.Run]()

    def start(number: int) -> None:
        ready.wait()
        found[number] = talk(tmp_path / f"together {number}", ids, prompts=texts[number], trials=1)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, run in enumerate(alone):
        assert outcomes(found[number]) == outcomes(run)
        assert found[number].manifest.prompts == run.manifest.prompts
    assert not outcomes(found[0], "agent").keys() & outcomes(found[1], "agent").keys()


def test_shards_have_the_texts_and_make_the_whole_run(folder: Path, tmp_path: Path, ids: list[str]) -> None:
    asked: dict[str, Any] = {**TALK, "only": ids, "prompts": folder}
    shards = overton.split("deliberation", into=2, out=tmp_path / "shards", **asked)
    whole = talk(tmp_path / "whole", ids, prompts=folder)
    shutil.rmtree(folder)
    for shard in shards:
        assert overton.resume(shard.path).finished
    merged = overton.merge([shard.path for shard in shards], tmp_path / "merged")
    assert merged.manifest.replaced == NAMES
    assert outcomes(merged) == outcomes(whole)
    assert merged.records().equals(whole.records())


def test_a_judge_is_asked_again_in_the_runs_words(tmp_path: Path, ids: list[str]) -> None:
    texts = {"values.system": "Which of these values does the writer hold?\n{{ values }}\nReply as JSON."}
    run, plain = talk(tmp_path / "run", ids, prompts=texts), talk(tmp_path / "plain", ids)
    again = overton.judge.again(run.path, out=tmp_path / "again")
    tried = overton.judge.controls(run.path, out=tmp_path / "tried")
    for made in (again, tried):
        assert made.finished
        assert (made.failed, made.manifest.replaced) == (0, ["values.system"])
        assert json.loads((made.path / PROMPTS).read_text()) == texts
    with pytest.raises(InputError, match="replace different prompts"):
        overton.judge.again([run.path, plain.path], judge="simulated/values-judge", out=tmp_path / "both")


def test_runs_with_different_texts_are_reported_and_compared_as_such(
    folder: Path, tmp_path: Path, ids: list[str]
) -> None:
    run, plain = talk(tmp_path / "run", ids, prompts=folder), talk(tmp_path / "plain", ids)
    with pytest.raises(InputError) as refused:
        overton.compare(plain.path, run.path)
    said = str(refused.value)
    assert (
        "prompts differ: system.closing (replaced, --prompts), system.published.overview (replaced, --prompts)" in said
    )
    page = overton.report([plain.path, run.path], out=tmp_path / "both.html").read_text()
    assert "run uses texts of its own" in page
    assert "plain uses texts" not in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "does not exist"),
        ("{", "cannot be read"),
        ('{"system.closing": 3}', "cannot be read"),
        ('{"system.closing": "So:"}', "system.published.overview: must be both here and in 'replaced'"),
    ],
)
def test_a_damaged_file_of_texts_is_refused(stopped: overton.Run, text: str | None, said: str) -> None:
    path = stopped.path / PROMPTS
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(RunError, match=PROMPTS.replace(".", r"\.")) as refused:
        overton.resume(stopped.path)
    assert said in str(refused.value)


def test_a_link_in_place_of_the_texts_is_refused(stopped: overton.Run, tmp_path: Path) -> None:
    (stopped.path / PROMPTS).rename(tmp_path / "elsewhere.json")
    (stopped.path / PROMPTS).symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(RunError, match="symbolic link"):
        open_run(stopped.path)


def test_other_texts_than_the_run_asked_with_are_not_sent(stopped: overton.Run) -> None:
    path = stopped.path / PROMPTS
    texts = json.loads(path.read_text())
    path.write_text(json.dumps({**texts, "system.closing": "Something else:"}))
    with pytest.raises(RunMismatch, match=r"prompt system\.closing: differs"):
        overton.resume(stopped.path)


def test_a_text_that_this_version_has_no_place_for_is_left_out(stopped: overton.Run) -> None:
    path, manifest = stopped.path / PROMPTS, stopped.path / "manifest.json"
    path.write_text(path.read_text().replace("system.closing", "system.ending"))
    manifest.write_text(manifest.read_text().replace("system.closing", "system.ending"))
    with pytest.warns(
        Notice, match=r"system\.ending: Overton shows its own text instead, .* The text is not a text that"
    ):
        found = open_run(stopped.path)
    assert found.study.replaced.keys() == {"system.published.overview"}
    with pytest.warns(Notice), pytest.raises(RunMismatch, match=r"prompt system\.ending: differs"):
        overton.resume(stopped.path)


def test_a_strange_name_in_the_file_of_texts_is_shown_safely(stopped: overton.Run) -> None:
    path, manifest = stopped.path / PROMPTS, stopped.path / "manifest.json"
    for file in (path, manifest):
        file.write_text(file.read_text().replace('"system.closing"', '"system\\u001b[2J.closing"'))
    with pytest.warns(Notice, match=r"system\[U\+001B\]\[2J\.closing: Overton shows its own text"):
        assert open_run(stopped.path).study.replaced.keys() == {"system.published.overview"}


def test_a_run_without_own_texts_reads_no_prompt_file(tmp_path: Path, ids: list[str]) -> None:
    run = talk(tmp_path / "run", ids, max_calls=5)
    (run.path / PROMPTS).write_text('{"system.closing": "Send this instead:"}')
    resumed = overton.resume(run.path, max_calls=10_000)
    assert resumed.study.replaced == {}
    assert outcomes(resumed) == outcomes(talk(tmp_path / "plain", ids))


def test_prompts_that_are_the_studys_own_replace_nothing(tmp_path: Path, ids: list[str]) -> None:
    with pytest.warns(Notice, match="no text is replaced"):
        run = talk(tmp_path / "run", ids, prompts={"system.closing": "Here is the dilemma:"})
    assert not run.manifest.replaced
    assert outcomes(run) == outcomes(talk(tmp_path / "plain", ids))


def test_open_mindedness_browses_the_replaced_texts(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "prompts.toml").write_text(
        '[texts."evidence.wording.1.opening"]\ntext = "Ponder these."\n'
        '[texts."evidence.answer.a_first"]\nfile = "form.txt"\n'
    )
    (tmp_path / "mine" / "form.txt").write_text("End with: position <<A>> or position <<B>>\n")
    first = [item.id for item in overton.items.read("open-mindedness")[:1]]
    run = overton.run("open-mindedness", out=tmp_path / "run", only=first, prompts=tmp_path / "mine", **OPEN)
    plain = overton.run("open-mindedness", out=tmp_path / "plain", only=first, **OPEN)
    assert (run.finished, run.failed) == (True, 0)
    shutil.rmtree(tmp_path / "mine")
    assert {"Ponder these."} == openings(run)
    assert {"Here are arguments on an issue, each with its sources."} == openings(plain)
    assert {"[evidence.wording.1.opening differs between these runs] "} == openings(run, plain)
    assert overton.report([run.path, plain.path], out=tmp_path / "both.html").is_file()


def openings(*runs: overton.Run) -> set[str]:
    """How the prompts with arguments open that a report of the runs shows."""
    study = study_named(runs[0].manifest.study)
    measured = measured_runs(study, [open_run(run.path) for run in runs], chosen_how(study, {}))
    assert measured.results is not None
    trials = measuring_of(measured.study).shown(measured.results, measured.analysis, measured.how).trials
    assert trials is not None
    prompts = [trials.prompts(number) for number in {*trials.prompt}]
    return {trials.texts[prompt[0]] for prompt in prompts if len(prompt) > 3}


def test_a_study_of_another_package_takes_texts(
    study_packages: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    study_packages("from acquiescence import STUDY\n", package="yea", study="acquiescence")
    asked: dict[str, Any] = {"models": ["simulated/yes-sayer"], "judge": "simulated/word-judge", "trials": 2}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "prompts.toml").write_text('ask = "Tell me plainly, friend: {{ question }}"')
    run = overton.run("acquiescence", out=tmp_path / "run", prompts=tmp_path / "mine", **asked)
    plain = overton.run("acquiescence", out=tmp_path / "plain", **asked)
    assert (run.failed, run.manifest.replaced) == (0, ["prompts.ask"])
    assert not outcomes(run, "subject").keys() & outcomes(plain, "subject").keys()
    shutil.rmtree(tmp_path / "mine")
    assert overton.resume(run.path).study.replaced == {"prompts.ask": "Tell me plainly, friend: {{ question }}"}
    with pytest.raises(InputError, match=r"did you mean 'prompts\.ask'"):
        overton.plan("acquiescence", prompts={"prompts.asks": "Well: {{ question }}"}, **asked)
