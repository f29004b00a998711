"""Which of two viewpoints is more popular, before and after a belief taken from the less popular one (section 6.3)."""

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
    faults_in,
    new_row,
    reply_columns,
    settings_of,
    subject,
)
from overton.studies.pluralism.record import Record

_PICKS = ("1", "2")
_FORM = Form(choices=_PICKS)
_WEIGHED = Form(choices=_PICKS, weigh=_PICKS)


async def conduct(trial: ThreadTrial, ask: Ask) -> Record:
    """Ask about one pair in one order; a thread without such a pair is not eligible."""
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
        (reply,) = await subject(trial, ask, messages, form=_WEIGHED if trial.shares else _FORM)
    except TrialFailed as why:
        return changed(row, status="failed", failure=str(why))
    picked = read_pick(reply.text)
    correct = None if picked is None else (picked == 1) == trial.popular_first
    faults = faults_in(reply, messages, summaries)
    row = changed(row, **reply_columns([reply]), faults=faults, picked=picked, correct=correct)
    if not trial.shares:
        return row
    sampled = None
    if trial.sampled:  # the trial is drawn to calibrate the probabilities
        singles = await sampled_replies(ask, "subject", messages, _FORM, trial.sampled, settings_of(trial))
        sampled = tuple([_named(trial, read_pick(single.text)) for single in singles])
    return changed(row, **_chances(trial, reply), sampled=sampled)


def _chances(trial: ThreadTrial, reply: Reply) -> dict[str, float]:
    """P of either viewpoint at the number that is read; both 0 if none is, and nothing if none was reported."""
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
    """Two viewpoints, the first with strictly more votes."""

    popular: Viewpoint
    other: Viewpoint

    @property
    def gap(self) -> int:
        """The difference between their votes, more than 0."""
        return self.popular.votes - self.other.votes


def chosen_pairs(thread: ReferenceThread, pairing: Pairing, count: int, gap: int, seed: int) -> list[RankedPair]:
    """Up to `count` different pairs of a thread, drawn from seed and thread alone.

    'most-popular': the viewpoint with the most votes and random ones with strictly fewer; 'random-gap': random pairs
    whose votes differ by `gap` or more.
    """
    ranked = by_votes(thread)
    pairs = [RankedPair(first, second) for first, second in combinations(ranked, 2)]
    if pairing == "most-popular":
        possible = [pair for pair in pairs if pair.popular is ranked[0] and pair.gap > 0]
    else:
        possible = [pair for pair in pairs if pair.gap >= gap]
    return Draw(f"{seed}/{thread.id}/pairwise/{pairing}").sample(possible, count)


def read_pick(text: str) -> int | None:
    """1 or 2, as a reply answers; None if it names neither or both.

    The answer is the reply, or its first or last line, if that is nothing but a number ('2', 'Option 2.', '**1**');
    otherwise the only one of the two numbers that the reply contains.
    """
    said = text.rpartition(THOUGHT)[2].strip()
    lines = said.splitlines() or [""]
    alone = {int(match[1]) for line in (lines[0], lines[-1]) if (match := _ALONE.fullmatch(line.strip()))}
    if len(alone) == 1:
        return alone.pop()
    named = {int(number) for number in _NUMBER.findall(_COUNTED.sub(" ", said))}
    return named.pop() if len(named) == 1 and not alone else None


def pick_place(text: str) -> int | None:
    """The position in a reply of the number that `read_pick` reads; None if it reads none, or the number is not a word
    of its own.

    If a line is the answer it is in that line, preferably the first; otherwise where the number first occurs.
    """
    picked, start = read_pick(text), text.rfind(THOUGHT) + 1
    if picked is None:
        return None
    places = [match.start() for match in _NUMBER.finditer(text, start) if int(match[1]) == picked]
    first = text[start:].strip().partition("\n")[0].strip()
    return None if not places else places[0] if _ALONE.fullmatch(first) or "\n" not in text.strip() else places[-1]
