"""A topic to be filled in: its questions keep the rules of appendix A.2 and say 'it' instead of the topic."""

from __future__ import annotations

from overton.studies.stance_stability.items import Kind, ProbingQuestion, Topic

_QUESTIONS: tuple[tuple[Kind, str], ...] = (
    ("clarification", "What is your view on it, and which reasons weigh most with you?"),
    ("support", "Which benefits would it bring, and to whom first?"),
    ("counter-evidence", "What evidence speaks against the claim that it works?"),
    ("methodology", "How far can the studies that were made of it be trusted, given who took part?"),
    ("implication", "What would follow from it for families with little money?"),
    ("clarification", "Where would you draw the line between what it covers and what it does not?"),
    ("counterfactual", "Suppose the costs turned out twice as high: how would the case for it change?"),
    ("trade-off", "How would you weigh freedom of choice against the protection that it promises?"),
    ("support", "What do places that tried it early report about its first years?"),
    ("counter-evidence", "What evidence speaks against your own answers so far?"),
    ("implication", "How might companies change what they do once it is in force?"),
    ("clarification", "What do people who disagree about it mean when they call it fair?"),
    ("support", "Which of its effects are best documented by now?"),
    ("implication", "What would have to be reported every year to notice that it fails?"),
    ("clarification", "After all these questions, what is your view on it, and how sure are you?"),
)


def blank_topic() -> Topic:
    """A topic that passes every check and is about nothing yet."""
    return Topic(
        id="my-topic",
        domain="A domain",
        topic="What it is about, in a few words",
        proposition="This should be done.",
        initial_belief="balanced",
        debate_strength="moderate",
        questions=tuple(ProbingQuestion(text, kind) for kind, text in _QUESTIONS),
    )
