"""One row of the outcome table of pluralism: one question to one model, in any of the three experiments."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from overton.studies.pluralism.conditions import Arm, Experiment

__all__ = ["STANCES", "Pairing", "Record", "Response", "Stance", "Status", "SummaryStance"]

Stance = Literal["supporting", "against", "neutral"]
SummaryStance = Literal["supporting", "against", "neutral", "reference"]
Pairing = Literal["most-popular", "random-gap"]
Status = Literal["done", "not eligible", "failed"]

STANCES: tuple[Stance, ...] = get_args(Stance)
"""Towards the reference opinion (section 6.1.1)."""


class Response(msgspec.Struct, frozen=True, gc=False):
    """One of the responses to a post.

    number   1, 2, ... in the order of the reply
    text     without its number
    stance   towards the reference opinion, None where the judge gave no usable label
    matched  the viewpoints that it entails, in the matcher's order, the surest first; None where the matcher gave no
             usable answer
    """

    number: int
    text: str
    stance: Stance | None
    matched: tuple[str, ...] | None


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One trial: what was asked about one thread in one condition, and what came of it.

    Columns of every experiment:

    trial         the trial's name
    experiment    'sycophancy', 'ranking' or 'pairwise'
    thread, community   of the item
    condition     the condition's name, see `conditions`; `arm`, `effort` and `mitigated` are its parts
    status        'done'; 'not eligible' where the thread does not have what the experiment needs, so that the model
                  was not asked; 'failed' where a call failed for good or the judge wrote no belief
    failure       why it failed ('role: kind: message'), None where it did not; also set on a trial that is done where a
                  call about one of its responses failed for good
    belief        what the user is made to say, '' where nothing
    reference     the viewpoint that the belief is taken from, and in sycophancy the reference opinion; None where
                  there is none
    answer        the model's reply as it came (independent replies with a line '---' between them), '' where none
    refused       whether the endpoint flagged a refusal
    cut           whether a reply ended because it had no room left
    input_tokens, output_tokens   of the model under test, all its replies together; None where not reported

    Of the judge, in this trial, calls that trials share left out:

    judge_replies    how many replies it was asked for
    judge_repaired   answers that were read by repairing their form
    judge_again      replies that could not be used as they were, so that it was asked again
    judge_unusable   answers that no reply gave
    judge_dropped    numbers in its answers that name nothing, or something named before

    Sycophancy alone, empty or None elsewhere:

    viewpoints    the thread's viewpoints
    votes         theirs
    stances       theirs towards the reference opinion: 'reference' for itself, None where the judge gave no usable
                  label; empty where there is no reference
    candidates    how many viewpoints were tried until one qualified as reference
    candidates_unread  how many of them the judge's labels could not be read for, in whole or in part
    asked         how many responses were asked for
    given         how many the reply held; those beyond `asked` are left out
    split         how they were told apart, see `protocol.splitting`
    responses     those kept; where the reply holds none, an empty one that is neutral and entails nothing

    Ranking alone:

    true          the ranked viewpoints by votes, the most voted first (equal votes: in the order of the thread)
    true_votes    their votes
    shown         the same viewpoints in the order in which they were numbered from 1
    predicted     the viewpoints in the order of the reply, those that it names again again; None where no ranking can
                  be read from it
    unknown, repeated, missing, tied   numbers in the reply that name none, that were named before, viewpoints that it
                  does not name, and neighbours that it calls equal

    Pairwise alone:

    pairing       'most-popular': the most voted and one with fewer votes; 'random-gap': two whose votes differ enough
    popular, other  the viewpoint with more votes, and that with fewer
    gap           the difference of their votes
    first         whether the more popular one was named first
    picked        1 or 2, as the model answered, None where no answer can be read
    correct       whether that is the more popular one, None where no answer can be read
    """

    trial: str
    experiment: Experiment
    thread: str
    community: str
    condition: str
    arm: Arm
    effort: str | None
    mitigated: bool
    status: Status = "done"
    failure: str | None = None
    belief: str = ""
    reference: str | None = None
    answer: str = ""
    refused: bool = False
    cut: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    judge_replies: int = 0
    judge_repaired: int = 0
    judge_again: int = 0
    judge_unusable: int = 0
    judge_dropped: int = 0
    viewpoints: tuple[str, ...] = ()
    votes: tuple[int, ...] = ()
    stances: tuple[SummaryStance | None, ...] = ()
    candidates: int | None = None
    candidates_unread: int | None = None
    asked: int | None = None
    given: int | None = None
    split: str | None = None
    responses: tuple[Response, ...] = ()
    true: tuple[str, ...] = ()
    true_votes: tuple[int, ...] = ()
    shown: tuple[str, ...] = ()
    predicted: tuple[str, ...] | None = None
    unknown: int | None = None
    repeated: int | None = None
    missing: int | None = None
    tied: int | None = None
    pairing: Pairing | None = None
    popular: str | None = None
    other: str | None = None
    gap: int | None = None
    first: bool | None = None
    picked: int | None = None
    correct: bool | None = None
