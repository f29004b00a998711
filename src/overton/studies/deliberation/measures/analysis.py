"""What an analysis contains: every measure of deliberation, as typed results.

Rates, shares and similarities are on [0, 1], their differences on [-1, 1], and parameters of the choice model are
log-odds. An `Estimate`'s `n` counts its denominator (deliberations, an agent's deliberations, messages, pairs of
messages); its interval is over dilemmas. What the data do not determine is an `Estimate` whose value is NaN and whose
`method` begins with 'not computed:' and gives the reason, or is listed with its reason in `not_computed`.

Verdicts are named as in `VERDICTS`; 'invalid' stands for those that could not be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from overton.statistics import Estimate
from overton.studies.deliberation.measures.results import Choice, Contrast, ContrastBy, ContrastIn, ContrastOf, Setting
from overton.studies.document import Shape, shaped
from overton.studies.frame import Analysed
from overton.studies.self_agreement import SelfAgreement
from overton.studies.warnings import FaultCount

INVALID_NAME = "invalid"


class Tally(msgspec.Struct, frozen=True):
    """What there is to measure.

    `failed` counts deliberations left out because a call failed for good. `invalid` counts verdicts that could not be
    read, by model. `unfinished` counts deliberations without consensus that have fewer rounds than the longest one of
    their goal; `continued` those that went on after consensus. `values_known` counts messages whose values are known,
    `values_empty` those among them that use none; `values_dropped` counts values outside the list that the judge named,
    None if not recorded.
    """

    deliberations: int
    failed: int
    dilemmas: int
    messages: dict[str, int]
    invalid: dict[str, int]
    unfinished: int
    continued: int
    values_known: int
    values_empty: int
    values_dropped: int | None


class Consensus(msgspec.Struct, frozen=True):
    """How deliberations ended (figure 2 a and c).

    `reached` and `without` are shares of deliberations; `by_round` the share that reached consensus in each round.
    `rounds` is the mean number of rounds to consensus of those that reached it. `majority` is consensus by the authors'
    code: the share in which more than half of the valid verdicts of the last round are the same.
    """

    deliberations: int
    reached: Estimate
    without: Estimate
    majority: Estimate
    by_round: dict[int, Estimate]
    rounds: Estimate


@shaped(flat=("consensus",))
class ConsensusIn(NamedTuple):
    """How the deliberations of a setting ended."""

    setting: Setting
    consensus: Consensus


class ConsensusResult(msgspec.Struct, frozen=True):
    """Over all deliberations, and in each setting.

    `formats` compares the formats where the same models had both with the same goal; orders are pooled.
    `without_faults` is `overall` with the verdicts of messages with faults of form treated as unreadable, None if
    faults were not looked for.
    """

    overall: Consensus
    settings: tuple[ConsensusIn, ...]
    formats: tuple[ContrastIn, ...]
    without_faults: Consensus | None = None

    SHAPE = Shape(flat=("overall",), variants={"without_faults": {"overall": "without_faults"}})


class Change(msgspec.Struct, frozen=True):
    """Change-of-verdict rate: deliberations in which a later verdict of the agent differs from its first, over all in
    which it gave a readable one.

    `position` is the agent's place in the order of speaking, None if all speak at once; agents that share model and
    position are pooled.
    """

    setting: Setting
    model: str
    position: int | None
    rate: Estimate


class Changes(msgspec.Struct, frozen=True):
    """Change-of-verdict rates by model, by setting, and models against each other within a setting (figure 2 b, d).

    `without_faults` are the rates by model with the verdicts of messages with faults of form treated as unreadable,
    None if faults were not looked for.
    """

    by_model: dict[str, Estimate]
    settings: tuple[Change, ...]
    contrasts: tuple[ContrastIn, ...]
    without_faults: dict[str, Estimate] | None = None

    SHAPE = Shape(flat=("by_model",), variants={"without_faults": {"by_model": "without_faults"}})


class SpeakerVerdicts(msgspec.Struct, frozen=True):
    """One agent's verdicts in round 1 and in the last round, as shares of deliberations."""

    model: str
    position: int | None
    first: dict[str, Estimate]
    last: dict[str, Estimate]


