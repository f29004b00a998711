"""The options of the experiments, and their arms, which differ in the belief that the user states.

A condition's name is its arm, followed by any differences from the plain setting: 'toward', 'toward+mitigated',
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
"""The arms of each experiment. The first arm is the one that all others are compared with.

neutral          prompts 1, 4 and 6, which do not mention the user's beliefs
toward           prompt 2, in which the user believes the reference opinion
opposing         prompt 3, in which the user believes its negation
biased           prompts 5 and 7, in which the user believes the less popular view of a pair, or the least popular view
matched-neutral  Overton's own prompt, with the wording and the system prompt of the biased prompts, but without a
                 belief
"""

_EFFORT, _MITIGATED = "effort-", "mitigated"


class ThreadCondition(msgspec.Struct, frozen=True):
    """One arm in one setting.

    `effort` is the reasoning effort requested, in the provider's own word (appendix A.3), or None. If `mitigated`, the
    system prompt also asks for every reasonable view, whatever the user believes (appendix A.2).
    """

    arm: Arm
    effort: str | None = None
    mitigated: bool = False

    @property
    def name(self) -> str:
        """The arm, followed by any differences from the plain setting."""
        effort = [f"{_EFFORT}{self.effort}"] if self.effort else []
        return "+".join([self.arm, *effort, *([_MITIGATED] if self.mitigated else [])])


class ConditionParts(NamedTuple):
    """The parts of a condition's name. `setting` has the words after the arm, and is '' for the plain setting."""

    arm: str
    setting: str
    effort: str | None
    mitigated: bool


Against = Literal["neutral", "matched-neutral", "twin"]
"""Kinds of conditions that a condition is compared with. 'neutral' is the neutral prompt, and 'matched-neutral' the
neutral prompt in the words of the biased prompts. 'twin' is the same arm in a plainer setting."""

SHIFTS: Mapping[str, tuple[str, str]] = {"toward": ("against", "supporting"), "opposing": ("supporting", "against")}
"""For each biased arm: the stance of the views against the belief, and the stance of the views with it."""


_ARMS: tuple[Arm, ...] = get_args(Arm)
_ALIASES = {
    "n": "neutral",
    "b.t": "toward",
    "b.o": "opposing",
    "biased-toward": "toward",
    "biased-opposing": "opposing",
    "biased-against": "opposing",
}
"""The paper's words for arms, with Overton's words."""


class ConditionPair(NamedTuple):
    """A condition, the condition that it is compared with, and the name of this comparison."""

    condition: str
    other: str
    against: Against


@lru_cache  # called for every row of a table of estimates
def named(condition: str) -> ConditionParts:
    """The parts of a condition's name; `arm` is '' if the arm is neither Overton's nor the paper's."""
    arm, *words = condition.split("+")
    arm = "-".join(arm.lower().replace("_", " ").split())
    arm = _ALIASES.get(arm, arm)
    effort = next((word.removeprefix(_EFFORT) for word in words if word.startswith(_EFFORT)), None)
    return ConditionParts(arm if arm in _ARMS else "", "+".join(words), effort, _MITIGATED in words)


def in_order(conditions: Sequence[str]) -> list[str]:
    """Sort conditions: the plain setting first, and in each setting the neutral arm, then biased arms, then unknown
    arms."""

    def place(condition: str) -> tuple[bool, str, int, str]:
        found = named(condition)
        return bool(found.setting), found.setting, [*_ARMS, ""].index(found.arm), condition

    return sorted(conditions, key=place)


def comparisons(conditions: Sequence[str]) -> list[ConditionPair]:
    """Pair each condition with up to three others: the neutral arm and the matched neutral arm of its setting, and the
    same arm in a plainer setting."""
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
    """The same arm in a plainer setting. A mitigated condition is compared with the unmitigated condition of the same
    effort. An unmitigated condition with a reasoning effort is compared with the condition without a reasoning effort.
    If there is no such condition, it is compared with the condition that has the first effort."""
    arm = {name: parts for name, parts in known.items() if parts.arm == own.arm}
    if own.mitigated:
        return next((name for name, parts in arm.items() if parts.effort == own.effort and not parts.mitigated), None)
    plain = [name for name, parts in arm.items() if not parts.mitigated]
    return min(plain, key=lambda name: arm[name].effort is not None, default=None) if own.effort else None


def compared_with(condition: str, other: str) -> Against:
    """The kind of the condition `other`, with which `condition` is compared in a `ConditionPair`."""
    own, against = named(condition), named(other)
    if own.arm and own.arm == against.arm:
        return "twin"
    return "matched-neutral" if against.arm == "matched-neutral" else "neutral"


Matching = Literal["together", "pairs", "lexical"]
"""How responses are matched to viewpoints. Only runs of version 0.2.0 and older have 'lexical' (by shared words)."""
Pairing = Literal["most-popular", "random-gap"]
Shown = Literal["shuffled", "given"]

_EXPERIMENTS: tuple[Experiment, ...] = get_args(Experiment)
_MOST_RESPONSES = 50
_MOST_RANKED = 50
_TOKENS_A_RESPONSE = 256
"""Tokens allowed for a response of some 190 words; the paper mentions no limits."""


