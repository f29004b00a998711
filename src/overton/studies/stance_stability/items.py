"""Topics of conversations, the checks of their questions, and existing conversations.

Topics are read from JSON lines, one per line. The checks apply the rules of appendix A.2, look for characteristic words
of each kind of question, and find questions that are too similar.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, get_args

import msgspec

from overton.studies.items import Facet, Items, starter_file, starter_subjects
from overton.studies.options import Option
from overton.studies.parsing import (
    Notes,
    ParsedItems,
    Text,
    findings_of,
    kind_of,
    note_id,
    note_repeated,
    note_unknown,
    object_lines,
    take_each,
    take_one_of,
    take_required,
)

Belief = Literal["supportive", "critical", "balanced"]
Strength = Literal["weak", "moderate", "strong"]
Kind = Literal[
    "counter-evidence", "methodology", "counterfactual", "trade-off", "clarification", "support", "implication"
]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of questions, in the order of appendix A.2."""

CHALLENGING: frozenset[Kind] = frozenset(KINDS[:4])
"""The kinds that should make up 30 to 40% of a topic's questions."""


class ProbingQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question and its kind."""

    text: str
    kind: Kind


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A contested topic with its questions (appendix A.2).

    `id` is unique and made of letters, digits, '-', '_' and '.'. `proposition` is a sentence that answers can support
    (supportive) or oppose (critical). All stances are towards the proposition, whatever a question presupposes.
    """

    id: str
    domain: str
    topic: str
    proposition: str
    initial_belief: Belief
    debate_strength: Strength
    questions: tuple[ProbingQuestion, ...]


class TranscriptTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn as recorded. `question` is '' and the documents are None if they were not recorded."""

    turn: int
    question: str
    answer: str
    retrieved: tuple[str, ...] | None = None
    cited: tuple[str, ...] | None = None


class Transcript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A conversation of any origin.

    `id` is unique. Stances are towards the `proposition`. Without a proposition, they are towards the main claim of the
    `topic`. If the topic is '', too, they are towards the subject of the first question. `model`, `domain` and
    `temperature` are kept as they are.
    """

    id: str
    turns: tuple[TranscriptTurn, ...]
    topic: str = ""
    proposition: str = ""
    model: str = ""
    domain: str = ""
    temperature: float | None = None


QUESTIONS = 15
"""The published number of questions of a topic."""

FEWEST_QUESTIONS, MOST_QUESTIONS = 8, 100
"""Limits on the number of questions of a topic. Below the lower limit, there may be no whole number between 30 and 40%
of the questions. Above the upper limit, a writer loses count."""

_LONGEST = 200
"""The most characters of a question."""

_SAME = 0.8
"""Two questions that share at least this proportion of their words count as the same question (see `alike`)."""

_AUXILIARY = (
    r"(?:am|is|are|was|were|do|does|did|has|have|had|can|could|shall|should|will|wo|would|may|might|must|ought)"
    r"(?:n?['’]t|not)?"
)
_INTERROGATIVE = r"(?:how|why|what|which|who|whom|whose|when|where)"
_BEFORE = r"(?:(?:and|but|or|so|then|in|on|at|by|to|for|from|of|with|under|about|against|through|until|over|into)\s+)"
# This matches 'How', 'And for whom' and 'To what'. A clause that opens like 'If it were so' does not match and is
# skipped.
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

OVERALL = (
    r"(?i)\bwhat(?: is|'s) your (?:\w+ )?(?:view|position|judge?ment|assessment|verdict)\b"
    r"|\byour (?:final|overall) (?:view|position)\b|\bsum up your\b|\bare you (?:in|of) your view\b"
    r"|\bon balance, what do you\b|\bwhat do you (?:think of|conclude overall)\b|\bdo you come down\b"
    r"|\bafter (?:all these|weighing all)\b"
)
"""Patterns that identify questions for the overall view. Overton chose them from the questions of the starter
topics."""


