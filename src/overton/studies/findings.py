"""A study's findings, in sentences made from numbers, and those that a model's profile reports.

A study names the possible effects (`CandidateFinding`, `OwnTest`) and says where each model stands (`level_finding`).
They and the differences from null conditions (`overton.studies.contrasts`) are one family of tests: if nothing happens,
95 of 100 reports claim no effect. `correct_for_multiple_tests` widens the intervals of all candidates accordingly
(Bonferroni). A candidate whose interval covers the null is no effect; it may say how small an effect is, or that the
data cannot tell.

A profile is put together by its host (`overton.reports.profile`), which knows no study.
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
from overton.studies.numbers import Kind, interval, number

EITHER = "\ue000"
"""Stands in a sentence for the word that differs between the two sides; from the private use area, so in no name."""

FAMILY = 0.05
"""Over all tests of an analysis together, at most the chance of claiming an effect where there is none.

Candidates, tests of a study's own, and differences from null conditions count equally: each has this chance divided
by the number of all of them. Differences from null conditions use their part of it jointly
(`overton.studies.contrasts`).
"""

DO_NOT_QUOTE = "Do not quote this"
"""Precedes the caution of a finding that is not to be quoted."""

VOID = "This is no measurement."
"""The caution of a sentence that itself says why a model's answers measure nothing."""

What = Literal["effect", "bound", "standing"]
Direction = Literal["above", "below", "within", "at"]


