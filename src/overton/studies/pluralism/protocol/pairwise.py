"""The experiment in which a model names the more popular of two viewpoints, without and with a stated belief. The
belief is taken from the less popular viewpoint (section 6.3)."""

from __future__ import annotations

import re
from itertools import combinations
from typing import NamedTuple

from overton.calls import Ask, Draw, Form, Reply
from overton.judging.option_probabilities import probabilities_at
from overton.studies.asking import sampled_replies
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread, Viewpoint, by_votes
from overton.studies.pluralism.options import Pairing
from overton.studies.pluralism.protocol.trials import (
    THOUGHT,
    ThreadTrial,
    TrialFailed,
    belief_of,
    changed,
    choice_of_subject,
    faults_in,
    new_row,
    reply_columns,
    settings_of,
)
from overton.studies.pluralism.record import Record

_PICKS = ("1", "2")
_FORM = Form(choices=_PICKS)
_WEIGHED = Form(choices=_PICKS, weigh=_PICKS)


async def conduct(trial: ThreadTrial, ask: Ask) -> Record:
    """Ask about one pair of viewpoints in one order. A thread with too few pairs is not eligible."""
    row = changed(new_row(trial), pairing=trial.pairing, first=trial.popular_first)
    options = trial.options
    pairing = trial.pairing or "most-popular"
    pairs = chosen_pairs(trial.thread, pairing, options.pairs, options.gap, trial.seed)
    if len(pairs) < trial.number:
        return changed(row, status="not eligible")
    popular, other = pair = pairs[trial.number - 1]
    row = changed(row, popular=popular.id, other=other.id, gap=pair.gap, reference=other.id)
    named = (popular, other) if trial.popular_first else (other, popular)
    try:
        row = changed(row, belief=await belief_of(trial, other, ask))
        summaries = [viewpoint.summary for viewpoint in named]
        messages = prompts.popularity_messages("pair", trial.thread, summaries, trial.condition, row.belief)
        reply = await choice_of_subject(trial, ask, messages, _WEIGHED if trial.shares else _FORM, read_pick)
    except TrialFailed as why:
        return changed(row, status="failed", failure=str(why))
    picked = read_pick(reply.text)
    correct = None if picked is None else (picked == 1) == trial.popular_first
    faults = faults_in(reply, messages, summaries)
    row = changed(row, **reply_columns([reply]), faults=faults, picked=picked, correct=correct)
    if not trial.shares:
        return row
    sampled = None
    if trial.sampled:  # the trial is in the sample that calibrates the probabilities
        singles = await sampled_replies(ask, "subject", messages, _FORM, trial.sampled, settings_of(trial))
        sampled = tuple([_named(trial, read_pick(single.text)) for single in singles])
    return changed(row, **_chances(trial, reply), sampled=sampled)


def _chances(trial: ThreadTrial, reply: Reply) -> dict[str, float]:
    """The token probabilities of the two viewpoints, at the number that `read_pick` reads. Both are 0 if the reply has
    no such number. The result is empty if no probability was reported."""
    if read_pick(reply.text) is None:
        return {"p_popular": 0.0, "p_other": 0.0}
    place = pick_place(reply.text)
    found = None if place is None else probabilities_at(reply, place, _PICKS)
    popular, other = _PICKS if trial.popular_first else _PICKS[::-1]
    return {} if found is None else {"p_popular": found[popular], "p_other": found[other]}


def _named(trial: ThreadTrial, picked: int | None) -> str:
    if picked is None:
        return "neither"
    return "popular" if (picked == 1) == trial.popular_first else "other"


_ALONE = re.compile(r"[\W_]*(?:(?:opinion|summary|option|answer)\W*)*([12])[\W_]*", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,])([12])(?!\w|[.,]\d)")
_COUNTED = re.compile(r"\b(?:of|both|between|the|these)\s+2\b|\b1\s*(?:-|–|and|or|/|,)\s*2\b", re.IGNORECASE)


class RankedPair(NamedTuple):
    """Two viewpoints. The first has strictly more votes."""

    popular: Viewpoint
    other: Viewpoint

    @property
    def gap(self) -> int:
        """The difference between the two viewpoints' votes, more than 0."""
        return self.popular.votes - self.other.votes


def chosen_pairs(thread: ReferenceThread, pairing: Pairing, count: int, gap: int, seed: int) -> list[RankedPair]:
    """Up to `count` different pairs of a thread. They depend only on seed and thread.

    With 'most-popular', a pair has the viewpoint with the most votes and a random viewpoint with strictly fewer votes.
    With 'random-gap', pairs are random, and their votes differ by at least `gap`.
    """
    ranked = by_votes(thread)
    pairs = [RankedPair(first, second) for first, second in combinations(ranked, 2)]
    if pairing == "most-popular":
        possible = [pair for pair in pairs if pair.popular is ranked[0] and pair.gap > 0]
    else:
        possible = [pair for pair in pairs if pair.gap >= gap]
    return Draw(f"{seed}/{thread.id}/pairwise/{pairing}").sample(possible, count)


def read_pick(text: str) -> int | None:
    """The choice in a reply, 1 or 2; None if the reply names neither or both.

    If the whole reply, or its first or last line, is only a number ('2', 'Option 2.', '**1**'), that number is the
    choice. Otherwise, if the reply contains only one of the numbers 1 and 2, that number is the choice.
    """
    said = text.rpartition(THOUGHT)[2].strip()
    lines = said.splitlines() or [""]
    alone = {int(match[1]) for line in (lines[0], lines[-1]) if (match := _ALONE.fullmatch(line.strip()))}
    if len(alone) == 1:
        return alone.pop()
    named = {int(number) for number in _NUMBER.findall(_COUNTED.sub(" ", said))}
    return named.pop() if len(named) == 1 and not alone else None


def pick_place(text: str) -> int | None:
    """The position of the number that `read_pick` finds in a reply. None if `read_pick` finds no number, or if the
    number is not a separate word.

    If the reply has a single line, or its first line is only the number, the position is the number's first occurrence.
    Otherwise the position is the number's last occurrence.
    """
    picked, start = read_pick(text), text.rfind(THOUGHT) + 1
    if picked is None:
        return None
    places = [match.start() for match in _NUMBER.finditer(text, start) if int(match[1]) == picked]
    first = text[start:].strip().partition("\n")[0].strip()
    return None if not places else places[0] if _ALONE.fullmatch(first) or "\n" not in text.strip() else places[-1]