class Options(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """Options of the experiments."""

    experiments: Annotated[tuple[Experiment, ...], Option("Experiments to run", flag="--experiment", extends=True)] = (
        _EXPERIMENTS
    )
    arms: Annotated[
        tuple[Arm, ...] | None,
        Option("Arms of the experiments; all by default", flag="--arm", extends=True),
    ] = None
    efforts: Annotated[
        tuple[str | None, ...],
        Option(
            "Reasoning efforts of the measured model, in the provider's words; own means the provider's default",
            flag="--effort",
            none="own",
            extends=True,
        ),
    ] = (None,)
    mitigation: Annotated[
        bool, Option("Repeat each condition with a system prompt that asks for every reasonable view")
    ] = False
    responses: Annotated[
        int, Option("Number of responses to a post (ten in the paper)", least=1, most=_MOST_RESPONSES)
    ] = 10
    independent: Annotated[bool, Option("Ask for each response separately, not for all responses in one reply")] = False
    candidates: Annotated[
        int | None,
        Option(
            "Number of viewpoints to try as reference opinion, most votes first; all by default", least=1, most=1_000
        ),
    ] = None
    matching: Annotated[
        Matching,
        Option(
            "How the judge matches responses to viewpoints: together (all in one call) or pairs (one call per pair)",
            removed=(("lexical", "use together or pairs with a judge (simulated/pluralist-judge needs no model)"),),
        ),
    ] = "together"
    ranked: Annotated[
        int, Option("Number of viewpoints to rank, most votes first (ten in the paper)", least=2, most=_MOST_RANKED)
    ] = 10
    least_popular: Annotated[
        Literal["thread", "ranked"],
        Option(
            "Belief that the user states in rankings: the viewpoint with the fewest votes in the thread, or among"
            " the ranked viewpoints"
        ),
    ] = "thread"
    pairings: Annotated[
        tuple[Pairing, ...],
        Option(
            "Pairs to compare: the viewpoint with the most votes and a random viewpoint with fewer votes, or two"
            " random viewpoints (appendix A.6)",
            flag="--pairing",
        ),
    ] = ("most-popular", "random-gap")
    pairs: Annotated[int, Option("Number of pairs per thread and pairing", least=1, most=1_000)] = 1
    pair_orders: Annotated[
        Literal["both", "one"],
        Option("Whether to show each pair in both orders, or in one random order as in the paper"),
    ] = "both"
    gap: Annotated[
        int,
        Option("Smallest difference in votes between the two viewpoints of a random pair", least=1, most=1_000_000_000),
    ] = 10
    shown: Annotated[
        Shown, Option("Order of a thread's viewpoints in the matcher's prompt: shuffled for each response, or as given")
    ] = "shuffled"
    neutral_trials: Annotated[
        int,
        Option(
            "Number of times that the null condition 'neutral-again' repeats each neutral question",
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
        """Problems with combinations of options that are valid one by one."""
        weighed = self._weighed()
        if self.shares != "sampled" and not weighed:
            reason = "a ranking is a list, so no token has the probability of a viewpoint's place; use sampled"
            yield Problem(option_place("shares"), self.shares, reason)
        if "subject" in weighed and any(effort not in (None, "none") for effort in self.efforts):
            reason = (
                "a model that reasons first reports only the probability after one chain of thought; leave out the"
                " efforts, or the experiment pairwise"
            )
            yield Problem(option_place("shares"), self.shares, reason)
        for effort in self.efforts:
            if effort is not None and not (effort.isascii() and effort.replace("-", "").replace("_", "").isalnum()):
                yield Problem(option_place("efforts"), effort, "must be a word of letters, digits, '-' and '_'")
        arms = _ARMS if self.arms is None else self.arms
        for experiment in self.experiments:
            if experiment in ARMS and not set(ARMS[experiment]) & set(arms):
                reason = f"is not an arm of {experiment}, which has {', '.join(ARMS[experiment])}"
                yield Problem(option_place("arms"), "", reason)

    def demands(self, named: Mapping[str, Sequence[str]]) -> Demands:
        """Request token probabilities. Also request enough tokens for the measured model to give all responses in one
        reply."""
        together = "sycophancy" in self.experiments and not self.independent
        tokens = {"subject": _TOKENS_A_RESPONSE * self.responses} if together else {}
        return Demands(tokens=tokens, probabilities=self._weighed())

    def _weighed(self) -> tuple[str, ...]:
        """The roles that are asked for token probabilities. In pairs, that is the model, which chooses one of two
        viewpoints. For responses, it is the judge, which labels them."""
        if self.shares == "sampled":
            return ()
        asked = {"pairwise": "subject", "sycophancy": "judge"}
        return tuple(role for experiment, role in asked.items() if experiment in self.experiments)


Denominator = Literal["non-neutral", "labelled"]
"""The denominator of the precision of a stance: all non-neutral responses, or the responses labelled with that
stance."""


FALSE_MATCHES = (1, 5, 10)
"""Assumed percentages of responses that a matcher falsely matches to a viewpoint."""

MOST_COVERAGE = 50
"""Coverage is computed after 1, 2, ... responses, up to this number."""


class PluralismHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options for computing the measures of pluralism. `summaries` is a table or a data frame."""

    denominator: Annotated[
        Denominator,
        Option(
            "Denominator of a stance's precision: all non-neutral responses, or only the responses labelled with"
            " this stance"
        ),
    ] = "non-neutral"
    summaries: Annotated[
        Any,
        Option("Table with the columns thread, summary, stance and votes, needed for a table of matches", file=True),
    ] = None
    shares: AsAsked = "as-asked"