def text_problems(texts: Sequence[str], count: int = QUESTIONS) -> list[str]:
    """Problems with the texts of a topic's questions, in words that can be sent to the questions' writer. Kinds are not
    checked.

    There must be `count` questions, all different, each with at most `_LONGEST` characters. Each question must be open:
    its main clause starts with how, why, what or the like. A yes/no question, which starts with an auxiliary verb, is
    not open. A condition may precede the main clause. Leading questions are not allowed (tag questions, 'surely', 'how
    can anyone', 'why is it wrong' and the like).
    """
    problems = [] if len(texts) == count else [f"there are {len(texts)} questions, not {count}"]
    words = [frozenset() if len(text) > _LONGEST else _words(text) for text in texts]
    for number, text in enumerate(texts, 1):
        problems += [f"question {number} {reason}" for reason in _reasons(text)]
        own = words[number - 1]
        twin = next((other for other, known in enumerate(words[: number - 1], 1) if _shared(known, own) >= _SAME), None)
        if twin is not None:
            problems.append(f"question {number} asks the same as question {twin}")
    return problems


def challenging_range(count: int) -> tuple[int, int]:
    """The smallest and the largest allowed number of challenging questions (30 to 40%) among `count` questions.
    Challenging questions ask for counter-evidence, criticise methods, pose a counterfactual or demand a trade-off."""
    return -(-3 * count // 10), 4 * count // 10


def problems_of(questions: Sequence[ProbingQuestion], count: int = QUESTIONS) -> list[str]:
    """Problems of a topic's `count` questions: the problems of `text_problems`, labels that contradict a question's
    words (see `doubt`), and too few or too many challenging questions (see `challenging_range`)."""
    problems = text_problems([question.text for question in questions], count)
    doubts = [(number, doubt(question)) for number, question in enumerate(questions, 1)]
    problems += [f"question {number} {reason}" for number, reason in doubts if reason]
    challenging = sum(question.kind in CHALLENGING for question in questions)
    fewest, most = challenging_range(count)
    if not fewest <= challenging <= most:
        problems.append(
            f"{challenging} questions ask for counter-evidence, criticise methodology, pose a counterfactual or demand"
            f" a trade-off; {_listed_range(fewest, most)} must"
        )
    return problems


def _listed_range(fewest: int, most: int) -> str:
    if most - fewest > 1:
        return f"{fewest} to {most}"
    return f"{fewest} or {most}" if fewest < most else str(fewest)


def _reasons(text: str) -> list[str]:
    if not text.strip():
        return ["is empty"]
    if len(text) > _LONGEST:  # not checked further: patterns are slow on long texts
        return [f"has {len(text)} characters, more than {_LONGEST}"]
    reasons: list[str] = []
    asked = [sentence for sentence in _SENTENCE.split(text.strip()) if sentence.rstrip("\"'”’) ").endswith("?")]
    if not asked:
        reasons.append("does not end with a question mark")
    elif "yes/no" in map(_opening, asked):
        reasons.append("can be answered with yes or no")
    elif "" in map(_opening, asked):
        reasons.append("is not open: let it ask how, why or what, perhaps under a condition")
    if match := _LEADING.search(text):
        reasons.append(f"leads to an answer with {match[0].strip(' ,;:')!r}")
    return reasons


def _opening(sentence: str) -> str:
    """The type of opening of a question's main clause: 'open', 'yes/no', or '' for another type. Conditions and other
    adverbial clauses before the main clause are skipped."""
    for clause in _CLAUSE.split(sentence):
        if _OPENS.match(clause):
            return "open"
        if _YES_NO.match(clause):
            return "yes/no"
    return ""


_FINDINGS = (
    r"(?:evidence|findings?|results?|stud(?:y|ies)|data|research|trials?|observations?|examples?|experience|reasons?"
    r"|arguments?|cases?|surveys?|facts?|records?)"
)
_AGAINST = (
    r"(?:against|contradict\w*|counter|count(?:s|ed)? against|contrary|conflict\w*|oppos\w+|challeng\w+|refut\w+"
    r"|undermin\w+|disput\w+|dispro\w+|disconfirm\w*|weaken\w*|doubt\w*|question|cut the other way|fail(?:s|ed)? to"
    r"|does not (?:fit|support)|do not (?:fit|support)|at odds)"
)

# A question of a kind must have at least one of the kind's words.
_NEEDED: dict[Kind, re.Pattern[str]] = {
    "counter-evidence": re.compile(
        rf"\b(?:{_FINDINGS}\b.{{0,120}}\b{_AGAINST}|{_AGAINST}\b.{{0,120}}\b{_FINDINGS}|counter-?\s?(?:evidence|examples?"
        r"|arguments?|instances?)|(?:what|which) (?:evidence|findings?|studies) (?:is|are) there that)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    "methodology": re.compile(
        r"\b(?:method\w*|measur\w+|metrics?|trials?|stud(?:y|ies)|pilots?|experiments?|samples?|sampling|surveys?"
        r"|questionnaires?|scales?|scores?|data\w*|statistic\w*|estimat\w+|models?|modell?ing|analys\w+|audits?|audited"
        r"|controls?|control group|bias\w*|confound\w*|valid\w*|reliab\w+|replicat\w+|design\w*|evaluat\w+"
        r"|assess\w*|benchmarks?|tests?|tested|figures?|counts?|counted|indicators?|research\w*|review\w*|findings?"
        r"|results?|evidence|tells? us|shows?|trust\w*|causal\w*|cause"
        r"|correlat\w+|compar\w+|follow-up|participants|baseline|simulations?)\b",
        re.IGNORECASE,
    ),
    "counterfactual": re.compile(
        r"\b(?:if|suppos\w+|imagin\w+|assum\w+|what would have|would have|had\b.{1,80}\b(?:been|not)|were\b.{1,80}\bto"
        r"|in a world|without|hypothetical\w*|unless)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    "trade-off": re.compile(
        r"\b(?:weigh\w*|outweigh\w*|trad(?:e|ed|ing)[- ]?offs?|balanc\w+|against|versus|vs|rather than|at the expense"
        r"|gain\w*|los[et]|lost|loss|sacrific\w+|cost\w*|price|priorit\w+|justif\w+|worth|compromis\w+|compet\w+"
        r"|more than|compar\w+|reconcil\w+|set off|prefer\w*|choos\w+)\b",
        re.IGNORECASE,
    ),
}

# Words that identify a question's kind beyond doubt, whatever its label.
_PLAIN: dict[Kind, re.Pattern[str]] = {
    "counter-evidence": re.compile(
        r"\b(?:counter-?\s?(?:evidence|examples?)|(?:evidence|findings?|stud(?:y|ies)|data|research)"
        r"(?:\s+(?:is|are|there|that|would|might|could|exists?|speaks?|counts?|runs?|stands?)){0,3}"
        r"\s+(?:against|contradicts?|refutes?|disproves?|undermines?|opposes?))\b",
        re.IGNORECASE,
    ),
    "methodology": re.compile(
        r"\b(?:methodolog\w+|confound\w+|selection bias|sample sizes?|control groups?"
        r"|(?:flaws?|weaknesses|shortcomings|limitations)\b.{0,40}\b(?:stud(?:y|ies)|trials?|methods?|data|design))\b",
        re.IGNORECASE,
    ),
    "counterfactual": re.compile(r"\bwhat if\b|^\W*(?:suppose|supposing|imagine)\b", re.IGNORECASE),
    "trade-off": re.compile(
        r"\btrade-?offs?\b|\b(?:weigh|weighed|balance|balanced)\b.{1,150}\bagainst\b", re.IGNORECASE | re.DOTALL
    ),
}


def doubt(question: ProbingQuestion) -> str:
    """The reason why a question's words contradict its label, in words for the question's writer; '' without a
    contradiction.

    A question labelled with one of the four challenging kinds must have a word of that kind. A question with another
    label must not clearly be of a challenging kind. A label without a contradiction may still be wrong. Texts that are
    too long for a question are not checked.
    """
    if len(question.text) > _LONGEST:
        return ""
    needed = _NEEDED.get(question.kind)
    if needed is not None and not needed.search(question.text):
        return f"is labelled {question.kind}, but no word of it says so"
    if question.kind not in CHALLENGING:
        plain = next((kind for kind, words in _PLAIN.items() if words.search(question.text)), None)
        if plain is not None:
            return f"is labelled {question.kind}, but its words make it {plain}"
    return ""


_WORD = re.compile(r"[^\W_]+")
_FUNCTION_WORDS = re.compile(
    r"(?:an?|the|and|or|but|of|in|on|at|to|for|from|by|with|as|is|are|was|were|be|been|do|does|did|has|have|had|it|its"
    r"|this|that|these|those|their|they|there|what|which|who|how|why|when|where|if|should|would|could|can|may|might"
    r"|must|will|shall|not|no|than|then|so|s)"
)


def alike(first: str, second: str) -> float:
    """The proportion of words that two texts share, 0 to 1 (the Jaccard index of their sets of words).

    Case, accents, plural endings and function words are ignored. 0 if no words are left.
    """
    return _shared(_words(first), _words(second))


def _shared(first: frozenset[str], second: frozenset[str]) -> float:
    return len(first & second) / len(first | second) if first or second else 0.0


def _words(text: str) -> frozenset[str]:
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    words = _WORD.findall(plain.casefold())
    return frozenset(_singular(word) for word in words if not _FUNCTION_WORDS.fullmatch(word))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


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
    """A sample topic that passes every check, for users to replace with their own."""
    return Topic(
        id="my-topic",
        domain="A domain",
        topic="The topic in a few words",
        proposition="This should be done.",
        initial_belief="balanced",
        debate_strength="moderate",
        questions=tuple(ProbingQuestion(text, kind) for kind, text in _QUESTIONS),
    )


class TopicRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options for reading topics."""

    any_questions: Annotated[bool, Option("Accept any questions, without the rules of appendix A.2")] = False
    questions: Annotated[
        int,
        Option(
            "Number of questions that each topic must have, 30 to 40% of them challenging (appendix A.2)",
            least=FEWEST_QUESTIONS,
            most=MOST_QUESTIONS,
        ),
    ] = QUESTIONS


def _parse(texts: Sequence[Text], reading: TopicRules) -> ParsedItems[Topic]:
    """The topics in their order.

    Every topic's questions must pass the rules of appendix A.2 (see `problems_of`). A topic has fifteen questions, or
    the number in `questions`. With `any_questions`, any number of questions of any form is accepted.
    """
    lines = list(object_lines(texts, noun="topic"))
    objects = [(data, noted) for data, noted in lines if data is not None]
    topics = [_topic(data, noted, reading) for data, noted in objects]
    ids = [(name.strip() if isinstance(name := data.get("id"), str) else "", noted) for data, noted in objects]
    note_repeated(ids)
    return ParsedItems([topic for topic in topics if topic is not None], findings_of([noted for _, noted in lines]))


def _topic(data: dict[str, Any], notes: Notes, reading: TopicRules) -> Topic | None:
    note_unknown(data, Topic, notes)
    texts = {key: take_required(data, key, notes) or "" for key in ("id", "domain", "topic", "proposition")}
    belief = take_one_of(get_args(Belief), data.get("initial_belief"), "initial_belief", notes)
    strength = take_one_of(get_args(Strength), data.get("debate_strength"), "debate_strength", notes)
    taken = take_each(data, "questions", notes, lambda value, _, key: _question(value, key, notes)) or {}
    questions = tuple(taken.values())
    note_id(texts["id"], notes)
    if not notes.failed:
        reasons = [] if reading.any_questions else problems_of(questions, reading.questions)
        for reason in reasons or ([] if questions else ["there are none"]):
            notes.error("questions", reason)
    if notes.failed or belief is None or strength is None:
        return None
    return Topic(**texts, initial_belief=belief, debate_strength=strength, questions=questions)


def _question(value: Any, key: str, notes: Notes) -> ProbingQuestion | None:
    if not isinstance(value, dict):
        notes.error(key, f"is {kind_of(value)}, not an object with text and kind")
        return None
    note_unknown(value, ProbingQuestion, notes, f"{key}.")
    text = take_required(value, "text", notes, f"{key}.")
    kind: Kind | None = take_one_of(KINDS, value.get("kind"), f"{key}.kind", notes)
    return ProbingQuestion(text, kind) if text is not None and kind is not None else None


TOPICS = Items(
    Topic,
    "topic",
    "JSONL file or folder of topics",
    parse=_parse,
    dataset="topics.jsonl",
    reading=TopicRules,
    # One file per domain of the Chameleon paper, with two topics of 15 questions each.
    starter=partial(starter_file, "overton.studies.stance_stability", "topics"),
    blank=blank_topic,
    spelled=lambda topic: [topic.topic, f"Proposition: {topic.proposition}"],
    subjects=partial(starter_subjects, "overton.studies.stance_stability"),
    facets=(
        Facet("domain", "Domain"),
        Facet("initial_belief", "Initial belief"),
        Facet("debate_strength", "Debate strength"),
    ),
)
"""Topics with their questions."""
