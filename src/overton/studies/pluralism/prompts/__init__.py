"""Every word that a model reads in the experiments, as data with its source, and the functions that fill it in."""

from __future__ import annotations

from collections.abc import Sequence

from overton.calls import Message, system, user
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.options import ThreadCondition
from overton.studies.prompts import Prompts, enclosing

_safe = enclosing("post", "reference_opinion", "opinion", "opinions", "response")


PROMPTS = Prompts(__name__)
load = PROMPTS.load


def texts() -> dict[str, str]:
    """Every text of the experiments by name; see `Prompts.texts`."""
    return PROMPTS.texts("generation", "popularity", "judge")


def post_text(thread: ReferenceThread) -> str:
    """The paper's {POST TEXT}: the title, with the text under it if there is any."""
    return f"{thread.title.strip()}\n\n{thread.text.strip()}".strip()


def generation_messages(
    thread: ReferenceThread, condition: ThreadCondition, belief: str, count: int, *, independent: bool = False
) -> tuple[Message, ...]:
    """The request for `count` responses, or with `independent` for one of them (prompts 1 to 3, or ours).

    `belief` is what the user says about themselves, and not used in the neutral arms.
    """
    kind = _kind(condition)
    source = "ours" if independent or kind == "matched" else "published"
    name = f"generation.{source}.{kind}{'_one' if independent else ''}"
    filled = _filled(name, belief=belief, post=post_text(thread), count=_counted(count), number=count)
    return system(_system("generation.published.", condition)), user(filled)


def ranking_messages(
    thread: ReferenceThread, summaries: Sequence[str], condition: ThreadCondition, belief: str
) -> tuple[Message, ...]:
    """The request for a ranking of `summaries` by popularity, numbered in this order (prompts 6 and 7, or ours)."""
    return _popularity("ranking", thread, summaries, condition, belief)


def pair_messages(
    thread: ReferenceThread, summaries: Sequence[str], condition: ThreadCondition, belief: str
) -> tuple[Message, ...]:
    """The question which of two summaries is more popular (prompts 4 and 5, or ours)."""
    return _popularity("pair", thread, summaries, condition, belief)


def summaries_messages(
    thread: ReferenceThread, reference: int, order: Sequence[int] | None = None
) -> tuple[Message, ...]:
    """The request for the stances of all other summaries towards the one at place `reference` (from 1).

    They are shown as in the thread, or in the `order` of these places; each keeps its place as its number.
    """
    known = range(1, len(thread.viewpoints) + 1) if order is None else order
    others = {place: thread.viewpoints[place - 1].summary for place in known if place != reference}
    return _judged(
        "summaries",
        post=_enclosed(post_text(thread)),
        reference=_enclosed(thread.viewpoints[reference - 1].summary),
        summaries=_numbered(others),
        count=len(others),
    )


def response_messages(thread: ReferenceThread, reference: str, response: str) -> tuple[Message, ...]:
    """The request for a response's stance towards the summary `reference`."""
    return _judged(
        "response",
        post=_enclosed(post_text(thread)),
        reference=_enclosed(reference),
        response=_enclosed(response),
    )


def matching_messages(
    thread: ReferenceThread, response: str, order: Sequence[int] | None = None
) -> tuple[Message, ...]:
    """The request for all summaries that a response entails, numbered from 1 as in the thread, or in the `order` of
    these places."""
    places = range(1, len(thread.viewpoints) + 1) if order is None else order
    summaries = {number: thread.viewpoints[place - 1].summary for number, place in enumerate(places, 1)}
    return _judged(
        "matching",
        post=_enclosed(post_text(thread)),
        summaries=_numbered(summaries),
        response=_enclosed(response),
    )


def entailment_messages(thread: ReferenceThread, summary: str, response: str) -> tuple[Message, ...]:
    """The question whether a response entails one summary."""
    return _judged("pair", post=_enclosed(post_text(thread)), summary=_enclosed(summary), response=_enclosed(response))


def belief_messages(summary: str, *, opposing: bool) -> tuple[Message, ...]:
    """The request to rewrite a summary, or its negation, in the first person."""
    name = f"judge.belief_{'opposing' if opposing else 'toward'}"
    return system(_filled("judge.belief_system")), user(_filled(name, summary=_enclosed(summary)))


def complaint(problem: str) -> str:
    """What the judge is told after an unusable reply."""
    return _filled("judge.complaint", problem=problem)


def nothing() -> str:
    """What replaces an empty reply: endpoints refuse messages without content."""
    return PROMPTS.fill("judge.complaint_nothing")


def _popularity(
    what: str, thread: ReferenceThread, summaries: Sequence[str], condition: ThreadCondition, belief: str
) -> tuple[Message, ...]:
    kind = _kind(condition)
    name = f"popularity.{'ours' if kind == 'matched' else 'published'}.{what}_{kind}"
    listed = "\n".join(f"{number}. {' '.join(summary.split())}" for number, summary in enumerate(summaries, 1))
    filled = _filled(name, belief=belief, post=post_text(thread), summaries=listed, number=len(summaries))
    return system(_system(f"popularity.published.{what}_", condition)), user(filled)


def _kind(condition: ThreadCondition) -> str:
    return {"neutral": "neutral", "matched-neutral": "matched"}.get(condition.arm, "biased")


def _system(prefix: str, condition: ThreadCondition) -> str:
    """The published system prompt of the arm; the matched neutral arm has that of the biased ones."""
    text = PROMPTS.fill(f"{prefix}{'neutral' if condition.arm == 'neutral' else 'biased'}_system")
    return f"{text} {PROMPTS.fill('generation.ours.mitigation')}" if condition.mitigated else text


def _judged(what: str, **values: object) -> tuple[Message, ...]:
    return system(_filled(f"judge.{what}_system")), user(_filled(f"judge.{what}_message", **values))


def _numbered(summaries: dict[int, str]) -> str:
    return "\n".join(f"{number}. {_enclosed(' '.join(summary.split()))}" for number, summary in summaries.items())


def _counted(count: int) -> str:
    words = load("generation")["words"]["counts"]
    return str(words[count - 1]) if count <= len(words) else str(count)


def _enclosed(text: str) -> str:
    """A text that is safe inside a part of a prompt."""
    return _safe(text.strip())


def _filled(name: str, **values: object) -> str:
    return PROMPTS.fill_known(name, **values).strip()
