"""The options of the experiments, and their arms: what the user has said before the question.

A condition's name is its arm, followed by what differs from the plain setting: 'toward', 'toward+mitigated',
'toward+effort-high', 'toward+effort-high+mitigated'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec

from overton.errors import Problem
from overton.studies.calibration_sample import CALIBRATE, CALIBRATE_EACH, Calibrate, CalibrateEach
from overton.studies.measurement import How
from overton.studies.options import Demands, Option, StudyOptions, option_place
from overton.studies.probabilities import AsAsked, Shares
from overton.studies.self_agreement import RETEST, Retest

Experiment = Literal["sycophancy", "ranking", "pairwise"]
Arm = Literal["neutral", "toward", "opposing", "biased", "matched-neutral"]

ARMS: dict[Experiment, tuple[Arm, ...]] = {
    "sycophancy": ("neutral", "toward", "opposing", "matched-neutral"),
    "ranking": ("neutral", "biased", "matched-neutral"),
    "pairwise": ("neutral", "biased", "matched-neutral"),
}
"""The arms of each experiment, the one that all others are compared with first.

neutral          prompts 1, 4 and 6: nothing is said about what the user believes
toward           prompt 2: the user believes the reference opinion
opposing         prompt 3: the user believes its negation
biased           prompts 5 and 7: the user believes the less popular view, or the least popular
matched-neutral  ours: the wording and the system prompt of the biased prompts, without a belief
"""

_EFFORT, _MITIGATED = "effort-", "mitigated"


class ThreadCondition(msgspec.Struct, frozen=True):
    """One arm in one setting.

    `effort` is the reasoning effort requested, in the provider's own word (appendix A.3), None if none is; with
    `mitigated` the system prompt also asks for every reasonable view whatever the user believes (appendix A.2).
    """

    arm: Arm
    effort: str | None = None
    mitigated: bool = False

    @property
    def name(self) -> str:
        """The arm, followed by what differs from the plain setting."""
        effort = [f"{_EFFORT}{self.effort}"] if self.effort else []
        return "+".join([self.arm, *effort, *([_MITIGATED] if self.mitigated else [])])


class ConditionParts(NamedTuple):
    """What a condition's name says; `setting` is '' for the plain one, otherwise the words after the arm."""

    arm: str
    setting: str
    effort: str | None
    mitigated: bool


Against = Literal["neutral", "matched-neutral", "twin"]
"""What a condition is compared with: the neutral prompt, the neutral one in the biased prompts' words, or the same
arm in the plain setting."""

SHIFTS: Mapping[str, tuple[str, str]] = {"toward": ("against", "supporting"), "opposing": ("supporting", "against")}
"""For each biased arm: the stance of the views against the belief, and of those with it."""


_ARMS: tuple[Arm, ...] = get_args(Arm)
_ALIASES = {
    "n": "neutral",
    "b.t": "toward",
    "b.o": "opposing",
    "biased-toward": "toward",
    "biased-opposing": "opposing",
    "biased-against": "opposing",
}
"""The paper's words for arms, and ours."""


class ConditionPair(NamedTuple):
    """A condition, the one that it is compared with, and what that is."""

    condition: str
    other: str
    against: Against


@lru_cache  # every row of a table of estimates asks
def named(condition: str) -> ConditionParts:
    """The parts of a condition's name; `arm` is '' if it is neither ours nor the paper's."""
    arm, *words = condition.split("+")
    arm = "-".join(arm.lower().replace("_", " ").split())
    arm = _ALIASES.get(arm, arm)
    effort = next((word.removeprefix(_EFFORT) for word in words if word.startswith(_EFFORT)), None)
    return ConditionParts(arm if arm in _ARMS else "", "+".join(words), effort, _MITIGATED in words)


def in_order(conditions: Sequence[str]) -> list[str]:
    """The plain setting first; in each setting the neutral arm, then the biased ones, then unknown ones."""

    def place(condition: str) -> tuple[bool, str, int, str]:
        found = named(condition)
        return bool(found.setting), found.setting, [*_ARMS, ""].index(found.arm), condition

    return sorted(conditions, key=place)


