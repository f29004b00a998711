"""Sentences made from a study's numbers: its findings, and the traits that a model's profile reports.

A study declares possible effects (`CandidateFinding`, `OwnTest`), and findings that state a model's number and claim no
effect (`level_finding`). The possible effects and the differences from null conditions (`overton.studies.contrasts`)
are one family of tests. If no effect exists, at most 5 of 100 reports claim one. `correct_for_multiple_tests` widens
the intervals of all candidates accordingly (Bonferroni). A candidate claims an effect only if its corrected interval or
test excludes the null value. Otherwise the finding may state how small the effect is, or that the data cannot tell.

`overton.reports.profile` assembles profiles without knowledge of any study.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan, nan
from typing import Generic, Literal, TypeVar, get_args

import msgspec

from overton.statistics import NO_INTERVAL, Estimate, not_computed
from overton.statistics.estimate import FEWEST, SHARE, Range
from overton.studies.document import Shape
from overton.studies.numbers import Kind, brief_interval, brief_number, brief_value, percentage

EITHER = "\ue000"
"""The placeholder for the word that differs between a sentence for above and one for below. It is from Unicode's
private use area, so no name contains it."""

FAMILY = 0.05
"""The largest probability that an analysis claims an effect although there is none, over all its tests together.

All tests get the same part of this probability: each candidate, each test that a study computes itself, and each
difference from a null condition. Differences from null conditions use their parts jointly
(`overton.studies.contrasts`).
"""

DO_NOT_QUOTE = "Do not quote this"
"""The words before the caution of a finding that is not to be quoted."""

VOID = "This is not a measurement."
"""The caution of a sentence that itself gives the reason why a model's answers are not a measurement."""

DOUBTFUL = "Its numbers say little about its opinions."
"""The caution of a sentence that says why a model's answers measure little. It may be quoted."""

What = Literal["effect", "bound", "standing"]
Direction = Literal["above", "below", "within", "at"]