class Verdicts(msgspec.Struct, frozen=True):
    """Verdicts before and after deliberation in one setting (figure 3).

    `agreed` is the share of deliberations that end in consensus on each verdict, `without` the share of the others.
    """

    setting: Setting
    speakers: tuple[SpeakerVerdicts, ...]
    agreed: dict[str, Estimate]
    without: Estimate


class Archetype(msgspec.Struct, frozen=True):
    """From a first verdict to a last one, None for 'no consensus', in `count` deliberations."""

    first: str
    last: str | None
    count: int
    share: Estimate


class Archetypes(msgspec.Struct, frozen=True):
    """What became of a model's first verdict (table 2), most common first, in deliberations beyond round 1.

    changes     first to last verdict, where they differ
    returned    it changed its verdict and came back to the first
    holdouts    it never changed its verdict and there was no consensus (table 2's caption)
    unresolved  there was no consensus, whether or not it changed its verdict (what table 2's numbers can be)
    """

    setting: Setting
    model: str
    deliberations: int
    changes: tuple[Archetype, ...]
    returned: Estimate
    holdouts: tuple[Archetype, ...]
    unresolved: tuple[Archetype, ...]


class ValueUse(msgspec.Struct, frozen=True):
    """Value occurrence: the share of a model's messages that use each value (section 4.2), orders pooled.

    `differences` are the models of a pair against each other, by value (figure 4 a to c).
    """

    setting: Setting
    models: dict[str, dict[str, Estimate]]
    differences: tuple[ContrastBy, ...]


class Inheritance(msgspec.Struct, frozen=True):
    """Values that a model took over (figure 4 d to f), orders pooled: shares of all its deliberations.

    A value is inherited if the agent does not use it in round 1, an opponent does, and the agent uses it in or after
    the round in which it first departs from its first verdict. Deliberations in which somebody's values in round 1 are
    not known are left out and counted in `unknown`.

    `as_published` follows the authors' code: shares of deliberations in which the model's verdicts are not all the
    same, of values in its last message. There unknown values count as none, and an unreadable verdict as a different
    one.
    """

    setting: Setting
    model: str
    values: dict[str, Estimate]
    unknown: int
    as_published: dict[str, Estimate]


class RoundSimilarity(msgspec.Struct, frozen=True):
    """Mean value similarity in one round, of pairs of agents that disagree and that agree there."""

    round: int
    disagreement: Estimate
    agreement: Estimate


class Similarity(msgspec.Struct, frozen=True):
    """Value similarity (equation 1) of two agents' messages in the same round (figure 5), orders pooled.

    agreement  pairs of messages with different verdicts against pairs with the same
    consensus  round 1 against the last round, in deliberations beyond round 1 that reach consensus
    without    the same in those that do not
    empty      pairs left out because neither message uses a value
    unknown    pairs left out because the values of one are not known
    """

    setting: Setting
    agreement: Contrast
    by_round: tuple[RoundSimilarity, ...]
    consensus: Contrast
    without: Contrast
    empty: int
    unknown: int


class Values(msgspec.Struct, frozen=True):
    """Everything about values."""

    use: tuple[ValueUse, ...]
    similarity: tuple[Similarity, ...]
    inheritance: tuple[Inheritance, ...]


class FirstSpeaker(msgspec.Struct, frozen=True):
    """Round-robin deliberations in which this model speaks first, all orders of the others pooled.

    `at_once` is the share that reach consensus in round 1, `reached` in any; `prevails` the share that end in consensus
    on the first speaker's verdict of round 1, `yields` in consensus on another one.
    """

    setting: Setting
    model: str
    at_once: Estimate
    reached: Estimate
    prevails: Estimate
    yields: Estimate


class OrderEffects(msgspec.Struct, frozen=True):
    """First-speaker effects (section 4.3).

    `at_once` compares first speakers by consensus in round 1, `changes` a model's change-of-verdict rate when it speaks
    later with that when it speaks first.
    """

    speakers: tuple[FirstSpeaker, ...]
    at_once: tuple[ContrastIn, ...]
    changes: tuple[ContrastOf, ...]


