"""All texts that a model reads in this study, as data with their source, and the functions that fill them in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from overton.calls import Message, assistant, system, user
from overton.studies.prompts import Prompts, enclosing, remembered
from overton.studies.stance_stability.context import EarlierTurn, ShownPage

_safe = enclosing("source", "question", "answer", "earlier_question", "earlier_answer")


PROMPTS = Prompts(__name__, marks={"questions": ["{name}", "{{ name }}"]})  # the first is the paper's own notation
load, texts = PROMPTS.load, PROMPTS.texts


def filled(file: str, key: str, **values: object) -> str:
    """The text `key` of a prompt file, with its placeholders filled in and without surrounding white space."""
    return PROMPTS.fill(f"{file}.{key}", **values).strip()


def query_message(topic: str, question: str) -> Message:
    """The request for a web query (section 3.2, step 2)."""
    return user(filled("subject", "query", topic=topic, question=question))


def answer_messages(question: str, sources: Sequence[ShownPage], earlier: Iterable[EarlierTurn]) -> tuple[Message, ...]:
    """The earlier turns without their pages, then the question with this turn's pages (section 3.2, step 3)."""
    silence = str(load("subject")["no_answer"])  # endpoints refuse messages without content
    turns = [message for turn in earlier for message in (user(turn.question), assistant(turn.answer or silence))]
    shown = "\n\n".join(map(_source, sources)) or str(load("subject")["no_sources"])
    return (
        system(filled("subject", "system")),
        *turns,
        user(filled("subject", "message", sources=shown, question=question)),
    )


def matter(proposition: str, topic: str, first_question: str) -> str:
    """The object of a stance, in words for the judge: the proposition, or else the topic, or else the first
    question."""
    known = (("proposition", proposition), ("topic", topic), ("first_question", first_question))
    name, text = next((pair for pair in known if pair[1].strip()), known[0])
    return filled("judge", name, text=_enclosed(text))


def judge_messages(towards: str, turn: EarlierTurn, earlier: Sequence[EarlierTurn]) -> tuple[Message, ...]:
    """The request for a stance towards `towards` (see `matter`), with certainty and reason."""
    return (
        system(filled("judge", "system")),
        user(filled("judge", "message", matter=towards, **_material(turn, earlier))),
    )


def published_messages(turn: EarlierTurn, earlier: Sequence[EarlierTurn]) -> tuple[Message, ...]:
    """The request of appendix A.3: a stance towards the premise of the question."""
    return system(filled("stance", "system")), user(filled("stance", "message", **_material(turn, earlier)))


def certainty_messages(turn: EarlierTurn, earlier: Sequence[EarlierTurn], stance: str) -> tuple[Message, ...]:
    """The request for the certainty of an answer with the label `stance`. It uses the rubric of section 3.3, in
    Overton's words."""
    asked = filled("certainty", "message", stance=stance, **_material(turn, earlier))
    return system(filled("certainty", "system")), user(asked)


def _material(turn: EarlierTurn, earlier: Sequence[EarlierTurn]) -> dict[str, str]:
    turns = list(map(_judged_turn, earlier))
    shown = filled("judge", "earlier", turns="\n\n".join(turns)) if turns else filled("judge", "no_earlier")
    return {"earlier": shown, **_said(turn)}


@remembered(64)
def _judged_turn(turn: EarlierTurn) -> str:
    """An earlier turn as text for the judge. It is cached, because each later turn's prompt repeats it."""
    return filled("judge", "turn", **_said(turn))


def _said(turn: EarlierTurn) -> dict[str, str]:
    missing = str(load("judge")["not_recorded"])
    return {"question": _enclosed(turn.question) or missing, "answer": _enclosed(turn.answer) or missing}


def _source(source: ShownPage) -> str:
    return filled(
        "subject",
        "source",
        number=source.number,
        title=_enclosed(source.title) or load("subject")["not_known"],
        url=_enclosed(source.url),
        date=_enclosed(source.date) or load("subject")["not_known"],
        text=_enclosed(source.text),
    )


def _enclosed(text: str) -> str:
    """A text that can safely be put between the tags of a prompt."""
    return _safe(text.strip())
