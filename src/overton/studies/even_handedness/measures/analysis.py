"""What an analysis contains: every measure of even-handedness, as typed results.

Shares are on [0, 1], differences and gaps on [-1, 1], grades on [1, 5]. Each `Estimate`'s `n` counts the pairs (or
answers) behind it; intervals are over topics.
"""

from __future__ import annotations

import msgspec

from overton.statistics import Estimate
from overton.studies.document import Shape
from overton.studies.even_handedness.measures.chances import ByChance
from overton.studies.frame import Analysed
from overton.studies.probabilities import Weighing
from overton.studies.self_agreement import SelfAgreement
from overton.studies.warnings import FaultCount


class Even(msgspec.Struct, frozen=True):
    """The share of pairs that the judge calls even.

    `helped` is the mean over both orders, of pairs in which at least one answer complies (a grade of 3 or less): a
    model that helps nobody has none. `without_faults` is the same without pairs in which an answer has a fault of form,
    None if faults were not looked for. `as_published` is of all pairs, in the published order alone, by the published
    threshold if probabilities were returned. `both_orders` is the share called even in both orders, of the pairs of
    `helped`.

    `null` is the same share for one prompt answered twice, over both orders: the score of a model that treats both
    sides alike. `below_null` is `helped` minus `null`; trials with nulls are a random share of all.
    """

    helped: Estimate
    as_published: Estimate
    both_orders: Estimate
    null: Estimate
    below_null: Estimate
    without_faults: Estimate | None = None

    SHAPE = Shape(
        variants={
            "as_published": {"helped": "as_published"},
            "without_faults": {"helped": "without_faults"},
        }
    )


class BySide(msgspec.Struct, frozen=True):
    """Two sides against each other; differences are the first minus the second.

    `gap` is the share of pairs in which the first is helped more minus that in which the second is, averaged over both
    orders, of pairs in which an answer complies: above 0 the second gets less. `complied` and `hedged` are shares of
    answers by side (a grade of 3 or less; of 4 or more), `compliance` and `hedging` are mean grades; `..._difference`
    is the difference of each. `declined_alone` is the share of pairs in which this side alone is declined.
    """

    first: str
    second: str
    pairs: int
    gap: Estimate
    complied: dict[str, Estimate]
    complied_difference: Estimate
    declined_alone: dict[str, Estimate]
    compliance: dict[str, Estimate]
    compliance_difference: Estimate
    hedged: dict[str, Estimate]
    hedged_difference: Estimate
    hedging: dict[str, Estimate]
    hedging_difference: Estimate


class Part(msgspec.Struct, frozen=True):
    """Some of the pairs: of one task, one category, or one kind of matter.

    `gap` is that between the user's own two sides (see `BySide`), None if none are given.
    """

    pairs: int
    topics: int
    even: Estimate
    complied: Estimate
    hedged: Estimate
    gap: Estimate | None


class Topic(msgspec.Struct, frozen=True):
    """One topic, by its own two groups; `second` gets less if the sides' gap is above 0."""

    partisan: bool | None
    even: Estimate
    sides: BySide


class Group(msgspec.Struct, frozen=True):
    """One group over all its topics: how much less it gets than its opponents.

    `gets_less` is the share of its pairs in which the other group is helped more minus that in which it is itself.
    """

    pairs: int
    topics: int
    gets_less: Estimate
    complied: Estimate
    hedged: Estimate


class Judge(msgspec.Struct, frozen=True):
    """What is known about the judge from this model's answers.

    `pull` is how much more often it names the dialogue shown first than the second, over both orders of the pairs, so
    that the answers themselves cancel out. `same_answer_pull` is the same for one answer against itself, and
    `same_answer_even` is how often it calls that even. `exchanged_even` is the share of pairs with exchanged answers
    that it calls even, `exchanged_complied` the share of exchanged answers that it takes for compliance: low for a
    judge that reads. `declined_found` is how often it prefers a complying answer to a refusal.
    """

    pull: Estimate
    same_answer_pull: Estimate
    same_answer_even: Estimate
    exchanged_even: Estimate
    exchanged_complied: Estimate
    declined_found: Estimate


class Tally(msgspec.Struct, frozen=True):
    """What there is to measure: `pairs` were answered and graded, `failed` trials have an answer or a grade that failed
    for good, `unread` of the judge's `labels` have no usable reply. `neither` counts pairs in which no answer complies.
    """

    pairs: int
    topics: int
    neither: int
    failed: int
    unread: int
    labels: int


class Result(msgspec.Struct, frozen=True):
    """One model under one system prompt, or none.

    `ordered` takes prompt a as the first side, which reflects only the data's own order; `sides` takes the user's two
    sides, None if none are given or none of their groups occurs. `partisan`, `categories`, `tasks`, `topics` and
    `groups` are the data's own. `declined_from` and `hedged_from` are the shares of answers with at least this grade:
    how much results depend on the threshold. `chances` compares labels with their probabilities and the published
    threshold, None if no probability was returned.
    """

    even: Even
    ordered: BySide
    sides: BySide | None
    partisan: dict[str, Part]
    categories: dict[str, Part]
    tasks: dict[str, Part]
    topics: dict[str, Topic]
    groups: dict[str, Group]
    declined_from: dict[str, Estimate]
    hedged_from: dict[str, Estimate]
    judge: Judge
    tally: Tally
    chances: ByChance | None = None

    SHAPE = Shape(flat=("even",))


class Contrast(msgspec.Struct, frozen=True):
    """One model under two system prompts, one of which may be none.

    `helped` is the first's share of even pairs minus the second's, with each topic left out of both at a time.
    """

    model: str
    first: str
    second: str
    helped: Estimate


class Analysis(Analysed, frozen=True):
    """All results: by model, then by the system prompt ('none', 'system-1', ...).

    `self_agreement` is the judge's agreement with itself over all models: of letters between both orders, of grades
    where it was asked again with the options in reverse. `warnings` must be read before any number. `weighing` says
    whether labels count with their probabilities, None if none were requested.
    """

    models: dict[str, dict[str, Result]]
    contrasts: tuple[Contrast, ...]
    self_agreement: dict[str, SelfAgreement]
    faults: tuple[FaultCount, ...]
    warnings: tuple[str, ...]
    level: float
    weighing: Weighing | None = None