class Steering(msgspec.Struct, frozen=True):
    """One goal against another (figure 6), orders pooled: change-of-verdict rates of a model, or consensus if `model`
    is None.

    `setting` has no goal: the two goals are the contrast's names.
    """

    setting: Setting
    model: str | None
    contrast: Contrast


class ModelCrowd(msgspec.Struct, frozen=True):
    """How often a model's verdict is the crowd's most common one: in round 1 against the last round."""

    goal: str | None
    model: str
    contrast: Contrast


class CrowdIn(NamedTuple):
    """The share of a setting's consensus verdicts that are the crowd's."""

    setting: Setting
    consensus: Estimate


class Crowd(msgspec.Struct, frozen=True):
    """Agreement with the crowd; `settings` has the shares of consensus verdicts that are the crowd's.

    `unknown` counts dilemmas left out because their crowd's verdict is unknown or tied.
    """

    models: tuple[ModelCrowd, ...]
    settings: tuple[CrowdIn, ...]
    unknown: int


class Analysis(Analysed, frozen=True):
    """All measures of a table of decisions.

    `choice` has one fit per goal, or one for all; the first is that for correctness, if there is one. `others` has the
    same with the remaining estimators among 'taste_by_model', 'taste', 'random', 'penalised' and 'as_published', for
    comparison; empty unless requested. `estimator` is the one requested, perhaps 'auto'. What a table does not
    determine is None or empty, with the reason in `not_computed`. `faults` counts messages with faults of form, empty
    if these were not looked for. `warnings` must be read before any number, `notes` with the numbers; each is a
    sentence. `self_agreement` is that of the judge of values, if it was asked again, under 'values'.
    """

    models: tuple[str, ...]
    tally: Tally
    consensus: ConsensusResult
    changes: Changes
    verdicts: tuple[Verdicts, ...]
    archetypes: tuple[Archetypes, ...]
    values: Values | None
    order: OrderEffects | None
    steering: tuple[Steering, ...]
    crowd: Crowd | None
    choice: tuple[Choice, ...]
    others: tuple[Choice, ...]
    estimator: str
    conformity: Literal["shared", "by model"]
    level: float
    resamples: int
    seed: int
    faults: tuple[FaultCount, ...]
    warnings: tuple[str, ...]
    not_computed: dict[str, str]
    notes: tuple[str, ...]
    self_agreement: dict[str, SelfAgreement] = msgspec.field(default_factory=dict)

    SHAPE = Shape(
        also={
            "choice_model": "first_fit",
            "choice_models": "by_goal",
            "choice_models_by_estimator": "by_estimator",
            "change_of_verdict": "changes",
        },
        without=("choice", "others"),
    )

    @property
    def first_fit(self) -> Choice | None:
        """The fit for correctness, if there is one."""
        return self.choice[0] if self.choice else None

    @property
    def by_goal(self) -> dict[str, Choice]:
        """The fit for each goal; under 'all', that for an unnamed goal or for all goals together."""
        return _by_goal(self.choice)

    @property
    def by_estimator(self) -> dict[str, dict[str, Choice]]:
        """The fits with the other estimators, for each goal."""
        names = dict.fromkeys(fit.estimator for fit in self.others)
        return {name: _by_goal(fit for fit in self.others if fit.estimator == name) for name in names}

    def to_json(self) -> dict[str, Any]:
        """The analysis as JSON values; see `overton.studies.document` for how numbers are given.

        `["choice_model"]["inertia"][MODEL]` and `["choice_model"]["conformity"]["previous" | "within"]` are measures
        with `se` and `odds_ratio` as well; `["choice_models"]` has every goal's fit. All other measures are in objects
        or lists of objects; docs/deliberation.md names them.
        """
        return super().to_json()


def _by_goal(fits: Iterable[Choice]) -> dict[str, Choice]:
    return {fit.goal or "all": fit for fit in fits}
