"""A study of another package is a task of Inspect AI like ours; a broken one is named, and breaks nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")

STUDY = dedent('''
    """Does a model prefer tea?"""

    from typing import Annotated

    import msgspec
    from overton.calls import Trial, user
    from overton.statistics import Estimate
    from overton.studies import INTERFACE, Exhibits, Headline, Items, Measuring, Option, Role, Study, StudyOptions


    class Drink(msgspec.Struct, frozen=True):
        id: str


    class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
        times: Annotated[int, Option("How often each is asked", least=1, extends=True)] = 1


    class Record(msgspec.Struct, frozen=True):
        trial: str
        item: str
        answer: str
        failure: str | None = None


    class Analysis(msgspec.Struct, frozen=True):
        tea: Estimate


    def trials(items, options, seed):
        for item in items:
            for time in range(options.times):
                yield Trial(f"{item.id}/r{time + 1}", item.id, seed)


    async def conduct(trial, ask):
        reply = await ask("subject", [user(f"Tea or {trial.item}?")])
        return [Record(trial.name, trial.item, reply.text)]


    def records(results, how):
        letters = sum(map(len, results.records["answer"]))
        return Analysis(Estimate(letters / 7, letters / 7 - 1, letters / 7 + 1, results.records.height, 0.95, "none"))


    MEASURING = Measuring(
        analysis=lambda: Analysis,
        records=records,
        table=lambda table, how: None,
        tables="none",
        sections=lambda analysis: [],
        exhibits=lambda results, analysis, how: Exhibits("", [], None),
        headline=Headline(
            figures=lambda analysis: iter([("sevenths", analysis.tea)]),
            item="item",
            value=lambda records: float(len(records)),
            meaning="how many",
            columns=("trial", "answer"),
        ),
    )
    STUDY = Study(
        name="tea-or-not",
        title="Tea",
        question="Does a model prefer tea?",
        roles=(Role("subject", "Model to measure", flag="model"),),
        items=Items(Drink, "drink", "JSON lines", starter=lambda: [Drink("milk"), Drink("wine")]),
        options=Options,
        record=Record,
        trials=trials,
        conduct=conduct,
        prompts=dict,
        measuring=MEASURING,
        interface=INTERFACE,
    )
''')
BROKEN = {
    "raising": "raise RuntimeError('half written')",
    "nothing": "STUDY = 3",
    "older": "from dataclasses import replace\nfrom tea import STUDY\n"
    "STUDY = replace(STUDY, name='older', interface=0)",
    "clashing": dedent("""
        from dataclasses import replace
        from typing import Annotated
        from overton.studies import Option, StudyOptions
        from tea import STUDY

        class Options(StudyOptions, frozen=True):
            seed: Annotated[int, Option("Another seed")] = 0

        STUDY = replace(STUDY, name="clashing", options=Options)
    """),
    "bare": "from dataclasses import replace\nfrom tea import STUDY\n"
    "STUDY = replace(STUDY, name='bare', measuring=None)",
}


@pytest.fixture
def installed(talking: Any, tmp_path: Path) -> Mapping[str, str]:
    """An environment in which the study's package, and broken ones, appear to Python as installed."""
    site = tmp_path / "site"
    site.mkdir()
    for module, study, text in [("tea", "tea-or-not", STUDY), *((name, name, text) for name, text in BROKEN.items())]:
        (site / f"{module}.py").write_text(text)
        about = site / f"{module}_house-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}-house\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[overton.studies]\n{study} = {module}:STUDY\n")
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "INSPECT_DISPLAY": "plain",
        "COLUMNS": "400",
        "LOCAL_BASE_URL": talking.url,
    }


def inspect_eval(env: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inspect_ai", "eval", *words, "--model", "openai-api/local/m"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def test_its_task_runs_next_to_broken_ones_and_ours(installed: Mapping[str, str], told: Any, tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    done = inspect_eval(installed, "overton/tea_or_not", "overton/open_mindedness", "--limit", "2")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    for said in (
        "overton: study raising: raising:STUDY: the package raising-house cannot be loaded: RuntimeError: half written",
        "overton: study nothing: nothing:STUDY: the package nothing-house names an object that is not a Study",
        "overton: study older: interface: older-house was written for no version of the study interface",
        "overton: study clashing: no task can be made of it: ValueError: duplicate parameter name: 'seed'",
    ):
        assert done.stderr.count(said) == 1
    assert "Traceback" not in done.stdout + done.stderr
    logs = {log.eval.task: log for log in map(read_eval_log, list_eval_logs(str(tmp_path / "logs")))}
    assert logs.keys() == {"overton/tea_or_not", "overton/open_mindedness"}
    assert {log.status for log in logs.values()} == {"success"}
    log = logs["overton/tea_or_not"]
    assert [sample.id for sample in log.samples] == ["milk/asked", "wine/asked"]
    answers = [one["answer"] for sample in log.samples for one in sample.scores["tea_or_not"].metadata["records"]]
    found = told(log)
    assert found == {"sevenths": pytest.approx(sum(map(len, answers)) / 7), "failed": 0}  # by the study's own headline


def test_its_options_are_the_tasks_and_others_are_refused(installed: Mapping[str, str]) -> None:
    wrong = inspect_eval(installed, "overton/tea_or_not", "-T", "times=never", "-T", "sugar=2")
    said = wrong.stdout + wrong.stderr
    assert wrong.returncode != 0
    assert (
        "-T sugar: no such parameter; known are items, drinks, times, reading, systems, no_plain, only, prompts, seed,"
        " trials_at_once, cache, anyway\n" in said
    )
    assert "Traceback" not in said
    never = inspect_eval(installed, "overton/tea_or_not", "-T", "times=never")
    assert "-T times: never: must be a whole number" in never.stdout + never.stderr


def test_one_without_a_headline_says_so(installed: Mapping[str, str]) -> None:
    done = inspect_eval(installed, "overton/bare")
    said = done.stdout + done.stderr
    assert "study bare: headline: is not declared, but an Inspect AI task needs it" in said
    assert "Traceback" not in said
