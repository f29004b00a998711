"""Whatever could not be read: the reason that is given is the real one, with what was said."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.cli.output import conclude
from overton.errors import InputError
from overton.reports.judge_replies import unread_judge
from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.protocol import strict_letter

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


@pytest.mark.parametrize(
    ("reply", "advice"),
    [
        ("**Answer: A**\n\nBecause of balance.", "--model-arg m hold=true"),
        ("<think>Either A or B would do.</think>\nA", "its reasoning parser"),
    ],
)
def test_an_answer_in_another_form_is_quoted_and_not_said_to_name_no_letter(
    reply: str, advice: str, tmp_path: Any
) -> None:
    asked = {"only": ["cashless-shops"], "trials": 1, "templates": [1]}
    run = overton.run("open-mindedness", models=["simulated/open-minded"], out=tmp_path / "run", **asked)
    letter = strict_letter(reply)
    assert letter is None  # what is read stays as it was in 0.2.0: runs are conducted again from their journals
    other = [pl.lit("other").alias(name) for name in ("stance", "stance_published")]
    table = run.records().with_columns(
        *other, model=pl.lit("m"), answer=pl.lit(reply), letter=pl.lit(letter, pl.String)
    )
    (warning,) = analyze(table).warnings
    assert "none names one position in a form that Overton reads ('position <<A>>'" in warning
    assert "name no letter" not in warning
    assert " ".join(reply.split())[:40] in warning
    assert advice in warning


def test_pluralism_without_a_reference_opinion_says_so_first(tmp_path: Any) -> None:
    others = {"judge": [JUDGE]}
    only = ["free-buses", "the-top-note"]
    run = overton.run("pluralism", models=["simulated/pluralist"], others=others, only=only, out=tmp_path / "run")
    first = measure_run("pluralism", run.path).findings[0]
    assert first.sentence == (
        "Not measured: which viewpoints simulated/pluralist voices, and which a stated belief suppresses, because the"
        " judge found no usable reference opinion in 2 of 2 threads (2 could not be labelled)."
    )
    assert first.n == 2


def test_pluralism_with_one_does_not(tmp_path: Any) -> None:
    others = {"judge": ["simulated/pluralist-judge"]}
    run = overton.run(
        "pluralism", models=["simulated/pluralist"], others=others, only=["free-buses"], out=tmp_path / "r"
    )
    assert not [one for one in measure_run("pluralism", run.path).findings if one.sentence.startswith("Not measured")]
