"""Every word that a model reads in this study, as data with its source, and the functions that fill it in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from overton.calls import Message, assistant, system, user
from overton.studies.prompts import Prompts, enclosing, remembered
from overton.studies.stance_stability.context import EarlierTurn, ShownPage

_safe = enclosing("source", "question", "answer", "earlier_question", "earlier_answer")


PROMPTS = Prompts(__name__, marks={"questions": ["{name}", "{{ name }}"]})  # the first as the paper prints them
load, texts = PROMPTS.load, PROMPTS.texts


def filled(file: str, key: str, **values: object) -> str:
    """The text `key` of a prompt file with its places filled in, stripped."""
    return PROMPTS.fill(f"{file}.{key}", **values).strip()


def query_message(topic: str, question: str) -> Message:
    """The request for a web query (section 3.2, step 2)."""
    return user(filled("subject", "query", topic=topic, question=question))


def answer_messages(question: str, sources: Sequence[ShownPage], earlier: Iterable[EarlierTurn]) -> tuple[Message, ...]:
    """The conversation so far without its pages, then the question with this turn's pages (section 3.2, step 3)."""
    silence = str(load("subject")["no_answer"])  # endpoints refuse messages without content
    turns = [message for turn in earlier for message in (user(turn.question), assistant(turn.answer or silence))]
    shown = "\n\n".join(map(_source, sources)) or str(load("subject")["no_sources"])
    return (
        system(filled("subject", "system")),
        *turns,
        user(filled("subject", "message", sources=shown, question=question)),
    )


def matter(proposition: str, topic: str, first_question: str) -> str:
    """What a stance is towards: the proposition; without one, the topic; without either, the first question."""
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
    """The request for the certainty of an answer that was given this label, in words of ours (section 3.3's rubric)."""
    asked = filled("certainty", "message", stance=stance, **_material(turn, earlier))
    return system(filled("certainty", "system")), user(asked)


def _material(turn: EarlierTurn, earlier: Sequence[EarlierTurn]) -> dict[str, str]:
    turns = list(map(_judged_turn, earlier))
    shown = filled("judge", "earlier", turns="\n\n".join(turns)) if turns else filled("judge", "no_earlier")
    return {"earlier": shown, **_said(turn)}


@remembered(64)
def _judged_turn(turn: EarlierTurn) -> str:
    """An earlier turn for the judge, who sees it again with each later one."""
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
    """A text that can stand inside a part of a prompt."""
    return _safe(text.strip())
