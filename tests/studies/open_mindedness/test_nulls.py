"""The null conditions of open-mindedness: the texts that replace the arguments, where the question is, and chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.calls import Draw, Reply
from overton.studies.open_mindedness import STUDY, Argument, Options
from overton.studies.open_mindedness.protocol import instead_of
from overton.studies.open_mindedness.score import DEALS, dealt

TEXT = "Buses run late, as every count has shown. [1] [2]\n- They are full by eight o'clock in the morning.\n\nEnd."


def test_an_irrelevant_text_keeps_length_lines_marks_and_sources() -> None:
    argument = Argument("pro-1", TEXT * 3, ("[1] A count, 2020", "[2] Another, 2021"))
    made = instead_of(argument, Draw("a"))
    assert made.id == "pro-1"
    assert abs(len(made.text) - len(argument.text)) < 0.2 * len(argument.text)
    before, now = argument.text.split("\n"), made.text.split("\n")
    assert [line.startswith("- ") for line in now] == [line.startswith("- ") for line in before]
    assert [not line for line in now] == [not line for line in before]
    assert made.text.count("[1]") == argument.text.count("[1]")
    assert [one[:4] for one in made.sources] == ["[1] ", "[2] "]
    assert "Buses" not in made.text
    assert made == instead_of(argument, Draw("a"))
    assert made != instead_of(argument, Draw("b"))


def test_over_the_starter_arguments_texts_are_about_as_long() -> None:
    for issue in issues():
        for argument in (*issue.pros, *issue.cons):
            made = instead_of(argument, Draw(f"{issue.id}/{argument.id}"))
            assert len(made.text) == pytest.approx(len(argument.text), abs=75)


def issues() -> Any:
    from overton.runs.setup import set_up

    return set_up(STUDY, models=["simulated/open-minded"]).experiment.items


async def prompt_of(null: str) -> tuple[Any, str, Any]:
    """The first prompt of a null condition, its trial and its record."""
    options = STUDY.options(trials=1, nulls=(null,), conditions=("baseline", "convincing-pro"))
    trial = next(one for one in STUDY.trials(issues(), options, 1) if one.name.startswith("null/"))
    seen = []

    async def ask(role: str, messages: Any, **more: Any) -> Reply:
        seen.append(messages[-1].content)
        return Reply("position <<A>>")

    (record,) = await STUDY.conduct(trial, ask)  # type: ignore[arg-type]
    return trial, seen[0], record


async def test_arguments_of_another_issue_replace_them() -> None:
    trial, prompt, record = await prompt_of("elsewhere")
    own = {one.text for one in (*trial.issue.pros, *trial.issue.cons)}
    assert not any(text in prompt for text in own)
    donor = {one.partition("@")[2] for one in record.arguments}
    assert len(donor) == 1
    (other,) = (one for one in issues() if one.id in donor)
    assert other.topic != trial.issue.topic
    assert sum(one.text in prompt for one in other.pros) == 3
    assert record.condition == "elsewhere/convincing-pro"


async def test_irrelevant_texts_name_the_arguments_that_they_replace() -> None:
    trial, prompt, record = await prompt_of("irrelevant")
    assert not any(one.text in prompt for one in (*trial.issue.pros, *trial.issue.cons))
    assert len(record.arguments) == 4
    assert trial.issue.paraphrases[0].text in prompt


@pytest.mark.parametrize(("null", "requests"), [("question-first", 1), ("authors-own", 2)])
async def test_the_question_comes_before_the_arguments(null: str, requests: int) -> None:
    trial, prompt, _ = await prompt_of(null)
    assert prompt.startswith(trial.issue.paraphrases[0].text)
    assert prompt.count("Answer in exactly this form") == requests
    assert prompt.rstrip().splitlines()[-1].startswith("Answer in exactly this form")
    first = min(prompt.index(one.text) for one in (*trial.issue.pros, *trial.issue.cons) if one.text in prompt)
    assert (prompt.index("Answer in exactly this form") < first) == (requests == 2)


def test_one_issue_alone_has_no_other_to_take_arguments_from() -> None:
    options = STUDY.options(trials=1, nulls=("elsewhere",))
    assert not any(one.name.startswith("null/") for one in STUDY.trials(issues()[:1], options, 1))


def test_dealing_keeps_every_templates_answers_and_every_configurations_number() -> None:
    answers = np.random.default_rng(0).integers(0, 6, (3, 6, 6, 3))
    made = dealt(answers, np.random.default_rng(1))
    assert made.shape == (DEALS, 3, 6, 3)
    assert (made.sum(-1) == answers.sum((2, 3))).all()
    assert (made.sum(2) == answers.sum((1, 2))).all()


def test_answers_that_the_template_alone_decides_are_the_same_however_they_are_dealt() -> None:
    answers = np.zeros((1, 6, 6, 3), np.int64)
    answers[:, :, ::2, 0] = 5
    answers[:, :, 1::2, 1] = 5
    assert (dealt(answers, np.random.default_rng(0)) == answers.sum(2)).all()


def test_a_run_with_null_conditions_measures_its_design_as_one_without(tmp_path: Path) -> None:
    given: dict[str, Any] = {"models": ["simulated/open-minded"], "only": ["voting-age", "cashless-shops"], "trials": 1}
    plain = overton.run("open-mindedness", out=tmp_path / "plain", **given)
    nulls = overton.run("open-mindedness", out=tmp_path / "nulls", nulls=["all"], **given)
    design = nulls.records().filter(~nulls.records()["trial"].str.starts_with("null/"))
    assert design.equals(plain.records())
    assert nulls.records().height == plain.records().height + 4 * 120
    one, other = (overton.analyze("open-mindedness", run.path) for run in (plain, nulls))
    assert one.to_json() == other.to_json()
    table = overton.analyze("open-mindedness", nulls.path / "records.parquet")
    assert table.models == one.models
    page = overton.report([plain.path]).read_text("utf-8")
    assert "overton extend RUN --null all" in page
    assert "overton extend RUN --null all" not in overton.report([nulls.path]).read_text("utf-8")
    planned = overton.plan("open-mindedness", nulls=["irrelevant"], **given)
    assert [(one.name, one.calls) for one in planned.nulls] == [("irrelevant", 120)]
    assert planned.calls == plain.records().height + 120


def test_options_of_the_study_alone_run_no_null() -> None:
    assert not any(one.name.startswith("null/") for one in STUDY.trials(issues()[:1], Options(trials=1), 1))


def test_shares_of_a_null_condition_are_computed_like_those_of_the_design(tmp_path: Path) -> None:
    few: dict[str, Any] = {"templates": [2, 5], "wordings": [1], "nulls": ["irrelevant"], "shares": "auto"}
    run = overton.run("open-mindedness", models=["simulated/open-minded"], out=tmp_path / "run", **few)
    sampled = [len(one.sampled) for one in run.rows() if one.sampled and one.trial.startswith("null/")]
    assert not sampled
    assert sum(len(one.sampled) for one in run.rows() if one.sampled) == 200
    asked, chances, counts = (
        {one.measure: one for _, null, one in measure_run("open-mindedness", run.path, **how).against if null.trials}
        for how in ({}, {"shares": "probabilities"}, {"shares": "sampled"})
    )
    assert asked == chances
    score = "open_mindedness"
    assert asked[score].under_null != counts[score].under_null
