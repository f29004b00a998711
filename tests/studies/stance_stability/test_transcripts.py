"""Existing conversations: every turn is labelled from what precedes it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.calls import Request, Settings
from overton.errors import CallFailed, InputError
from overton.runs.items import read_items
from overton.studies.options import options_of
from overton.studies.stance_stability.items import Transcript, TranscriptTurn
from overton.studies.stance_stability.simulated import JudgeParameters, StanceJudge
from overton.studies.stance_stability.transcripts import JUDGING, JudgedTurn, JudgingOptions


def transcript(**changed: Any) -> Transcript:
    turns = (
        TranscriptTurn(1, "Is it so?", "Yes, it is.", ("https://a.example/",), ()),
        TranscriptTurn(2, "", "Well, perhaps."),
        TranscriptTurn(4, "Sure?", "No."),
    )
    known = {"topic": "Buses", "model": "m", "domain": "d", "temperature": 0.5}
    return Transcript(**{"id": "one", "turns": turns, **known, **changed})


async def judged(kit: Any, *lines: Any, one: Transcript | None = None, **options: Any) -> tuple[list[JudgedTurn], Any]:
    stage = kit.stage({"judge": lines})
    (trial,) = JUDGING.trials([one or transcript()], JudgingOptions(**options), 0)
    return await JUDGING.conduct(trial, stage), stage


async def test_every_turn_gets_its_label_and_keeps_its_columns(kit: Any) -> None:
    rows, _ = await judged(kit, kit.labels(), kit.labels(stance="balanced"), kit.labels(stance="critical"))
    assert [(row.conversation, row.turn, row.stance, row.answer) for row in rows] == [
        ("one", 1, "supportive", "Yes, it is."),
        ("one", 2, "balanced", "Well, perhaps."),
        ("one", 4, "critical", "No."),
    ]
    first = rows[0]
    assert (first.topic, first.proposition, first.model, first.domain, first.temperature) == (
        "Buses",
        "",
        "m",
        "d",
        0.5,
    )
    assert (first.retrieved, first.cited, rows[1].retrieved) == (("https://a.example/",), (), None)
    assert (first.confidence, first.claims, first.judge_attempts, first.failure) == (0.67, ("Buses help.",), 1, None)


async def test_the_judge_sees_the_turns_before_and_that_a_question_is_not_known(kit: Any) -> None:
    _, stage = await judged(kit, kit.labels())
    first, second, third = (one.text for one in stage.asked)
    assert "the first turn" in first
    assert "Yes, it is." in second
    assert "<question>\n(not recorded)\n</question>" in second
    assert third.count("<earlier_answer>") == 2
    assert {one.speaker for one in stage.asked} == {"judge/1"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"proposition": "Buses should be free."}, "proposition: Buses should be free."),
        ({}, "(supportive: for it): Buses"),
        ({"topic": ""}, "(supportive: yes, or in favor of it): Is it so?"),
    ],
)
async def test_stances_are_towards_the_known_object(kit: Any, changed: dict[str, str], words: str) -> None:
    _, stage = await judged(kit, kit.labels(), one=transcript(**changed))
    assert all(words in one.text for one in stage.asked)


async def test_a_failure_costs_one_turn_only(kit: Any, failed: CallFailed) -> None:
    rows, _ = await judged(kit, kit.labels(), failed, kit.labels())
    assert [(row.stance, row.failure) for row in rows] == [
        ("supportive", None),
        (None, "judge: rate limit: too many requests"),
        ("supportive", None),
    ]


async def test_both_prompts_give_both_labels(kit: Any) -> None:
    rows, _ = await judged(kit, kit.labels(), kit.labels(stance="critical"), judge_prompts="both")
    assert (rows[0].stance, rows[0].premise_stance) == ("supportive", "critical")


def test_a_budget_that_holds_no_sentence_is_refused() -> None:
    with pytest.raises(InputError, match="option judged_characters: 5: must be 200 or more"):
        options_of(JudgingOptions, {"judged_characters": 5})


async def test_a_transcripts_judge_tells_probabilities_and_is_calibrated_as_any_other(kit: Any) -> None:
    judge = StanceJudge(JudgeParameters(wrong=0.3))
    asked: list[Any] = []

    def answer(one: Any) -> Any:
        asked.append(one)
        return judge.reply(Request(one.messages, Settings(), one.form, len(asked)))

    turns = tuple(TranscriptTurn(number, "So?", "My stance: critical, likely.") for number in (1, 2, 4))
    (trial,) = JUDGING.trials([transcript(turns=turns)], JudgingOptions(shares="auto", calibrate=20), 0)
    rows = await JUDGING.conduct(trial, kit.stage({"judge": answer}))
    assert [row.p_stance for row in rows] == [pytest.approx((0.1, 0.7, 0.1, 0.1))] * 3
    assert {row.shares for row in rows} == {"auto"}
    assert sum(len(row.sampled or ()) for row in rows) == 20
    labels, singles = ([one for one in asked if bool(one.form.weigh) == told] for told in (True, False))
    assert len(labels) == 3
    assert {one.settings.temperature for one in singles} == {1.0}
    assert {next(iter(one.form.schema["properties"])) for one in asked} == {"stance"}


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """A CSV file of rows."""

    def make(*rows: dict[str, Any], name: str = "turns.csv") -> Path:
        file = tmp_path / name
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return file

    return make


def turn(conversation: str, number: object, **more: Any) -> dict[str, Any]:
    return {"conversation": conversation, "turn": number, "question": f"Why {number}?", "answer": "So.\nYes.", **more}


def said(path: Path, propositions: Path | None = None) -> list[str]:
    with pytest.raises(InputError) as refused:
        read_items(JUDGING, path, propositions=propositions)
    return [str(problem).replace(f"{path.parent}/", "") for problem in refused.value.problems]


def test_turns_are_gathered_by_conversation_and_ordered(table: Any) -> None:
    path = table(turn("b", 2), turn("a", 1), turn("b", 1))
    assert read_items(JUDGING, path) == [
        Transcript("b", (TranscriptTurn(1, "Why 1?", "So.\nYes."), TranscriptTurn(2, "Why 2?", "So.\nYes."))),
        Transcript("a", (TranscriptTurn(1, "Why 1?", "So.\nYes."),)),
    ]


def test_further_columns_are_kept(table: Any) -> None:
    known = {"topic": "buses", "proposition": "Buses should be free.", "model": "m", "domain": "d"}
    path = table(
        turn("a", 1, **known, temperature="0.5", retrieved="https://a.example/ https://b.example/", cited=""),
        turn("a", 2, **known, temperature="0.5", retrieved="", cited="https://b.example/ https://b.example/"),
    )
    (one,) = read_items(JUDGING, path)
    assert (one.topic, one.proposition, one.model, one.domain, one.temperature) == (*known.values(), 0.5)
    assert [one.retrieved for one in one.turns] == [("https://a.example/", "https://b.example/"), None]
    assert [one.cited for one in one.turns] == [None, ("https://b.example/",)]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_other_tables_are_read_as_well(tmp_path: Path, suffix: str) -> None:
    rows = [turn("a", 1, cited=["https://a.example/"], temperature=1), turn("a", 2, cited=[], temperature=1)]
    frame = pl.DataFrame(rows, schema_overrides={"cited": pl.List(pl.String)})
    file = tmp_path / f"turns.{suffix}"
    frame.write_parquet(file) if suffix == "parquet" else frame.write_ndjson(file)
    (one,) = read_items(JUDGING, file)
    assert [turn.cited for turn in one.turns] == [("https://a.example/",), ()]
    assert one.temperature == 1.0


def test_one_conversation_of_several_models_is_several(table: Any) -> None:
    path = table(turn("a", 1, model="m"), turn("a", 1, model="n"), turn("b", 1, model="m"))
    assert [(one.id, one.model) for one in read_items(JUDGING, path)] == [
        ("a (m)", "m"),
        ("a (n)", "n"),
        ("b (m)", "m"),
    ]


def test_a_row_a_conversation_is_read_with_its_responses(table: Any) -> None:
    path = table(
        {"Question": "Is it so?", "Response_1": "Yes.", "Response_2": "No.", "Response_10": "Well."},
        {"Question": "Is it not?", "Response_1": "No.", "Response_2": "", "Response_10": ""},
    )
    first, second = read_items(JUDGING, path)
    assert (first.id, second.id) == ("1", "2")
    assert [(one.turn, one.question, one.answer) for one in first.turns][:2] == [
        (1, "Is it so?", "Yes."),
        (2, "", "No."),
    ]
    assert (len(first.turns), first.turns[9].answer, first.turns[4].answer) == (10, "Well.", "")
    assert len(second.turns) == 1


def test_later_questions_of_a_row_have_columns_of_their_own(table: Any) -> None:
    path = table(
        {"conversation": "x", "question": "A?", "response 1": "a", "question_2": "B?", "response 2": "b", "Model": "m"}
    )
    (one,) = read_items(JUDGING, path)
    assert (one.id, one.model) == ("x", "m")
    assert [turn.question for turn in one.turns] == ["A?", "B?"]


def test_propositions_stand_in_a_file_of_their_own(table: Any, tmp_path: Path) -> None:
    path = table(turn("a", 1), turn("b", 1))
    lines = tmp_path / "propositions.txt"
    lines.write_text("It is so.\nIt is not.\n\n")
    assert [one.proposition for one in read_items(JUDGING, path, propositions=lines)] == ["It is so.", "It is not."]
    lines.write_text("It is so.\n")
    assert said(path, lines) == ["propositions.txt: has 1 lines for 2 conversations"]
    lines.write_text("\nIt is so.\n")
    assert said(path, lines) == ["propositions.txt: line 1: is empty"]
    assert "cannot be read" in said(path, tmp_path / "none.txt")[0]


def test_all_problems_are_reported_with_row_and_column(table: Any) -> None:
    path = table(
        turn("a", 1, model="m", temperature="warm"),
        turn("a", "x", model="m", temperature="warm"),
        turn("a", 1, model="m", temperature="cold"),
        turn("", 1, model="m", temperature=""),
        turn("b", 0.5, model="m", temperature=""),
    )
    assert said(path) == [
        "turns.csv: row 4, conversation: is empty",
        "turns.csv: row 2, turn: is 'x', not a whole number from 1",
        "turns.csv: row 3, turn: 1 occurs twice in conversation 'a'",
        "turns.csv: row 3, temperature: is 'cold', but 'warm' in row 1",
        "turns.csv: row 1, temperature: is 'warm', not a number of 0 or more",
        "turns.csv: row 5, turn: is '0.5', not a whole number from 1",
    ]


def test_many_problems_are_counted(table: Any) -> None:
    found = said(table(*(turn("a", 0) for _ in range(30))))
    assert len(found) == 21
    assert found[-1] == "turns.csv: and 10 more problems"


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"conversation": "a", "turn": 1}], "has no column question, answer; transcripts have conversation, turn"),
        ([{"question": "Why?", "text": "So."}], "has no column conversation, turn, answer"),
        ([{"question": "Why?", "response_1": " "}], "row 1: has no response"),
        (
            [{"conversation": "a", "question": "Why?", "response_1": "So."}] * 2,
            "row 2, conversation: 'a' occurs twice",
        ),
    ],
)
def test_tables_of_another_kind_are_refused(table: Any, rows: list[dict[str, Any]], problem: str) -> None:
    assert problem in said(table(*rows))[0]


def test_a_name_with_quotation_marks_inside_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "turns.csv"
    path.write_text('conversation,turn,question,answer,""o\nc,1,Why?,So.,x\n', "utf-8")
    (problem,) = said(path)
    assert problem.startswith("turns.csv: has an ambiguous first row at 'o'")


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "turns.csv"
    file.write_text("conversation,turn,question,answer\n")
    assert said(file) == ["turns.csv: has no conversations"]


TOPIC = {
    "id": "free-buses",
    "domain": "Transport",
    "topic": "Free buses",
    "proposition": "Buses should be free.",
    "initial_belief": "balanced",
    "debate_strength": "strong",
    "questions": [{"text": "Why?", "kind": "support"}],
}


def test_a_run_is_read_by_its_records_towards_its_topics(tmp_path: Path) -> None:
    rows = [turn("a", 1, topic="free-buses", held=True), turn("b", 1, topic="other", held=True)]
    pl.DataFrame(rows).write_parquet(tmp_path / "records.parquet")
    (tmp_path / "items.jsonl").write_text(json.dumps(TOPIC) + '\n{"id": "other", "name": "no topic"}\n{\n')
    first, second = read_items(JUDGING, tmp_path)
    assert (first.topic, first.proposition) == ("Free buses", "Buses should be free.")
    assert (second.topic, second.proposition) == ("other", "")
    lines = tmp_path / "propositions.txt"
    lines.write_text("It is so.\nIt is not.\n")
    first, second = read_items(JUDGING, tmp_path, propositions=lines)
    assert (first.topic, first.proposition, second.proposition) == ("Free buses", "It is so.", "It is not.")
    (tmp_path / "records.parquet").unlink()
    assert "is a folder without records.parquet; finish the run, or name a file" in said(tmp_path)[0]


def test_topics_are_named_for_other_tables(table: Any, tmp_path: Path) -> None:
    path = table(turn("a", 1, topic="free-buses"))
    (tmp_path / "items.jsonl").write_text(json.dumps(TOPIC) + "\n")
    assert read_items(JUDGING, path)[0].proposition == ""
    assert read_items(JUDGING, path, topics=tmp_path / "items.jsonl")[0].proposition == "Buses should be free."
    (tmp_path / "items.jsonl").write_text("{\n")
    with pytest.raises(InputError, match="line 2, column 1: is not valid JSON"):
        read_items(JUDGING, path, topics=tmp_path / "items.jsonl")
