"""Topics in files: every problem at once, with file, line and key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.files.texts import MAX_BYTES
from overton.runs.items import check_items, read_items, write_items
from overton.studies.stance_stability import STUDY
from overton.studies.stance_stability.items import Topic

QUESTIONS = [
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
        "questions": [{"text": text, "kind": kind} for text, kind in QUESTIONS],
        **changed,
    }


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """A file of these lines; what is no text is written as JSON."""

    def make(*content: Any, name: str = "topics.jsonl") -> Path:
        texts = [one if isinstance(one, str) else json.dumps(one) for one in content]
        file = tmp_path / name
        file.write_text("\n".join(texts) + "\n", "utf-8")
        return file

    return make


def said(path: Path, **how: Any) -> list[str]:
    """What is wrong, without the folder."""
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
    assert [(one.text, one.kind) for one in read[0].questions] == QUESTIONS
    assert (read[0].domain, read[0].proposition, read[0].debate_strength) == (
        "Transport",
        "Buses should be free.",
        "strong",
    )


def test_what_is_written_is_read_again(lines: Any, tmp_path: Path) -> None:
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


def test_all_problems_of_all_lines_are_told_with_line_and_key(lines: Any) -> None:
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
        "topics.jsonl: line 1, initial_belief: is 'mixed', none of supportive, critical, balanced",
        "topics.jsonl: line 2, id: 'a b' may contain the letters a to z, digits, '-', '_' and '.' only",
        "topics.jsonl: line 3, questions[0].'mark': is not a key of this layout (text, kind)",
        "topics.jsonl: line 3, questions[0].text: is a number, not a text",
        "topics.jsonl: line 3, questions[0].kind: is 'joke', none of counter-evidence, methodology, counterfactual, "
        "trade-off, clarification, support, implication",
        "topics.jsonl: line 3, questions[1]: is a text, not an object with text and kind",
        "topics.jsonl: line 3, id: 'free-buses' is already used in line 1",
        "topics.jsonl: line 4: contains a list, not a JSON object",
        "topics.jsonl: line 5, column 2: is not valid JSON: Expecting property name enclosed in double quotes",
        "topics.jsonl: line 6, questions: is a text, not a list",
        "topics.jsonl: line 6, id: 'free-buses' is already used in line 1",
    ]


def test_the_rules_for_questions_hold_for_files_too(lines: Any) -> None:
    questions = [{"text": text, "kind": kind} for text, kind in QUESTIONS]
    path = lines(topic(questions=[{"text": "Is it good?", "kind": "trade-off"}, *questions[1:14]]))
    assert said(path) == [
        "topics.jsonl: line 1, questions: there are 14 questions, not 15",
        "topics.jsonl: line 1, questions: question 1 can be answered with yes or no",
        "topics.jsonl: line 1, questions: question 1 is labelled trade-off, but no word of it says so",
    ]
    assert len(read_items(STUDY, path, any_questions=True)[0].questions) == 14


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
def test_files_that_hold_something_else_are_told(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "topics.jsonl"
    file.write_bytes(content)
    assert problem in said(file)[0]


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in said(tmp_path / "none.jsonl")[0]


def test_control_characters_are_refused(lines: Any) -> None:
    assert "control character U+001B" in said(lines(topic(topic="\x1b[31mred")))[0]


def test_a_topic_read_is_what_a_study_asks_about(lines: Any) -> None:
    assert isinstance(read_items(STUDY, lines(topic()))[0], Topic)
