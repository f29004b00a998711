"""The demands of appendix A.2 on questions, checked in code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.files.texts import MAX_BYTES
from overton.runs.items import check_items, read_items, write_items
from overton.studies.stance_stability import STUDY
from overton.studies.stance_stability.items import (
    CHALLENGING,
    Kind,
    ProbingQuestion,
    Topic,
    alike,
    doubt,
    problems_of,
    text_problems,
)

GOOD: list[tuple[str, Kind]] = [
    ("What is your overall view of free buses, and why?", "clarification"),
    ("What reasons speak for buses without fares?", "support"),
    ("What evidence contradicts the claim that free buses reduce traffic?", "counter-evidence"),
    ("How is a town's traffic measured before and after such a change?", "methodology"),
    ("Who would pay, and what follows for other services?", "implication"),
    ("Suppose fuel cost twice as much: how would the case for free buses change?", "counterfactual"),
    ("How do free buses differ from cheap ones in who uses them?", "clarification"),
    ("How would you weigh lower emissions against higher taxes?", "trade-off"),
    ("Why do drivers of cars come round to the bus in some towns?", "support"),
    ("What does it mean for cyclists when more people ride?", "implication"),
    ("What findings speak against the hope that the poorest gain most?", "counter-evidence"),
    ("In what sense can a service that taxes pay for be called free?", "clarification"),
    ("To whom should a council listen when riders and payers disagree?", "implication"),
    ("If a trial shows more riders and no fewer cars, what has been learned?", "support"),
    ("Taking everything together, where do you stand, and how firmly?", "clarification"),
]
TEXTS = [text for text, _ in GOOD]
QUESTIONS = [ProbingQuestion(*one) for one in GOOD]


def one(text: str) -> list[str]:
    """The problems of a question."""
    return [problem for problem in text_problems([text]) if problem.startswith("question 1")]


def test_good_questions_pass() -> None:
    assert problems_of(QUESTIONS) == []


@pytest.mark.parametrize("count", [14, 16])
def test_there_must_be_exactly_fifteen(count: int) -> None:
    assert text_problems([*TEXTS, "How many are too many?"][:count]) == [f"there are {count} questions, not 15"]


def test_a_question_has_two_hundred_characters_at_most() -> None:
    text = "How " + "x" * 195 + "?"
    assert one(text) == []
    assert one("x" + text) == ["question 1 has 201 characters, more than 200", *one("x" + text)[1:]]


@pytest.mark.parametrize(
    "text",
    [
        "Is it fair to make buses free?",
        "Do free buses help, and how?",
        "Can't a town pay for its buses?",
        "If fuel cost twice as much, would you make buses free?",
        "Given all this, is the case strong?",
        "Suppose nobody paid: would that be fair?",
        "And should cities pay?",
        "Free buses were tried in five towns. Did they help?",
        "How do they help? Would you make them free?",
        "Won’t it cost too much?",
    ],
)
def test_a_question_that_yes_or_no_answers_is_reported(text: str) -> None:
    assert "question 1 can be answered with yes or no" in one(text)


@pytest.mark.parametrize(
    "text",
    [
        "How can a town that has no money for buses do without fares?",
        "What would it mean for the poor if there were no fares?",
        "If fuel cost twice as much, how would the case change?",
        "After all that was said, what should be done?",
        "For whom does it matter most, and is that fair?",
        "Under what conditions would you change your mind?",
        "A trial in five towns found nothing. What does that show?",
        "What's the strongest reason against it?",
        "“How did it come about?”",
        "Why isn't it done everywhere?",
    ],
)
def test_an_open_question_passes(text: str) -> None:
    assert one(text.strip("“”") if text.startswith("“") else text) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("How buses help.", "does not end with a question mark"),
        ("Explain the case for free buses?", "is not open"),
    ],
)
def test_closed_questions_are_reported(text: str, reason: str) -> None:
    assert one(text)[0].startswith(f"question 1 {reason}")


@pytest.mark.parametrize(
    "text",
    [
        "How do free buses help, don't you think?",
        "What is best for the poor, isn’t it free buses?",
        "Why are fares obviously unfair to the poor?",
        "How can anyone defend fares?",
        "Why is it wrong that buses cost money?",
        "What follows when, of course, the rich refuse?",
        "Why would you agree with fares, wouldn't you agree they are unfair?",
        "What explains the undeniable benefits of free buses?",
        "How foolish is it to charge fares?",
        "What we need is free buses, so why wait, right?",
    ],
)
def test_leading_phrasing_is_reported_with_the_words(text: str) -> None:
    assert any("leads to an answer with" in problem for problem in one(text))


def test_a_question_that_comes_twice_is_reported() -> None:
    again = "What reasons speak for the buses, without fares?"
    assert text_problems([*TEXTS[:14], again]) == ["question 15 asks the same as question 2"]


@pytest.mark.parametrize(("keep", "challenging"), [(4, 4), (7, 7)])
def test_five_or_six_questions_are_challenging(keep: int, challenging: int) -> None:
    """Of `GOOD` five are; one fewer and two more are too few and too many."""
    texts = dict(GOOD)
    if keep == 4:
        changed = [ProbingQuestion(text, "clarification" if kind == "methodology" else kind) for text, kind in GOOD]
    else:
        more: dict[str, tuple[str, Kind]] = {
            "Why do drivers of cars come round to the bus in some towns?": ("If all did, what then?", "counterfactual"),
            "What does it mean for cyclists when more people ride?": ("How reliable are such trials?", "methodology"),
        }
        changed = [ProbingQuestion(*more.get(text, (text, texts[text]))) for text, _ in GOOD]
    (problem,) = problems_of(changed)
    assert problem.startswith(f"{challenging} questions ask for counter-evidence")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What makes a basic income different from a benefit?", "counter-evidence"),
        ("What reasons are there for fares?", "methodology"),
        ("What is a basic income?", "counterfactual"),
        ("What is meant by a fare?", "trade-off"),
    ],
)
def test_a_challenging_label_needs_words_of_its_kind(text: str, kind: Kind) -> None:
    assert doubt(ProbingQuestion(text, kind)) == f"is labelled {kind}, but no word of it says so"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What evidence speaks against the claim?", "counter-evidence"),
        ("What counter-evidence is there?", "counter-evidence"),
        ("What confounders might explain it?", "methodology"),
        ("What if nobody paid?", "counterfactual"),
        ("Suppose nobody paid: what then?", "counterfactual"),
        ("How should riders be weighed against payers?", "trade-off"),
        ("What trade-offs are there?", "trade-off"),
    ],
)
def test_plain_words_of_a_challenging_kind_contradict_a_harmless_label(text: str, kind: Kind) -> None:
    assert doubt(ProbingQuestion(text, "support")) == f"is labelled support, but its words make it {kind}"
    assert doubt(ProbingQuestion(text, kind)) == ""


@pytest.mark.parametrize(
    ("one_text", "other", "likeness"),
    [
        ("Night trains", "The night train", 1.0),
        ("Night trains", "Nïght TRAINS!", 1.0),
        ("Night trains", "Night trams", 1 / 3),
        ("Night trains", "", 0.0),
        ("the of", "a", 0.0),
    ],
)
def test_texts_are_as_alike_as_the_words_they_share(one_text: str, other: str, likeness: float) -> None:
    assert alike(one_text, other) == pytest.approx(likeness)
    assert alike(other, one_text) == pytest.approx(likeness)


@given(st.lists(st.text(max_size=120), max_size=5))
def test_any_texts_are_checked(texts: list[str]) -> None:
    assert text_problems(texts)[0] == f"there are {len(texts)} questions, not 15"


@pytest.mark.parametrize("text", ["how " * 25_000, "what if " * 20_000 + "?", ", " * 50_000, "evidence " * 10_000])
def test_a_hostile_question_is_checked_in_no_time(text: str) -> None:
    assert problems_of([ProbingQuestion(text, "counter-evidence")])


WRITTEN = [
    ("What is your overall view of it, and why?", "clarification"),
    ("What reasons speak for it?", "support"),
    ("What evidence contradicts its promise to cut traffic?", "counter-evidence"),
    ("How is traffic measured before and after such a change?", "methodology"),
    ("Who would pay, and what follows for other services?", "implication"),
    ("Suppose fuel cost twice as much: how would the case change?", "counterfactual"),
    ("How does it differ from cheap fares in who benefits?", "clarification"),
    ("How would you weigh lower emissions against higher taxes?", "trade-off"),
    ("Why do drivers of cars come round to the bus in some towns?", "support"),
    ("What does it mean for cyclists when more people ride?", "implication"),
    ("What findings speak against the hope that the poorest gain most?", "counter-evidence"),
    ("In what sense is a service that taxes pay for free?", "clarification"),
    ("To whom should a council listen when riders disagree?", "implication"),
    ("If a trial shows more riders and no fewer cars, what has been learned?", "support"),
    ("Taking everything together, where do you stand?", "clarification"),
]


def topic(name: str = "free-buses", **changed: Any) -> dict[str, Any]:
    return {
        "id": name,
        "domain": "Transport",
        "topic": "Free buses",
        "proposition": "Buses should be free.",
        "initial_belief": "balanced",
        "debate_strength": "strong",
        "questions": [{"text": text, "kind": kind} for text, kind in WRITTEN],
        **changed,
    }


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """A file of these lines; a value other than text is written as JSON."""

    def make(*content: Any, name: str = "topics.jsonl") -> Path:
        texts = [one if isinstance(one, str) else json.dumps(one) for one in content]
        file = tmp_path / name
        file.write_text("\n".join(texts) + "\n", "utf-8")
        return file

    return make


def said(path: Path, **how: Any) -> list[str]:
    """The problems, without the folder."""
    found = [str(finding.problem()).replace(f"{path.parent}/", "") for finding in check_items(STUDY, path, **how)]
    if found:
        with pytest.raises(InputError) as refused:
            read_items(STUDY, path, **how)
        assert [str(problem).replace(f"{path.parent}/", "") for problem in refused.value.problems] == found
    return found


def test_topics_are_read_in_their_order(lines: Any) -> None:
    path = lines(topic("b"), "", topic("a"))
    read = read_items(STUDY, path)
    assert [one.id for one in read] == ["b", "a"]
    assert [(one.text, one.kind) for one in read[0].questions] == WRITTEN
    assert (read[0].domain, read[0].proposition, read[0].debate_strength) == (
        "Transport",
        "Buses should be free.",
        "strong",
    )


def test_written_topics_are_read_again(lines: Any, tmp_path: Path) -> None:
    read = read_items(STUDY, lines(topic("a"), topic("b")))
    file = write_items(STUDY, read, tmp_path / "made")
    assert file == tmp_path / "made" / "topics.jsonl"
    assert read_items(STUDY, tmp_path / "made") == read_items(STUDY, file) == read
    with pytest.raises(InputError, match="nothing is ever overwritten"):
        write_items(STUDY, read, tmp_path / "made")
    assert write_items(STUDY, read[:1], file, replace=True) == file
    assert read_items(STUDY, file) == read[:1]
    assert sorted(one.name for one in (tmp_path / "made").iterdir()) == ["topics.jsonl"]


def test_a_folder_is_its_files_together(lines: Any, tmp_path: Path) -> None:
    lines(topic("b"), name="b.jsonl")
    lines(topic("a"), name="a.jsonl")
    assert [one.id for one in read_items(STUDY, tmp_path)] == ["a", "b"]
    lines(topic("a"), name="c.jsonl")
    (problem,) = said(tmp_path)
    assert problem.endswith(f"c.jsonl: line 1, id: 'a' is already used in {tmp_path.name}/a.jsonl, line 1")


def test_a_run_folder_is_read_by_its_dataset(lines: Any, tmp_path: Path) -> None:
    (tmp_path / "journal.db").touch()
    lines({"id": "transport", "name": "Transport"}, name="items.jsonl")
    assert said(tmp_path) == [
        f"{tmp_path.name}: is a run folder without topics.jsonl: name a folder of topics, or a file"
    ]
    lines(topic())
    assert len(read_items(STUDY, tmp_path)) == 1


def test_all_problems_of_all_lines_are_reported_with_line_and_key(lines: Any) -> None:
    path = lines(
        topic(domain=None, initial_belief="mixed", colour="red"),
        topic("a b"),
        topic("free-buses", questions=[{"text": 5, "kind": "joke", "mark": 1}, "How?"]),
        "[1]",
        "{",
        topic("free-buses", questions="none"),
    )
    assert said(path) == [
        "topics.jsonl: line 1, 'colour': is not a key of this layout (id, domain, topic, proposition, initial_belief, "
        "debate_strength, questions)",
        "topics.jsonl: line 1, domain: is null, not a text",
        "topics.jsonl: line 1, initial_belief: is 'mixed'; it must be one of supportive, critical, balanced",
        "topics.jsonl: line 2, id: 'a b' may contain only the letters a to z, digits, '-', '_' and '.'",
        "topics.jsonl: line 3, questions[0].'mark': is not a key of this layout (text, kind)",
        "topics.jsonl: line 3, questions[0].text: is a number, not a text",
        "topics.jsonl: line 3, questions[0].kind: is 'joke'; it must be one of counter-evidence, methodology, "
        "counterfactual, trade-off, clarification, support, implication",
        "topics.jsonl: line 3, questions[1]: is a text, not an object with text and kind",
        "topics.jsonl: line 3, id: 'free-buses' is already used in line 1",
        "topics.jsonl: line 4: contains a list, not a JSON object",
        "topics.jsonl: line 5, column 2: is not valid JSON: Expecting property name enclosed in double quotes",
        "topics.jsonl: line 6, questions: is a text, not a list",
        "topics.jsonl: line 6, id: 'free-buses' is already used in line 1",
    ]


def test_the_rules_for_questions_hold_for_files_too(lines: Any) -> None:
    questions = [{"text": text, "kind": kind} for text, kind in WRITTEN]
    path = lines(topic(questions=[{"text": "Is it good?", "kind": "trade-off"}, *questions[1:14]]))
    assert said(path) == [
        "topics.jsonl: line 1, questions: there are 14 questions, not 15",
        "topics.jsonl: line 1, questions: question 1 can be answered with yes or no",
        "topics.jsonl: line 1, questions: question 1 is labelled trade-off, but no word of it says so",
    ]
    assert len(read_items(STUDY, path, any_questions=True)[0].questions) == 14


def test_the_rules_hold_for_another_number_of_questions(lines: Any) -> None:
    questions = [{"text": text, "kind": kind} for text, kind in WRITTEN]
    challenging = [question for question in questions if question["kind"] in CHALLENGING][:4]
    others = [question for question in questions if question["kind"] not in CHALLENGING][:6]
    path = lines(topic(questions=challenging + others))
    assert said(path, questions=10) == []
    assert len(read_items(STUDY, path, questions=10)[0].questions) == 10
    assert "there are 10 questions, not 12" in said(path, questions=12)[0]
    too_many = lines(topic(questions=[*challenging, *(entry for entry in others[:4])]))
    assert "; 3 must" in said(too_many, questions=8)[-1]


def test_without_the_rules_there_is_one_question_at_least(lines: Any) -> None:
    path = lines(topic(questions=[]))
    assert said(path, any_questions=True) == ["topics.jsonl: line 1, questions: there are none"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "contains no topics"),
        (b"\xff\n", "line 1, byte 0: is not UTF-8"),
        (b"[" * 100 + b"\n", "line 1: is nested more than 32 levels deep"),
        (b'{"id": "a", "id": "b"}', "line 1, 'id': this key occurs twice"),
        (b'"' + b"x" * (MAX_BYTES + 5), "line 1: is longer than 5,000,000 bytes"),
    ],
)
def test_files_that_hold_something_else_are_reported(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "topics.jsonl"
    file.write_bytes(content)
    assert problem in said(file)[0]


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in said(tmp_path / "none.jsonl")[0]


def test_control_characters_are_refused(lines: Any) -> None:
    assert "control character U+001B" in said(lines(topic(topic="\x1b[31mred")))[0]


def test_a_study_accepts_a_topic_that_was_read(lines: Any) -> None:
    assert isinstance(read_items(STUDY, lines(topic()))[0], Topic)
