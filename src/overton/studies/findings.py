"""What a study found, in sentences made from numbers: nothing is said that its interval does not support.

A study names the possible effects (`Candidate`) and says where each model stands (`standing`). `weighed` widens the
intervals of all candidates together (Bonferroni): if nothing happens, 95 of 100 reports claim no effect. A candidate
whose interval covers the null is no effect; it may say what is ruled out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Literal

import msgspec

from overton.statistics import Estimate
from overton.statistics.resampling.limits import FEWEST
from overton.statistics.simultaneous import widened
from overton.studies.numbers import Kind, interval, number
from overton.studies.plain import Shape

__all__ = [
    "DO_NOT_QUOTE",
    "FAMILY",
    "VOID",
    "Candidate",
    "Finding",
    "by_model",
    "common",
    "counted",
    "evidence",
    "in_order",
    "most",
    "standing",
    "weighed",
]

EITHER = "\ue000"
"""Stands in a sentence for the word that differs between the two sides; from the private use area, so in no name."""

FAMILY = 0.05
"""Over all candidates of an analysis together, at most the chance of claiming an effect where there is none."""

DO_NOT_QUOTE = "Do not quote this"
"""What precedes the caution of a finding that is not to be quoted."""

VOID = "This is no measurement."
"""The caution of a sentence that itself says why a model's answers measure nothing."""

What = Literal["effect", "bound", "standing"]


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

    SHAPE = Shape(also={"coverage": "coverage"}, without=("judge",))

    @property
    def coverage(self) -> float | None:
        """The level of the number's interval."""
        return None if self.number is None or isnan(self.number.low) else self.number.level


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A possible effect; there is none if `number` is `null`.

    `above` and `below` are the sentences for either side of it, None if that side is nothing to report; `within` gives
    the sentence for neither from the corrected interval, which says how large an effect it leaves possible. `clusters`
    counts what the interval is over, `n` and `units` are reported. With a `p`, the test decides, not the interval.
    What is ruled out is reported if the interval stays within `telling` of the null: further out it says nothing.
    """

    model: str
    number: Estimate
    clusters: int
    n: int
    units: str
    exhibit: str
    above: str | None = None
    below: str | None = None
    within: Callable[[Estimate], str] | None = None
    null: float = 0.0
    p: float | None = None
    kind: Kind = "value"
    judge: str = ""
    caution: str = ""
    telling: float = inf

    @property
    def tested(self) -> bool:
        """Whether there is anything to decide by."""
        if self.p is not None:
            return not isnan(self.p)
        return not (isnan(self.number.low) or isnan(self.number.high)) and self.clusters >= FEWEST


def standing(
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
) -> Finding:
    """Where a model stands, with what to read along with it. `void` is the caution if its answers measure nothing: it
    is then not to be quoted."""
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
        cautions=tuple(filter(None, (void, caution, _thin(n, units)))),
        quotable=not void,
    )


def either(sentence: str, above: str, below: str) -> tuple[str, str]:
    """A sentence for above and one for below the null, with the words in the place of `EITHER`."""
    return sentence.replace(EITHER, above), sentence.replace(EITHER, below)


def counted(n: int, units: str) -> str:
    """So many of them: '12 issues', '1 issue'."""
    return f"{n:,} {units.removesuffix('s') if n == 1 else units}"


def _thin(n: int, units: str) -> str:
    """What is said of a number that rests on too few items for an interval, '' if there are enough."""
    return f"Thin: {counted(n, units)}; an interval needs {FEWEST}." if n < FEWEST else ""


def weighed(candidates: Iterable[Candidate]) -> list[Finding]:
    """What follows from the candidates, all weighed together: effects, and what is ruled out, in their order."""
    tested = [one for one in candidates if one.tested]
    return [found for one in tested if (found := _weighed(one, len(tested)))]


def _weighed(one: Candidate, many: int) -> Finding | None:
    """An effect if the corrected interval, or test, excludes the null; otherwise what is ruled out."""
    wide = widened(one.number, 1 - FAMILY / many, one.clusters - 1)
    if one.p is None:
        above, below = wide.low > one.null, wide.high < one.null
    else:
        passed = one.p * many <= FAMILY
        above, below = passed and wide.value > one.null, passed and wide.value < one.null
    if above or below:
        said = one.above if above else one.below
        return _found(one, "effect", said, wide, many) if said else None
    if one.within is None or not farthest(wide, one.null) <= one.telling:
        return None
    return _found(replace(one, caution=""), "bound", one.within(wide), wide, many)


def _found(one: Candidate, what: What, sentence: str, wide: Estimate, many: int) -> Finding:
    return Finding(
        what=what,
        model=one.model,
        sentence=sentence,
        n=one.n,
        units=one.units,
        exhibit=one.exhibit,
        number=wide if one.p is None else None,
        p=None if one.p is None else min(1.0, one.p * many),
        kind=one.kind,
        judge=one.judge,
        cautions=(one.caution,) if one.caution else (),
    )


def farthest(wide: Estimate, null: float = 0.0) -> float:
    """The largest effect that an interval leaves possible; NaN if there is no interval."""
    return max(abs(wide.low - null), abs(wide.high - null))


def most(wide: Estimate, kind: Kind) -> str:
    """The same as text, without its sign."""
    return number(farthest(wide), kind).lstrip("+")


def evidence(one: Finding) -> str:
    """What is behind a sentence: the count, and the interval with its level or the P value, if there is one."""
    parts = [counted(one.n, one.units)]
    if one.number is not None and not isnan(one.number.low):
        how = f"{_percent(one.number.level)} interval"
        parts.append(f"{number(one.number.value, one.kind)}, {how} {interval(one.number, one.kind)}")
    if one.p is not None:
        parts.append("p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}")
    return "; ".join(parts)


def _percent(level: float) -> str:
    return f"{100 * level:.2f}".rstrip("0").rstrip(".") + "%"


def common(findings: Sequence[Finding]) -> list[str]:
    """The cautions that several findings share, so as to say them once."""
    first = findings[0].cautions if len(findings) > 1 else ()
    return [one for one in first if all(one in other.cautions for other in findings)]


def by_model(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """The findings grouped by model, in their order; those about all models have no model."""
    models = dict.fromkeys(one.model for one in findings)
    return [(model, [one for one in findings if one.model == model]) for model in models]


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """By model in their order; for each where it stands first, then effects, then what is ruled out."""
    places = {model: place for place, model in enumerate(dict.fromkeys(one.model for one in findings))}
    kinds = ("standing", "effect", "bound")
    return sorted(findings, key=lambda one: (places[one.model], kinds.index(one.what)))
