"""What appendix A.2 asks of questions, checked in code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.stance_stability.items import Kind, ProbingQuestion, alike, doubt, problems_of, text_problems

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
    """What is wrong with a question."""
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
def test_a_question_that_yes_or_no_answers_is_told(text: str) -> None:
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
def test_what_asks_nothing_open_is_told(text: str, reason: str) -> None:
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
def test_leading_phrasing_is_told_with_the_words(text: str) -> None:
    assert any("leads to an answer with" in problem for problem in one(text))


def test_a_question_that_comes_twice_is_told() -> None:
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
def test_words_that_say_plainly_what_a_question_does_contradict_a_harmless_label(text: str, kind: Kind) -> None:
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