def comparisons(conditions: Sequence[str]) -> list[ConditionPair]:
    """Each condition with the neutral one of its setting, the matched neutral one, and its arm in a plainer setting."""
    known = {name: named(name) for name in in_order(conditions)}
    return [pair for name in known for pair in _comparisons_of(name, known)]


def _comparisons_of(name: str, known: Mapping[str, ConditionParts]) -> Iterator[ConditionPair]:
    own = known[name]
    others: dict[Against, str | None] = {
        "neutral": _other(known, own, "neutral"),
        "matched-neutral": _other(known, own, "matched-neutral") if own.arm != "neutral" else None,
        "twin": _twin(known, own) if own.arm else None,
    }
    for against, other in others.items():
        if other is not None and other != name:
            yield ConditionPair(name, other, against)


def _other(known: Mapping[str, ConditionParts], own: ConditionParts, arm: str) -> str | None:
    same = (
        (parts.effort, parts.mitigated) == (own.effort, own.mitigated) and parts.arm == arm for parts in known.values()
    )
    return next((name for name, fits in zip(known, same, strict=True) if fits), None)


def _twin(known: Mapping[str, ConditionParts], own: ConditionParts) -> str | None:
    """The same arm unmitigated; otherwise without a reasoning effort; otherwise with the first effort."""
    arm = {name: parts for name, parts in known.items() if parts.arm == own.arm}
    if own.mitigated:
        return next((name for name, parts in arm.items() if parts.effort == own.effort and not parts.mitigated), None)
    plain = [name for name, parts in arm.items() if not parts.mitigated]
    return min(plain, key=lambda name: arm[name].effort is not None, default=None) if own.effort else None


def compared_with(condition: str, other: str) -> Against:
    """What the other one of a `ConditionPair` is."""
    own, against = named(condition), named(other)
    if own.arm and own.arm == against.arm:
        return "twin"
    return "matched-neutral" if against.arm == "matched-neutral" else "neutral"


Matching = Literal["together", "pairs", "lexical"]
"""How responses are matched to viewpoints; 'lexical' (by shared words) only in runs of 0.2.0 and before."""
Pairing = Literal["most-popular", "random-gap"]
Shown = Literal["shuffled", "given"]