class Assertion(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence's meaning for one measure of the finding's model, as data, so that findings can be compared.

    measure    the measure's key in `overton compare`, or in the analysis if models are not compared by the measure. The
               key includes the condition, if there is one
    direction  'above' or 'below' the null value, or 'within' if the data show neither; 'at' for a level without a
               comparison
    null       the value, or the null condition, with which the measure is compared; None for 'at'
    value      the measure's value in the sentence, None if the sentence has none
    about      the cause in the sentence ('arguments'). Every effect names its cause. 'within' names the cause only if
               the sentence denies every effect of that cause, not only the effect on its own measure
    """

    measure: str
    direction: Direction
    null: float | str | None = None
    value: float | None = None
    about: str = ""

    @property
    def code(self) -> str:
        """Measure, direction and object of comparison: 'gap above 0', 'even below null/same-prompt'."""
        against = f"null/{self.null}" if isinstance(self.null, str) else "" if self.null is None else f"{self.null:g}"
        return " ".join(filter(None, (self.measure, self.direction, against)))

    @property
    def is_effect(self) -> bool:
        """Whether the sentence claims that the measure is on one side of the null value."""
        return self.direction in {"above", "below"}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence about one model, or about all of them.

    what       'effect' if the corrected interval excludes the value expected without an effect. 'bound' if the interval
               includes this value, and the sentence states how large an effect remains possible. 'standing' if the
               sentence states a model's number and claims no effect
    n, units   the number of items behind the finding, and the word for them ('12 issues')
    number     the estimate with its interval, None for a count or if a test decided. The interval of an effect or a
               bound is corrected for multiple tests
    coverage   the level of that interval, None without an interval
    p          the corrected p-value of no effect, if a test decided; otherwise None
    kind       the format of the number
    exhibit    the key of the report's section that shows the number
    judge      the role whose labels the finding depends on, '' if it depends on no judge
    cautions   sentences to read with the finding. If `quotable` is false, they give the reason not to quote it
    assertions the finding's claims, as data; `claims` in JSON
    """

    what: What
    model: str
    sentence: str
    n: int
    units: str
    exhibit: str
    number: Estimate | None = None
    p: float | None = None
    kind: Kind = "value"
    judge: str = ""
    cautions: tuple[str, ...] = ()
    quotable: bool = True
    assertions: tuple[Assertion, ...] = ()

    SHAPE = Shape(also={"code": "code", "coverage": "coverage", "claims": "assertions"}, without=("judge",))

    @property
    def code(self) -> str:
        """The codes of the finding's assertions. They stay the same when sentences change. '' without assertions."""
        return "; ".join(assertion.code for assertion in self.assertions)

    @property
    def coverage(self) -> float | None:
        """The level of the number's interval."""
        return None if self.number is None or isnan(self.number.low) else self.number.level


Sentence = str | Callable[[Estimate], str]
"""A sentence, or a function that makes it from the number with its corrected interval."""


@dataclass(frozen=True, kw_only=True)
class CandidateFinding:
    """A possible effect. There is no effect if `number` equals `null`.

    `above` and `below` are the sentences for an effect in either direction, None if that direction is not reported. If
    neither effect is found, the corrected interval determines the sentence. If it stays within `small` of the null
    value, the sentence is `within`, which states how large an effect remains possible. Otherwise, if the interval stays
    within `telling`, the sentence is `unclear`: the data do not show an effect. With wider intervals there is no
    sentence. If there is a p-value `p`, it decides whether there is an effect, instead of the interval. `clusters` is
    the number of clusters behind the interval. The finding reports `n` and `units`.

    `caution` accompanies every sentence, and `effect_caution` only the sentence of an effect. `otherwise` states the
    model's level if no other sentence applies, or if there is no interval or test. `measure` and `about` become those
    of the `Assertion`. `denies` is true if the sentence `within` denies every effect of the cause `about`. `condition`
    names the null condition if `number` is the measure's difference from it.

    The candidates `followed` are tested only if this candidate is an effect. They share its significance level equally,
    so the levels of other candidates do not change. If a followed candidate with `replaces` gives a finding, this
    candidate's finding is left out.
    """

    model: str
    number: Estimate
    clusters: int
    n: int
    units: str
    exhibit: str
    above: Sentence | None = None
    below: Sentence | None = None
    within: Sentence | None = None
    null: float = 0.0
    p: float | None = None
    kind: Kind = "value"
    judge: str = ""
    caution: str = ""
    effect_caution: str = ""
    unclear: Sentence | None = None
    small: float = inf
    telling: float = inf
    followed: tuple[CandidateFinding, ...] = ()
    replaces: bool = False
    otherwise: Finding | None = None
    measure: str = ""
    about: str = ""
    denies: bool = False
    condition: str = ""

    @property
    def tested(self) -> bool:
        """Whether there is a test or an interval that can decide."""
        if self.p is not None:
            return not isnan(self.p)
        return not (isnan(self.number.low) or isnan(self.number.high)) and self.clusters >= FEWEST


@dataclass(frozen=True, kw_only=True)
class OwnTest:
    """A test that the study computes itself.

    `found` takes a significance level and returns the findings. The probability of finding an effect that does not
    exist is at most this level. If `tested` is false, no test is possible, and the findings claim no effect.
    """

    model: str
    measure: str
    tested: bool
    found: Callable[[float], Iterable[Finding]]


Said = Finding | CandidateFinding | OwnTest
"""A declared finding that claims no effect, or a declared test."""


def level_finding(
    model: str,
    sentence: str,
    n: int,
    units: str,
    exhibit: str,
    *,
    number: Estimate | None = None,
    kind: Kind = "value",
    judge: str = "",
    void: str = "",
    caution: str = "",
    measure: str = "",
) -> Finding:
    """A finding that states a model's number and claims no effect. `void` is the caution if the model's answers are not
    a measurement; the finding is then not to be quoted. `measure` is the key of the measure with the number."""
    stands = Assertion(measure=measure, direction="at", value=None if number is None else number.value)
    return Finding(
        what="standing",
        model=model,
        sentence=sentence,
        n=n,
        units=units,
        exhibit=exhibit,
        number=number,
        kind=kind,
        judge=judge,
        cautions=tuple(filter(None, (void, caution))),
        quotable=not void,
        assertions=(stands,) if measure else (),
    )


def either(sentence: str, above: str, below: str) -> tuple[str, str]:
    """Make two sentences from one. The word `above` replaces `EITHER` in the first, and `below` in the second."""
    return sentence.replace(EITHER, above), sentence.replace(EITHER, below)


def counted(n: int, units: str) -> str:
    """A count with its units: '12 issues', '1 issue'."""
    return f"{n:,} {units.removesuffix('s') if n == 1 else units}"


Compared = Collection[tuple[str, str]]
"""Pairs of a model and a measure that a sentence compares with a null condition."""


def correct_for_multiple_tests(said: Iterable[Said], *, beside: int = 0, compared: Compared = ()) -> list[Finding]:
    """Test a study's declared effects as one family, and return the findings `in_order`. Without any test, the findings
    keep their order.

    `beside` is the number of tests against null conditions. These tests replace the study's own tests of the measures
    in `compared`.
    """
    every = list(said)
    many = count_tests(every, compared) + beside
    found = [found for entry in every for found in _findings_from(entry, many)]
    return found if all(isinstance(entry, Finding) for entry in every) else in_order(found)


def count_tests(said: Iterable[Said], compared: Compared) -> int:
    """Count a study's tests. Tests of measures that are `compared` with a null condition do not count."""
    tests = [test for test in said if not isinstance(test, Finding) and test.tested]
    return sum((test.model, test.measure) not in compared for test in tests)


def _findings_from(said: Said, many: int) -> Iterable[Finding]:
    if isinstance(said, Finding):
        return [said]
    if isinstance(said, OwnTest):
        return said.found(FAMILY / max(many, 1))
    found = _test_in_turn(said, max(many, 1)) if said.tested else []
    return found or ([] if said.otherwise is None else [said.otherwise])


def _test_in_turn(candidate: CandidateFinding, many: int) -> list[Finding]:
    """A candidate's finding, and those of the candidates that are tested after it."""
    found = _decide(candidate, many)
    if found is None or found.what != "effect":
        return [found] if found else []
    after = [
        (follower, _decide(follower, many * len(candidate.followed)))
        for follower in candidate.followed
        if follower.tested
    ]
    replaced = any(follower.replaces and made is not None for follower, made in after)
    return [*([] if replaced else [found]), *(made for _, made in after if made is not None)]


def _decide(candidate: CandidateFinding, many: int) -> Finding | None:
    """The finding of one candidate: an effect, if the corrected interval or test excludes the null value. Otherwise it
    states which effects are ruled out, or that the data cannot tell; None if there is no such sentence."""
    from overton.statistics.comparison import widened

    level = max(1 - FAMILY / many, candidate.number.level)
    wide = widened(candidate.number, level, candidate.clusters - 1)
    if candidate.p is None:
        above, below = wide.lies_above(candidate.null), wide.lies_below(candidate.null)
    else:
        passed = candidate.p * many <= FAMILY
        above, below = passed and wide.value > candidate.null, passed and wide.value < candidate.null
    if above or below:
        said = candidate.above if above else candidate.below
        return _make_finding(candidate, "above" if above else "below", said, wide, many) if said else None
    said = _sentence_without_effect(candidate, wide)
    return _make_finding(candidate, "within", said, wide, many) if said else None


def _sentence_without_effect(candidate: CandidateFinding, wide: Estimate) -> Sentence | None:
    largest = farthest(wide, candidate.null)
    if candidate.within is not None and largest <= min(candidate.small, candidate.telling):
        return candidate.within
    return candidate.unclear if largest <= candidate.telling else None


def _make_finding(
    candidate: CandidateFinding, direction: Direction, sentence: Sentence, wide: Estimate, many: int
) -> Finding:
    assertion = Assertion(
        measure=candidate.measure,
        direction=direction,
        null=candidate.condition or candidate.null,
        value=None if candidate.condition or isnan(wide.low) else wide.value,
        about=candidate.about if direction != "within" or candidate.denies else "",
    )
    cautions = (candidate.caution, candidate.effect_caution if direction != "within" else "")
    return Finding(
        what="bound" if direction == "within" else "effect",
        model=candidate.model,
        sentence=sentence if isinstance(sentence, str) else sentence(wide),
        n=candidate.n,
        units=candidate.units,
        exhibit=candidate.exhibit,
        number=wide if candidate.p is None else None,
        p=None if candidate.p is None else min(1.0, candidate.p * many),
        kind=candidate.kind,
        judge=candidate.judge,
        cautions=tuple(filter(None, cautions)),
        assertions=(assertion,) if candidate.measure else (),
    )


def farthest(wide: Estimate, null: float = 0.0) -> float:
    """The largest effect that an interval leaves possible; NaN if there is no interval."""
    return max(abs(wide.low - null), abs(wide.high - null))


def most(wide: Estimate, kind: Kind) -> str:
    """The largest effect that an interval leaves possible, as text without a sign."""
    return brief_number(farthest(wide), kind, wide.n)


def evidence(finding: Finding) -> str:
    """The evidence for a sentence: the count, the interval with its level if there is one, and the p-value if there is
    one."""
    parts = [counted(finding.n, finding.units)]
    if finding.number is not None and not isnan(finding.number.low):
        value = brief_value(finding.number, finding.kind)
        level = percentage(finding.number.level)
        parts.append(f"estimate {value}, {level} interval {brief_interval(finding.number, finding.kind)}")
    if finding.p is not None:
        parts.append("p < 0.001" if finding.p < 0.001 else f"p = {finding.p:.3f}")
    return "; ".join(parts)


def shared_cautions(findings: Sequence[Finding]) -> list[str]:
    """Cautions that several findings share, so that each is printed once."""
    first = findings[0].cautions if len(findings) > 1 else ()
    return [caution for caution in first if all(caution in other.cautions for other in findings)]


def by_model(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """Group findings by model, in the order of the models' first findings. Findings about all models have the model
    ''."""
    models = dict.fromkeys(finding.model for finding in findings)
    return [(model, [finding for finding in findings if finding.model == model]) for model in models]


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Sort findings by model, in the order of the models' first findings. For each model, findings of type 'standing'
    come first, then effects, then bounds."""
    places = {model: place for place, model in enumerate(dict.fromkeys(finding.model for finding in findings))}
    kinds = ("standing", "effect", "bound")
    return sorted(findings, key=lambda finding: (places[finding.model], kinds.index(finding.what)))


Aspect = Literal["stands", "moved", "omits", "refuses"]
"""The kind of a trait: where a model stands, what moves it, what it leaves out, what it refuses."""

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


class Trait(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a study on a model, in one plain sentence with its number.

    measure   the measure of the number's row in the analysis; `facet`, `condition` and `against` come from the same row
    rest      whether the number is 1 minus the row's number
    title     the number in a few words, shown next to titles of other studies
    number    the estimate; if it is NaN, its method gives the reason
    units     what the number's `n` counts ('issues')
    exhibit   the key of the section of the study's report that shows the number
    within    the smallest and the largest possible value: the range of charts
    scale     the title of the charts' axis, '' if the number's kind suffices; numbers with the same scale share a chart
    null      the number without any effect, None if unknown; `null_is` describes this number
    caution   a sentence to read with the trait
    """

    aspect: Aspect
    model: str
    measure: str
    facet: str | None
    condition: str | None
    against: str | None
    rest: bool
    title: str
    sentence: str
    number: Estimate
    units: str
    exhibit: str
    kind: Kind = "share"
    within: Range = SHARE
    scale: str = ""
    null: float | None = None
    null_is: str = "the value without any effect"
    caution: str = ""


def remaining(share: Estimate) -> Estimate:
    """1 minus this proportion; the limits of the interval are swapped."""
    if isnan(share.value):
        return share
    return msgspec.structs.replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)


def share_without_interval(count: float, n: int, why: str, nothing: str) -> Estimate:
    """A proportion of `n` units; `why` is the reason for the missing interval. If `n` is 0, the proportion is missing
    too, and `nothing` is the reason."""
    if not n:
        return not_computed(nothing)
    return Estimate(count / n, nan, nan, n, NO_INTERVAL + why)


Analysis = TypeVar("Analysis")


@dataclass(frozen=True)
class Profiling(Generic[Analysis]):
    """A study's contribution to a profile.

    `aspects` are the aspects that the study covers, so that a profile can name what a run of the study would add.
    `traits(analysis)` gives the results, model by model. `by_item` describes, in a few words, measures of the study's
    `Comparing` that are means or ratios. A profile shows their values for single items next to findings of other
    studies on the same subject.
    """

    aspects: tuple[Aspect, ...]
    traits: Callable[[Analysis], Iterable[Trait]]
    by_item: Mapping[str, str] = field(default_factory=dict)
