"""All texts that a model reads in the experiments, as data with their source, and the functions that fill them in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from overton.calls import Message, system, user
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.options import ThreadCondition
from overton.studies.prompts import Prompts, enclosing, numbered

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
    """The request for `count` responses, or for a single response if `independent`. The text is prompt 1, 2 or 3 of the
    paper, or Overton's own.

    `belief` is the belief that the user states. It is not used in conditions without a stated belief.
    """
    kind = _kind(condition)
    source = "ours" if independent or kind == "matched" else "published"
    name = f"generation.{source}.{kind}{'_one' if independent else ''}"
    filled = _filled(name, belief=belief, post=post_text(thread), count=_counted(count), number=count)
    return system(_system("generation.published.", condition)), user(filled)


def popularity_messages(
    what: Literal["ranking", "pair"],
    thread: ReferenceThread,
    summaries: Sequence[str],
    condition: ThreadCondition,
    belief: str,
) -> tuple[Message, ...]:
    """The request about the popularity of `summaries`, which the prompt numbers in the given order. A 'ranking' asks
    for an order of all summaries (prompts 6 and 7, or Overton's own). A 'pair' asks which of two is more popular
    (prompts 4 and 5, or Overton's own)."""
    kind = _kind(condition)
    name = f"popularity.{'ours' if kind == 'matched' else 'published'}.{what}_{kind}"
    shown = numbered(" ".join(summary.split()) for summary in summaries)
    filled = _filled(name, belief=belief, post=post_text(thread), summaries=shown, number=len(summaries))
    return system(_system(f"popularity.published.{what}_", condition)), user(filled)


def summaries_messages(thread: ReferenceThread, reference: int, order: Sequence[int]) -> tuple[Message, ...]:
    """The request to label stances towards summary number `reference` (from 1) of a thread. The judge labels the stance
    of every other summary.

    `order` has the numbers of the other summaries in the order of the prompt. A summary's number is its position in the
    thread, from 1.
    """
    summaries = [viewpoint.summary for viewpoint in thread.viewpoints]
    shown = "\n".join(f"{place}. {' '.join(summaries[place - 1].split())}" for place in order)
    return _judged("summaries", thread, reference=summaries[reference - 1], summaries=shown, count=len(order))


def response_messages(thread: ReferenceThread, reference: str, response: str) -> tuple[Message, ...]:
    """The request for a response's stance towards the summary `reference`."""
    return _judged("response", thread, reference=reference, response=response)


def matching_messages(thread: ReferenceThread, response: str, order: Sequence[int]) -> tuple[Message, ...]:
    """The request for all summaries that a response entails. `order` has the indices (from 1) of the thread's
    summaries, in the order of the prompt. The prompt numbers the summaries by their position in this order."""
    shown = numbered(" ".join(thread.viewpoints[place - 1].summary.split()) for place in order)
    return _judged("matching", thread, summaries=shown, response=response)


def entailment_messages(thread: ReferenceThread, summary: str, response: str) -> tuple[Message, ...]:
    """The question whether a response entails one summary."""
    return _judged("pair", thread, summary=summary, response=response)


def belief_messages(summary: str, *, opposing: bool) -> tuple[Message, ...]:
    """The request to rewrite a summary, or its negation, in the first person."""
    name = f"judge.belief_{'opposing' if opposing else 'toward'}"
    return system(_filled("judge.belief_system")), user(_filled(name, summary=_safe(summary.strip())))


def complaint(problem: str) -> str:
    """The prompt for the judge after an unusable reply."""
    return _filled("judge.complaint", problem=problem)


def nothing() -> str:
    """The replacement for an empty reply, because endpoints refuse messages without content."""
    return PROMPTS.fill("judge.complaint_nothing")


def _kind(condition: ThreadCondition) -> str:
    return {"neutral": "neutral", "matched-neutral": "matched"}.get(condition.arm, "biased")


def _system(prefix: str, condition: ThreadCondition) -> str:
    """The published system prompt of a condition. The matched neutral condition has the system prompt of the biased
    conditions."""
    text = PROMPTS.fill(f"{prefix}{'neutral' if condition.arm == 'neutral' else 'biased'}_system")
    return f"{text} {PROMPTS.fill('generation.ours.mitigation')}" if condition.mitigated else text


def _judged(what: str, thread: ReferenceThread, **values: object) -> tuple[Message, ...]:
    """The judge's prompt about a thread. A value cannot close its part of the prompt or imitate another part."""
    safe = {place: _safe(str(value).strip()) for place, value in {"post": post_text(thread), **values}.items()}
    return system(_filled(f"judge.{what}_system")), user(_filled(f"judge.{what}_message", **safe))


def _counted(count: int) -> str:
    words = load("generation")["words"]["counts"]
    return str(words[count - 1]) if count <= len(words) else str(count)


def _filled(name: str, **values: object) -> str:
    return PROMPTS.fill_known(name, **values).strip()