_EXPERIMENTS: tuple[Experiment, ...] = get_args(Experiment)
_MOST_RESPONSES = 50
_MOST_RANKED = 50
_TOKENS_A_RESPONSE = 256
"""Room for a response of some 190 words; the paper says nothing about limits."""


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """What shapes the experiments besides the threads and the seed."""

    experiments: Annotated[
        tuple[Experiment, ...], Option("Which experiments to run", flag="--experiment", extends=True)
    ] = _EXPERIMENTS
    arms: Annotated[
        tuple[Arm, ...] | None,
        Option("Which arms of the experiments; all by default", flag="--arm", extends=True),
    ] = None
    efforts: Annotated[
        tuple[str | None, ...],
        Option(
            "Reasoning efforts requested of the model measured, in the provider's words; own requests none",
            flag="--effort",
            none="own",
            extends=True,
        ),
    ] = (None,)
    mitigation: Annotated[
        bool, Option("Give each condition a twin whose system prompt asks for every reasonable view")
    ] = False
    responses: Annotated[int, Option("Responses to a post (the paper has ten)", least=1, most=_MOST_RESPONSES)] = 10
    independent: Annotated[bool, Option("Ask for each response separately, not for all in one reply")] = False
    candidates: Annotated[
        int | None,
        Option("Viewpoints tried as reference opinion, most votes first; all by default", least=1, most=1_000),
    ] = None
    matching: Annotated[
        Matching,
        Option(
            "How the judge matches responses to viewpoints: together in one call, or pairs (one call per pair)",
            removed=(("lexical", "use together or pairs with a judge (simulated/pluralist-judge needs no model)"),),
        ),
    ] = "together"
    ranked: Annotated[
        int, Option("Viewpoints to rank, those with the most votes (the paper has ten)", least=2, most=_MOST_RANKED)
    ] = 10
    least_popular: Annotated[
        Literal["thread", "ranked"],
        Option("In rankings, the belief is the viewpoint with the fewest votes in the thread, or among those ranked"),
    ] = "thread"
    pairings: Annotated[
        tuple[Pairing, ...],
        Option(
            "The viewpoint with the most votes against a random one with fewer, or random pairs (appendix A.6)",
            flag="--pairing",
        ),
    ] = ("most-popular", "random-gap")
    pairs: Annotated[int, Option("Pairs per thread and pairing", least=1, most=1_000)] = 1
    pair_orders: Annotated[
        Literal["both", "one"],
        Option("Whether each pair is shown in both orders, or in one that is drawn, as in the paper"),
    ] = "both"
    gap: Annotated[int, Option("Least difference in votes of a random pair", least=1, most=1_000_000_000)] = 10
    shown: Annotated[
        Shown, Option("How the matcher is shown a thread's viewpoints: shuffled for each response, or as given")
    ] = "shuffled"
    neutral_trials: Annotated[
        int,
        Option(
            "How many times the null 'neutral-again' repeats each neutral question",
            least=1,
            most=100,
            flag="--trials",
            extends=True,
        ),
    ] = 1
    retest: Retest = RETEST
    shares: Shares = "sampled"
    calibrate: Calibrate = CALIBRATE
    calibrate_each: CalibrateEach = CALIBRATE_EACH

    def problems(self) -> Iterator[Problem]:
        """Problems with combinations of options that are each valid alone."""
        weighed = self._weighed()
        if self.shares != "sampled" and not weighed:
            reason = "a ranking is a list: no token's probability is that of a viewpoint's place. Use sampled"
            yield Problem(option_place("shares"), self.shares, reason)
        if "subject" in weighed and any(effort not in (None, "none") for effort in self.efforts):
            reason = (
                "a model that reasons before it chooses reports only the probability after a single line of thought:"
                " leave out the efforts, or the experiment pairwise"
            )
            yield Problem(option_place("shares"), self.shares, reason)
        for effort in self.efforts:
            if effort is not None and not (effort.isascii() and effort.replace("-", "").replace("_", "").isalnum()):
                yield Problem(option_place("efforts"), effort, "must be a word of letters, digits, '-' and '_'")
        arms = _ARMS if self.arms is None else self.arms
        for experiment in self.experiments:
            if experiment in ARMS and not set(ARMS[experiment]) & set(arms):
                reason = f"names no arm of {experiment}, which has {', '.join(ARMS[experiment])}"
                yield Problem(option_place("arms"), "", reason)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Probabilities, and room for all responses of a reply of the model measured."""
        together = "sycophancy" in self.experiments and not self.independent
        tokens = {"subject": _TOKENS_A_RESPONSE * self.responses} if together else {}
        return Demands(tokens=tokens, probabilities=self._weighed())

    def _weighed(self) -> tuple[str, ...]:
        """The roles asked for token probabilities: the model if it chooses one of two viewpoints, the judge if it
        labels responses."""
        if self.shares == "sampled":
            return ()
        asked = {"pairwise": "subject", "sycophancy": "judge"}
        return tuple(role for experiment, role in asked.items() if experiment in self.experiments)


Denominator = Literal["non-neutral", "labelled"]
"""What the precision of a stance is a share of: all responses that are not neutral, or those labelled with it."""


FALSE_MATCHES = (1, 5, 10)
"""Percentages of responses that a matcher might match to a viewpoint that they do not entail."""

MOST_COVERAGE = 50
"""Coverage is given after 1, 2, ... and at most this many responses."""


class PluralismHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How pluralism is computed; `summaries` is a table, or already a frame of one."""

    denominator: Annotated[
        Denominator,
        Option("Denominator of a stance's precision: all non-neutral responses, or those labelled with the stance"),
    ] = "non-neutral"
    summaries: Annotated[Any, Option("Table of thread, summary, stance, votes, for one of matches", file=True)] = None
    shares: AsAsked = "as-asked"
