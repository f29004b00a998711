"""Whether findings contradict each other, by what they assert."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from math import inf, isclose

from overton.studies.findings import Assertion, Finding


def contradictions(findings: Sequence[Finding]) -> list[tuple[Finding, Finding]]:
    """The pairs of findings about one model that cannot both be true, by their assertions alone; a finding may
    contradict itself."""
    pairs = combinations_with_replacement(findings, 2)
    return [
        (first, second)
        for first, second in pairs
        if first.model == second.model
        and any(_contradict(*both) for both in product(first.assertions, second.assertions))
    ]


def _contradict(first: Assertion, second: Assertion) -> bool:
    """Whether two assertions about one model exclude each other.

    One measure has two values, or lies on two sides of one null, or above a value and below a lower one. Or one claims
    an effect that the measure's null condition does not show. Or one claims an effect of a cause, and the other denies
    every effect of that cause.
    """
    if first.about and first.about == second.about and _effect_and_none(first, second):
        return True
    if first.measure != second.measure:
        return False
    if first.value is not None and second.value is not None and not isclose(first.value, second.value, abs_tol=1e-9):
        return True
    if "at" in {first.direction, second.direction}:
        return False
    if first.null == second.null:
        return first.direction != second.direction
    if isinstance(first.null, str) and isinstance(second.null, str):
        return False
    if isinstance(first.null, str) or isinstance(second.null, str):
        return _effect_and_none(first, second)
    low, high = sorted((first, second), key=lambda side: side.null if isinstance(side.null, float) else inf)
    return (low.direction, high.direction) == ("below", "above")


def _effect_and_none(first: Assertion, second: Assertion) -> bool:
    return {first.is_effect, second.is_effect} == {True, False} and "within" in {first.direction, second.direction}
