"""The order and the short sentences of findings, for places that show only a few findings.

The order is the same for every study:

1. reasons why a model's answers are not a measurement, or measure little
2. differences between models
3. measures compared with their value without an effect, for example in a null condition
4. levels that are not compared with anything
5. comparisons that could not be tested

Within each group, effects precede undecided results. Then findings are sorted by their distance from no effect, in
standard errors, the largest first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan
from statistics import NormalDist

import msgspec

from overton.statistics import Estimate
from overton.studies.findings import Finding
from overton.studies.numbers import MINUS, Kind, brief_interval, brief_number, brief_value

MOST_FINDINGS = 3
"""The largest number of findings on the first screen and at the top of a report."""
_SMALLEST_P = 1e-12


@dataclass(frozen=True)
class ShownFinding:
    """A finding in a list of only a few findings.

    finding   the finding
    bare      the finding with general cautions only, without those that its study declares
    sentence  the finding's sentence with the intervals of its numbers
    mark      the mark after the sentence, if this finding is not to be quoted but others may be
    """

    finding: Finding
    bare: Finding
    sentence: str
    mark: str = ""

    @property
    def text(self) -> str:
        """The sentence with its own cautions."""
        own = (text for text in self.finding.cautions if text not in self.bare.cautions)
        return " ".join([f"{self.sentence}{self.mark}", *own])


def in_order_of_weight(
    findings: Iterable[Finding], differences: Sequence[Finding] = (), void: Collection[str] = ()
) -> list[Finding]:
    """The findings and the differences between models, the most important first. `void` has the reasons why a model's
    answers are not a measurement, or measure little."""
    ranked = [(0 if finding.sentence in void else _rank(finding), finding) for finding in findings]
    ranked += [(1, finding) for finding in differences]
    ranked.sort(key=lambda entry: (entry[0], entry[1].what != "effect", -distance(entry[1])))
    return [finding for _, finding in ranked]


def _rank(finding: Finding) -> int:
    """2 for tests, 3 for levels, and 4 for comparisons that could not be tested, because a number has no interval."""
    if not _is_test(finding):
        return 3
    return 2 if finding.number is not None or finding.p is not None else 4


def _is_test(finding: Finding) -> bool:
    return any(assertion.direction != "at" for assertion in finding.assertions)


def distance(finding: Finding) -> float:
    """The distance between the finding's number and no effect, in standard errors; 0 if there is no comparison."""
    if finding.p is not None:
        return NormalDist().inv_cdf(1 - max(finding.p, _SMALLEST_P) / 2)
    nulls = [assertion.null for assertion in finding.assertions if assertion.null is not None]
    if finding.number is None or not nulls or isnan(error := standard_error(finding.number)):
        return 0.0
    null = nulls[0] if isinstance(nulls[0], float | int) else 0.0
    return abs(finding.number.value - null) / error


def standard_error(estimate: Estimate) -> float:
    """The estimate's standard error. If unknown, it follows from the width of a normal interval; NaN without an
    interval."""
    if estimate.error:
        return estimate.error
    wide = (estimate.high - estimate.low) / (2 * NormalDist().inv_cdf((1 + estimate.level) / 2))
    return wide if wide > 0 else nan


def brief_sentence(finding: Finding) -> str:
    """The finding's sentence with the interval of its number, or its P value."""
    text, own = finding.sentence, finding.number
    if own is not None and not isnan(own.low) and brief_interval(own, finding.kind) not in text:
        text = _with_interval(text, own, finding.kind, finding.model)
    if finding.p is not None:
        text = _with_end(text, "p < 0.001" if finding.p < 0.001 else f"p = {finding.p:.3f}")
    return text


def _with_interval(text: str, own: Estimate, kind: Kind, name: str) -> str:
    """The text with the interval after the value. The value is added at the end if the text does not contain it."""
    for estimate in (own, _negated(own)) if own.value < 0 else (own,):
        value, limits = brief_number(estimate.value, kind, own.n), brief_interval(estimate, kind)
        replaced = _replace_number(text, value, f"{value} {limits}", name, unit=" points" if kind == "points" else "")
        if replaced != text:
            return replaced
    return _with_end(text, f"{brief_value(own, kind)} {brief_interval(own, kind)}")


def _with_end(text: str, said: str) -> str:
    return f"{text.removesuffix('.')} ({said})."


def _negated(estimate: Estimate) -> Estimate:
    low, high = estimate.within
    return msgspec.structs.replace(
        estimate,
        value=-estimate.value,
        low=-estimate.high,
        high=-estimate.low,
        within=(None if high is None else -high, None if low is None else -low),
    )


def _replace_number(text: str, value: str, shown: str, name: str, unit: str) -> str:
    """Replace the first `value` in the text that is followed by `unit`. Values in `name` or in longer numbers stay."""
    pattern = f"({re.escape(name)})|" if name else "()"
    pattern += rf"(?<![\w.,+{MINUS}-]){re.escape(value)}(?![\w%]|[.,]\d)(?={unit})"
    for match in re.finditer(pattern, text):
        if not match[1]:
            return f"{text[: match.start()]}{shown}{text[match.end() :]}"
    return text
