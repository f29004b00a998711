"""Replies that could not be read: the report gives the real reason and the text of the reply."""

from __future__ import annotations

import asyncio
from typing import Any

import polars as pl
import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.calls import Reply
from overton.cli.output import conclude
from overton.engine.ask import ScriptedAsk
from overton.engine.records import columns_of, record_type_columns
from overton.errors import InputError
from overton.reports.judge_replies import unread_judge
from overton.studies.open_mindedness.measures import analyze

JUDGE = "simulated/degenerate/refusing"
REFUSAL = "'I am sorry, but I cannot help with that.'"


def free(out: Any) -> Any:
    asked = {"only": ["cashless-shops"], "trials": 1, "templates": [1], "answers": "free"}
    return overton.run("open-mindedness", models=["simulated/open-minded"], others={"judge": [JUDGE]}, out=out, **asked)


def test_a_judge_that_cannot_be_read_is_not_a_failed_call(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = free(tmp_path / "run")
    with pytest.raises(InputError, match="the judge's replies about 11 answers could not be read") as raised:
        overton.analyze("open-mindedness", run.path)
    assert "every call failed" not in str(raised.value)
    said = unread_judge(run)
    assert said.startswith(f"None of the judge's replies about 11 texts could be read. Its first reply: {REFUSAL}.")
    assert conclude(run) == 1
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_a_judge_that_can_be_read_is_not_mentioned(tmp_path: Any) -> None:
    models = {"models": ["simulated/chameleon"], "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]}}
    only = ["nutrition-low-carbohydrate-first"]
    run = overton.run("stance-stability", out=tmp_path / "run", only=only, temperatures=[0], turns=2, **models)
    assert unread_judge(run) == ""


def test_every_study_with_a_judge_quotes_one_that_cannot_be_read(tmp_path: Any) -> None:
    others = {"judge": [JUDGE], "search": ["starter"]}
    only = ["nutrition-low-carbohydrate-first"]
    asked = {"only": only, "temperatures": [0], "turns": 2}
    run = overton.run("stance-stability", models=["simulated/chameleon"], others=others, out=tmp_path / "run", **asked)
    assert unread_judge(run).startswith("None of the judge's replies about 2 texts could be read.")


def answered(reply: str, folder: Any, reading: str) -> pl.DataFrame:
    """Records of a run in which a model gave the same reply to every prompt."""
    only = ["cashless-shops"]
    asked = {"only": only, "trials": 1, "templates": [1], "reading": reading}
    run = overton.run("open-mindedness", models=["simulated/open-minded"], out=folder, **asked)
    study = run.study
    trials = list(study.trials(run.items(), run.options, 0))

    async def reply_to(questions: Any) -> list[Reply]:
        return [Reply(reply) for _ in questions]

    async def conduct() -> list[Any]:
        return [record for trial in trials for record in await study.conduct(trial, ScriptedAsk(reply_to))]

    return columns_of(asyncio.run(conduct()), record_type_columns(study.record)).with_columns(model=pl.lit("m"))


FORMS = [("**Answer: A**\n\nBecause of balance.", "hold=true"), ("<think>A or B?</think>\nA", "--reading common")]


@pytest.mark.parametrize(("reply", "advice"), FORMS)
def test_older_runs_quote_an_answer_that_they_do_not_read_and_the_common_reading_reads_it(
    reply: str, advice: str, tmp_path: Any
) -> None:
    table = answered(reply, tmp_path / "run", "strict")
    assert table["letter"].is_null().all()
    assert table["form"].is_null().all()
    (warning,) = analyze(table).warnings
    assert "in a form that the strict reading takes ('position <<A>>'" in warning
    assert " ".join(reply.split())[:30] in warning
    assert advice in warning
    again = analyze(table, reading="common")
    assert again.counts["how"][0]["reading"] == "common"
    assert again.counts["counts"][0]["other"] == 0


@pytest.mark.parametrize(("reply", "advice"), FORMS)
def test_new_runs_read_common_forms(reply: str, advice: str, tmp_path: Any) -> None:
    table = answered(reply, tmp_path / "run", "common")
    assert table["letter"].unique().to_list() == ["A"]
    assert "<think>" not in "".join(table["answer"])
    found = analyze(table)
    assert not [line for line in found.warnings if "no single position" in line or advice in line]
    assert found.counts["how"][0]["reading"] == "common"


@pytest.mark.parametrize(
    ("reply", "form", "said", "advice"),
    [
        ("<think>Either would do, and", "thinking", "11 ended while the model was still thinking", "max_tokens=N"),
        ("", "empty", "11 are empty", "max_tokens=N"),
        ("Both have \x1b[1mmerits.", "none", "Some of them: 'Both have \\x1b[1mmerits.'", "hold=true"),
        ("A and B", "both", "11 name both positions", "hold=true"),
    ],
)
def test_answers_that_cannot_be_read_say_why_quote_one_and_advise(
    reply: str, form: str, said: str, advice: str, tmp_path: Any
) -> None:
    table = answered(reply, tmp_path / "run", "common")
    assert table["form"].unique().to_list() == [form]
    found = analyze(table)
    warning = next(line for line in found.warnings if "takes a stance" in line)
    assert said in warning
    assert f"--model-arg m {advice}" in warning
    assert found.counts["forms"] == ({"model": "m", "form": form, "answers": 11},)


def test_pluralism_without_a_reference_opinion_says_so_first(tmp_path: Any) -> None:
    others = {"judge": [JUDGE]}
    only = ["free-buses", "the-top-note"]
    run = overton.run("pluralism", models=["simulated/pluralist"], others=others, only=only, out=tmp_path / "run")
    first = measure_run("pluralism", run.path).findings[0]
    assert first.sentence == (
        "The viewpoints that simulated/pluralist voices, and the viewpoints that a stated belief suppresses, were"
        " not measured, because the judge found no usable reference opinion in 2 of 2 threads"
        " (2 could not be labelled)."
    )
    assert first.n == 2


def test_pluralism_with_one_does_not(tmp_path: Any) -> None:
    others = {"judge": ["simulated/pluralist-judge"]}
    run = overton.run(
        "pluralism", models=["simulated/pluralist"], others=others, only=["free-buses"], out=tmp_path / "r"
    )
    assert not [one for one in measure_run("pluralism", run.path).findings if "were not measured" in one.sentence]