class Assertion(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence's meaning for one measure of the finding's model, as data, so that findings can be compared.

    measure    the measure's key, as in `overton compare`, else as in the analysis; with its condition if it has one
    direction  'above' or 'below' the null; 'within': on neither side of it, as far as the data tell; 'at': where the
               model stands, without a comparison
    null       what the measure is compared with: a value, or the name of a null condition; None for 'at'
    value      the measure's value as the sentence gives it, None if it gives none
    about      the cause that the sentence speaks of ('arguments'). Every effect names its cause. 'within' names it only
               if the sentence denies every effect of that cause, and not that on its own measure alone
    """

    measure: str
    direction: Direction
    null: float | str | None = None
    value: float | None = None
    about: str = ""

    @property
    def code(self) -> str:
        """Measure, direction and what the measure is compared with: 'gap above 0', 'even below null/same-prompt'."""
        against = f"null/{self.null}" if isinstance(self.null, str) else "" if self.null is None else f"{self.null:g}"
        return " ".join(filter(None, (self.measure, self.direction, against)))

    @property
    def is_effect(self) -> bool:
        """Whether the measure is claimed to be on one side of its null."""
        return self.direction in {"above", "below"}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence about one model, or about all of them.

    what       'effect': the corrected interval excludes what would be there if nothing happened; 'bound': it does
               not, and the sentence says how large an effect it leaves possible; 'standing': where a model stands,
               which claims no effect
    n, units   how many of what are behind it ('12 issues')
    number     the estimate with its interval, corrected for effects and bounds; None for what was counted
    coverage   of that interval, None if there is none
    p          of no effect, corrected, if a test decided; otherwise None
    kind       how the number reads
    exhibit    the key of the report's section that shows it
    judge      the role whose labels it rests on, '' if it rests on none
    cautions   what to read along with it; with `quotable` false it is not to be quoted, and they say why
    assertions what it claims, as data; `claims` in JSON
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
        """Its assertions in a few words, which stay the same when sentences change; '' if it has none."""
        return "; ".join(assertion.code for assertion in self.assertions)

    @property
    def coverage(self) -> float | None:
        """The level of the number's interval."""
        return None if self.number is None or isnan(self.number.low) else self.number.level


Sentence = str | Callable[[Estimate], str]
"""A sentence, or how it is made from the number with its corrected interval."""


@dataclass(frozen=True, kw_only=True)
class CandidateFinding:
    """A possible effect; there is none if `number` is `null`.

    `above` and `below` are the sentences for either side of it, None if that side is nothing to report. `within` is
    the sentence for neither, which says how large an effect the corrected interval leaves possible. `clusters`
    counts what the interval is over, `n` and `units` are reported. With a `p`, the test decides, not the interval.
    An effect is called small (`within`) only if the interval stays within `small` of the null; further out, but within
    `telling`, the sentence is `unclear`: it could not be told. Still further out there is none.
    `caution` goes with every sentence, `effect_caution` with that of an effect alone.
    `followed` are tested only if this one is an effect, at its level divided among them, so they cost no other
    candidate anything. If one that `replaces` is an effect, its sentence takes the place of this one's.
    `otherwise` says where the model stands, if there is no other sentence, or nothing to decide by.
    `measure` and `about` are those of its `Assertion`; `denies` says that `within` denies every effect of that cause,
    and `condition` names the null condition if `number` is the measure's difference from it.
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
        """Whether there is anything to decide by."""
        if self.p is not None:
            return not isnan(self.p)
        return not (isnan(self.number.low) or isnan(self.number.high)) and self.clusters >= FEWEST


@dataclass(frozen=True, kw_only=True)
class OwnTest:
    """A test that only its study can make.

    `found` gives its findings: an effect that is none with at most the probability that it is given. If it is not
    `tested`, there is nothing to test, and it claims no effect.
    """

    model: str
    measure: str
    tested: bool
    found: Callable[[float], Iterable[Finding]]


Said = Finding | CandidateFinding | OwnTest
"""A study declares findings that claim no effect, and tests."""


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
    """Where a model stands, with what to read along with it. `void` is the caution if its answers measure nothing: it
    is then not to be quoted. `measure` is the key of what `number` measures."""
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
    """A sentence for above and one for below the null, with the words in the place of `EITHER`."""
    return sentence.replace(EITHER, above), sentence.replace(EITHER, below)


def counted(n: int, units: str) -> str:
    """So many of them: '12 issues', '1 issue'."""
    return f"{n:,} {units.removesuffix('s') if n == 1 else units}"


Compared = Collection[tuple[str, str]]
"""Models with measures that are compared with a null condition: their sentence is on that."""


def correct_for_multiple_tests(said: Iterable[Said], *, beside: int = 0, compared: Compared = ()) -> list[Finding]:
    """The findings that follow from all a study declares, tested together and `in_order`. Findings alone, without any
    test, are left in their own order.

    `beside` counts tests elsewhere, those of null conditions. They take the place of tests of measures that are
    `compared`.
    """
    every = list(said)
    many = count_tests(every, compared) + beside
    found = [found for entry in every for found in _findings_from(entry, many)]
    return found if all(isinstance(entry, Finding) for entry in every) else in_order(found)


def count_tests(said: Iterable[Said], compared: Compared) -> int:
    """How many tests a study makes, without those of measures that are `compared` with a null condition instead."""
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
    """An effect if the corrected interval, or test, excludes the null; otherwise what is ruled out, or that the data
    cannot tell."""
    from overton.statistics.comparison import widened

    level = max(1 - FAMILY / many, candidate.number.level)
    wide = widened(candidate.number, level, candidate.clusters - 1)
    if candidate.p is None:
        above, below = wide.low > candidate.null, wide.high < candidate.null
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
    """The same as text, without its sign."""
    return number(farthest(wide), kind).lstrip("+")


def evidence(finding: Finding) -> str:
    """The evidence for a sentence: the count, and the interval with its level or the P value, if there is one."""
    parts = [counted(finding.n, finding.units)]
    if finding.number is not None and not isnan(finding.number.low):
        level = f"{100 * finding.number.level:.2f}".rstrip("0").rstrip(".")
        limits = interval(finding.number, finding.kind)
        parts.append(f"{number(finding.number.value, finding.kind)}, {level}% interval {limits}")
    if finding.p is not None:
        parts.append("p < 0.001" if finding.p < 0.001 else f"p = {finding.p:.3f}")
    return "; ".join(parts)


def shared_cautions(findings: Sequence[Finding]) -> list[str]:
    """The cautions that several findings share, so as to say them once."""
    first = findings[0].cautions if len(findings) > 1 else ()
    return [caution for caution in first if all(caution in other.cautions for other in findings)]


def by_model(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """The findings grouped by model, in their order; those about all models have no model."""
    models = dict.fromkeys(finding.model for finding in findings)
    return [(model, [finding for finding in findings if finding.model == model]) for model in models]


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """By model in their order; for each where it stands first, then effects, then what is ruled out."""
    places = {model: place for place, model in enumerate(dict.fromkeys(finding.model for finding in findings))}
    kinds = ("standing", "effect", "bound")
    return sorted(findings, key=lambda finding: (places[finding.model], kinds.index(finding.what)))


Aspect = Literal["stands", "moved", "omits", "refuses"]
"""The kind of a trait: where a model stands, what moves it, what it leaves out, what it refuses."""

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


class Trait(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a study found about a model, in one plain sentence with its number.

    measure   the key of the row of the study's analysis that has the number; `facet`, `condition` and `against` are the
              row's, too
    rest      the number is what that row leaves of a whole
    title     what the number is, in a few words that appear beside those of other studies
    number    the estimate; NaN if there is none, and then its method says why
    units     what its `n` counts ('issues')
    exhibit   the key of the section of the study's report that shows it
    within    the least and the most that it could be: the range of charts
    scale     the title of the charts' axis, '' if its kind says enough; numbers of one scale share a chart
    null      what it would be if there were nothing to find, None if that is not known; `null_is` says what kind of
              number that is
    caution   what to read along with it
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
    null_is: str = "as it would be if nothing moved it"
    caution: str = ""


def remaining(share: Estimate) -> Estimate:
    """The rest of a whole without this share of it; the interval is reversed accordingly."""
    if isnan(share.value):
        return share
    return msgspec.structs.replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)


def share_without_interval(count: float, n: int, why: str, nothing: str) -> Estimate:
    """A share of `n` that has no interval, and `why` it has none; if `n` is 0 there is no share, for the reason
    `nothing`."""
    if not n:
        return not_computed(nothing)
    return Estimate(count / n, nan, nan, n, NO_INTERVAL + why)


Analysis = TypeVar("Analysis")


@dataclass(frozen=True)
class Profiling(Generic[Analysis]):
    """A study's contribution to a profile.

    `aspects` are those that it covers, so that a profile can say what would be known if it were run. `traits(analysis)`
    gives what it found, model by model. `by_item` names those measures of the study's `Comparing`, means or ratios,
    whose value for a single item is shown beside the findings of other studies on the same subject, and says of each in
    a few words what it means.
    """

    aspects: tuple[Aspect, ...]
    traits: Callable[[Analysis], Iterable[Trait]]
    by_item: Mapping[str, str] = field(default_factory=dict)
