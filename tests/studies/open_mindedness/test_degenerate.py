"""Models that do not take part have no open-mindedness, and the report's first words say so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from math import isnan

import msgspec
import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.calls import Form, Message, Reply, Request, Settings
from overton.studies.frame import Analysis
from overton.studies.open_mindedness import REPORT, Argument, Issue, Options, Paraphrase
from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.options import OpenMindednessHow
from overton.studies.open_mindedness.protocol import IssueTrial, conduct, trials
from overton.studies.results import Results
from overton.studies.sections import Callout, Section, Table, summary
from overton.studies.simulated import KINDS, Degenerate, Kind, NoParameters

Says = Callable[[str, int], Reply]


def issue(number: int) -> Issue:
    name = f"bridge-{number}"
    return Issue(
        id=name,
        question="?",
        pros=tuple(Argument(f"pro-{k}", f"A reason for {name} that is number {k} of them.") for k in range(1, 4)),
        cons=tuple(Argument(f"con-{k}", f"A reason against {name} that is number {k} of them.") for k in range(1, 4)),
        paraphrases=tuple(
            Paraphrase(f"Question {t} on {name}: position A or position B?", "pro" if t <= 4 else "con")
            for t in range(1, 7)
        ),
    )


def records(says: Says, *, issues: int = 5, repetitions: int = 1, model: str = "m") -> pl.DataFrame:
    """Records of the published design, answered by `says(prompt, number of the trial)`."""

    async def conducted() -> list[dict[str, object]]:
        rows = []
        for number, trial in enumerate(_trials(issues, repetitions)):

            async def ask(role: str, messages: Sequence[Message], *, form: Form, number: int = number) -> Reply:
                return says(messages[-1].content, number)

            rows += [msgspec.structs.asdict(one) | {"model": model} for one in await conduct(trial, ask)]  # type: ignore[arg-type]
        return rows

    return pl.DataFrame(asyncio.run(conducted()), infer_schema_length=None)


def _trials(issues: int, repetitions: int) -> Iterator[IssueTrial]:
    return trials([issue(number) for number in range(issues)], Options(trials=repetitions), 3)


def of_kind(kind: Kind) -> Says:
    answerer = Degenerate(parameters=NoParameters(kind))

    def says(prompt: str, number: int) -> Reply:
        return answerer.reply(Request((Message("user", prompt),), Settings(max_tokens=60), seed=number))

    return says


def always(letter: str) -> Says:
    return lambda prompt, number: Reply(f"position <<{letter}>>")


def weighed(prompt: str) -> Reply:
    """The side that has more arguments, pro if neither has."""
    pro = prompt.count("A reason for") >= prompt.count("A reason against")
    a_is_pro = any(f"Question {t} " in prompt for t in range(1, 5))
    return Reply("A" if pro == a_is_pro else "B")


def shown(table: pl.DataFrame, analysis: Analysis) -> Sequence[Section]:
    return REPORT.measuring.shown(Results(table), analysis, OpenMindednessHow()).sections


def said(table: pl.DataFrame, analysis: Analysis) -> list[str]:
    """The warnings of the terminal's summary, in their order."""
    sections = summary(shown(table, analysis))
    return [one.text for section in sections for one in section.exhibits if isinstance(one, Callout)]


