"""What appendix A.2 asks of a topic's questions, checked in code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, floor

from overton.studies.stance_stability.items import CHALLENGING, ProbingQuestion
from overton.studies.stance_stability.kinds import doubt
from overton.studies.stance_stability.likeness import alike

__all__ = ["FEWEST_CHALLENGING", "LONGEST", "MOST_CHALLENGING", "QUESTIONS", "problems_of", "text_problems"]

QUESTIONS = 15
"""How many questions a topic has."""

LONGEST = 200
"""Characters of a question at most."""

FEWEST_CHALLENGING, MOST_CHALLENGING = ceil(0.3 * QUESTIONS), floor(0.4 * QUESTIONS)
"""How many ask for counter-evidence, criticise method, suppose otherwise or demand a trade-off: 30 to 40%."""

SAME = 0.8
"""Two questions that share so much of their words are one (see `likeness`)."""

_AUXILIARY = (
    r"(?:am|is|are|was|were|do|does|did|has|have|had|can|could|shall|should|will|wo|would|may|might|must|ought)"
    r"(?:n?['’]t|not)?"
)
_INTERROGATIVE = r"(?:how|why|what|which|who|whom|whose|when|where)"
_BEFORE = r"(?:(?:and|but|or|so|then|in|on|at|by|to|for|from|of|with|under|about|against|through|until|over|into)\s+)"
# 'How', or 'And for whom', or 'To what'; 'If it were so' opens a clause of another sort and is passed over.
_OPENS = re.compile(rf"{_BEFORE}{{0,2}}{_INTERROGATIVE}(?:['’]s)?\b", re.IGNORECASE)
_YES_NO = re.compile(rf"(?:(?:and|but|or|so|then)\s+)?{_AUXILIARY}\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:–—]\s+|\s-+\s")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")

_LEADING = re.compile(
    r"(?:^|[,;:–—]\s*)\w+n['’]t\s+(?:it|you|we|they|this|that|there)\b"
    r"|\b(?:would|do|don['’]t|wouldn['’]t)\s+you\s+(?:not\s+)?agree\b"
    r"|\b(?:surely|obviously|undeniabl[ey]|undoubtedly|of course|needless to say|everyone knows|we all know)\b"
    r"|(?:^|[,;:]\s*)(?:clearly|plainly|admittedly),"
    r"|\b(?:is|are|was|were)\s+(?:clearly|plainly|simply|so obviously)\b"
    r"|\b(?:how|why)\s+(?:can|could|would|should)\s+(?:anyone|anybody|any\s+sane|any\s+reasonable)\b"
    r"|\bwhy\s+(?:is|was)\s+it\s+(?:so\s+)?(?:wrong|right|bad|good|immoral|dangerous|essential|vital|foolish|unfair)\b"
    r"|\bhow\s+(?:terrible|wonderful|absurd|foolish)\b"
    r"|\bthe\s+(?:obvious|undeniable|indisputable|well-known)\s+(?:fact|truth|harms?|dangers?|benefits?|failures?)\b"
    r"|,\s*(?:right|correct|no)\?\s*$",
    re.IGNORECASE,
)


def text_problems(texts: Sequence[str]) -> list[str]:
    """What is wrong with a topic's questions but for their kinds, in words that can be sent to their writer.

    There must be `QUESTIONS` of them, none twice; each has at most `LONGEST` characters, asks something open (its main
    clause opens with how, why, what or the like, perhaps after a condition, and not with an auxiliary as a yes/no
    question does), and does not lead (no tag question, 'surely', 'how can anyone', 'why is it wrong' and the like).
    """
    problems = [] if len(texts) == QUESTIONS else [f"there are {len(texts)} questions, not {QUESTIONS}"]
    for number, text in enumerate(texts, 1):
        problems += [f"question {number} {reason}" for reason in _reasons(text)]
        twin = next((other for other, known in enumerate(texts[: number - 1], 1) if alike(known, text) >= SAME), None)
        if twin is not None:
            problems.append(f"question {number} asks the same as question {twin}")
    return problems


def problems_of(questions: Sequence[ProbingQuestion]) -> list[str]:
    """What is wrong with a topic's questions: `text_problems`, labels that their words contradict (see `kinds`), and a
    number of challenging ones outside `FEWEST_CHALLENGING` to `MOST_CHALLENGING`.
    """
    problems = text_problems([question.text for question in questions])
    doubts = [(number, doubt(question)) for number, question in enumerate(questions, 1)]
    problems += [f"question {number} {reason}" for number, reason in doubts if reason]
    challenging = sum(question.kind in CHALLENGING for question in questions)
    if not FEWEST_CHALLENGING <= challenging <= MOST_CHALLENGING:
        problems.append(
            f"{challenging} questions ask for counter-evidence, criticise methodology, pose a counterfactual or demand"
            f" a trade-off; {FEWEST_CHALLENGING} or {MOST_CHALLENGING} must"
        )
    return problems


def _reasons(text: str) -> list[str]:
    if not text.strip():
        return ["is empty"]
    reasons = [f"has {len(text)} characters, more than {LONGEST}"] if len(text) > LONGEST else []
    asked = [sentence for sentence in _SENTENCE.split(text.strip()) if sentence.rstrip("\"'”’) ").endswith("?")]
    if not asked:
        reasons.append("does not end with a question mark")
    elif any(map(_is_yes_no, asked)):
        reasons.append("can be answered with yes or no")
    elif not all(map(_is_open, asked)):
        reasons.append("is not open: let it ask how, why or what, perhaps under a condition")
    if match := _LEADING.search(text):
        reasons.append(f"leads to an answer with {match[0].strip(' ,;:')!r}")
    return reasons


def _is_open(sentence: str) -> bool:
    return _opening(sentence) == "open"


def _is_yes_no(sentence: str) -> bool:
    return _opening(sentence) == "yes/no"


def _opening(sentence: str) -> str:
    """How the first clause that asks opens; conditions and other adverbial clauses before it are passed over."""
    for clause in _CLAUSE.split(sentence):
        if _OPENS.match(clause):
            return "open"
        if _YES_NO.match(clause):
            return "yes/no"
    return ""