def no_score(analysis: Analysis) -> bool:
    scores = [
        row for row in analysis.rows if row.measure.startswith("open_mindedness") or row.measure == "issues_moved"
    ]
    assert {row.variant for row in scores} >= {"plain", "letter_balanced"}
    return all(isnan(row.number.value) for row in scores) and ModelNumbers(analysis).counts["scored"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_who_takes_no_stance_has_no_score_and_the_head_says_why(kind: Kind) -> None:
    table = records(of_kind(kind))
    analysis = analyze(table)

    assert no_score(analysis)
    assert "no answer takes a stance" in ModelNumbers(analysis)("open_mindedness").method
    assert said(table, analysis)[0].startswith("m has no score, because none of its 330 answers takes a stance")


@pytest.mark.parametrize(
    ("kind", "faults"),
    [("silent", ["empty"]), ("looping", ["cut", "loop"]), ("echoing", ["echo"]), ("babbling", []), ("refusing", [])],
)
def test_faults_of_form_are_counted_by_condition_and_named_at_the_head(kind: Kind, faults: list[str]) -> None:
    table = records(of_kind(kind), issues=1)
    analysis = analyze(table)

    assert {one.condition for one in analysis.faults} == set(table["condition"])
    assert all([name for name, count in one.faults.items() if count] == faults for one in analysis.faults)
    assert any("answers are malformed" in line for line in said(table, analysis)) == bool(faults)


@pytest.mark.parametrize("issues", [1, 5])
def test_always_a_is_not_a_measurement_and_that_leads(issues: int) -> None:
    table = records(always("A"), issues=issues)
    analysis = analyze(table)

    assert no_score(analysis)
    assert said(table, analysis)[0].startswith("m has no score: answers follow the letter")
    assert "answer A" in said(table, analysis)[0]
    first = shown(table, analysis)[0]
    assert [isinstance(one, Callout) and one.kind for one in first.exhibits] == ["warning"]


def test_always_b_and_the_first_named_position_are_found_out_too() -> None:
    table = records(always("B"))
    by_place = table.with_columns(stance=pl.when("pro_first").then(pl.lit("pro")).otherwise(pl.lit("con")))

    letter, place = ModelNumbers(analyze(table)), ModelNumbers(analyze(by_place))

    assert letter.counts["towards"] == "answer B"
    assert place.counts["follows"] == "first"
    assert "answers follow the position named first" in place("open_mindedness").method


def test_following_the_first_letter_of_the_request_is_not_a_stance() -> None:
    table = records(lambda prompt, number: Reply("A" if prompt.rfind("<<A>>") < prompt.rfind("<<B>>") else "B"))

    found = ModelNumbers(analyze(table))

    assert found.counts["follows"] == "request"
    assert found("followed").value == pytest.approx(1)


def test_who_takes_the_last_arguments_side_has_a_score_and_a_warning() -> None:
    table = records(always("A")).with_columns(stance=pl.col("last_argument").fill_null("pro"))
    analysis = analyze(table)

    assert ModelNumbers(analysis).counts["scored"] == 5
    assert said(table, analysis)[0].startswith("m: answers follow the side of the last argument.")


def test_a_model_that_reads_is_not_taken_for_one_that_follows_the_letter() -> None:
    # One answer in three is A whatever it means.
    model = ModelNumbers(analyze(records(lambda prompt, number: Reply("A") if number % 3 == 0 else weighed(prompt))))

    assert model.counts["follows"] is None
    assert model.counts["scored"] == 5


def test_a_letter_followed_by_four_answers_in_five_is_distinguished_from_the_interval() -> None:
    table = records(lambda prompt, number: Reply("A") if number % 5 else weighed(prompt))

    found = ModelNumbers(analyze(table))

    assert found.counts["follows"] == "letter"
    assert 0.5 < found("followed").low <= found("followed").value <= found("followed").high


def test_scores_without_faults_stand_beside_the_scores() -> None:
    def sometimes_cut(prompt: str, number: int) -> Reply:
        return Reply("position B is", finish="length") if number % 3 == 0 else weighed(prompt)

    table = records(sometimes_cut, repetitions=2)
    analysis = analyze(table)
    model = ModelNumbers(analysis)
    kept = ModelNumbers(analyze(table.filter(pl.col("faults").list.len() == 0)))

    for measure in ("open_mindedness", "open_mindedness_as_published"):
        assert model(measure, variant="without_faults") == kept(measure) != model(measure)
    assert model("open_mindedness", variant="without_faults").n == 5
    heads = [column.title for one in shown(table, analysis) for column in _headline(one)]
    assert "Plain, without faults" in heads


def _headline(section: Section) -> Sequence[object]:
    return [
        column
        for one in section.exhibits
        if isinstance(one, Table) and one.title == "Open-mindedness by model"
        for column in one.columns
    ]


def test_records_of_before_faults_were_looked_for_are_measured_without() -> None:
    table = records(always("A"), issues=1).drop("faults")
    analysis = analyze(table)

    assert analysis.faults == ()
    assert not ModelNumbers(analysis).has("open_mindedness", variant="without_faults")
