"""Checks of every first screen, whoever responded; each yields the faults that it finds, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import inf, isclose, isfinite, isnan
from typing import Any

import numpy as np
from contradictions import contradictions
from scipy import stats

from overton.analysis.results import measuring_of
from overton.statistics import Estimate
from overton.statistics.comparison import FEW
from overton.statistics.estimate import Range, ratio
from overton.studies.contrasts import Against
from overton.studies.contributions import Contribution
from overton.studies.findings import FAMILY, Assertion, Finding, count_tests, farthest
from overton.studies.numbers import Kind, brief_interval, brief_number, number
from overton.studies.sections import Chart, Section

from .respondents import TURNS, Respondent
from .screens import Screen, printed

MOST_OF_STUDENT = 1.6
"""No limit is further from the estimate than this many times Student's."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SHOWN = re.compile(r"\d+\.\d+|\d+(?=%| points| \[)|(?<=[\[, \u2212])\d+(?=[^\[\]]*\])")
"""The numbers in a sentence that are not counts: decimals, percentages, points and limits of intervals."""
_COUNTED = re.compile(r"\b(?:on|of|in) (?:all )?(\d+|none)(?: of (\d+))? (?:issues|threads|topics|dilemmas)")
_BOUNDED = {
    *("at most", "no more than", "more than", "above", "within", "not clearly"),
    *("could not be told", "cannot be told", "do not show whether", "cannot be distinguished"),
}
"""Words of sentences that give a limit, or nothing, in place of the value."""


@dataclass(frozen=True)
class Seen:
    """An estimate that is on the screen: where, its range, and whether Student's limits for it are known."""

    where: str
    estimate: Estimate
    within: Range
    of_equal_items: bool = True

    def __str__(self) -> str:
        one = self.estimate
        return f"{self.where}: {one.value:g} [{one.low:g}, {one.high:g}]"


def faults(screen: Screen) -> Iterator[str]:
    """Everything that is wrong with a screen, apart from claims that chance alone may make."""
    for check in CHECKS:
        yield from (f"{check.__name__.replace('_', ' ')}: {fault}" for fault in check(screen))


# What the truth denies


def false_claims(screen: Screen) -> Iterator[str]:
    """The claims of effects that the truth denies: chance makes one in at most 5% of runs."""
    for one in screen.findings:
        for assertion in one.assertions:
            if assertion.is_effect and is_false(assertion, behind(screen, one)):
                yield f"{printed(one)}: claims {assertion.measure} {assertion.direction}"


def behind(screen: Screen, one: Finding) -> Respondent:
    """The respondent that a finding is about; a model may be named with its system prompt."""
    return screen.truth[one.model.partition(", ")[0]]


def is_false(assertion: Assertion, respondent: Respondent) -> bool:
    said = f"{assertion.measure} {assertion.direction}"
    if any(fnmatchcase(said, pattern) for pattern in respondent.true):
        return False
    return respondent.still or any(fnmatchcase(said, pattern) for pattern in respondent.false)


def sentences_that_cannot_be_true(screen: Screen) -> Iterator[str]:
    """Sentences that no draw makes true of the respondent."""
    for one in screen.findings:
        if screen.truth:
            respondent = behind(screen, one)
            wrong = any(re.search(pattern, one.sentence) for pattern in respondent.unsaid)
            yield from [f"{printed(one)}: untrue of {respondent}"] if wrong else []


# One sentence, one estimate


def sentences_that_give_other_numbers(screen: Screen) -> Iterator[str]:
    """Every number in a sentence, but for counts, is of the estimate that it carries, or of its null conditions."""
    for one in screen.findings:
        if one.number is None and not one.quotable:  # it says why a model's answers are not a measurement
            continue
        said = _SHOWN.findall(one.sentence)
        known = {text for number_ in numbers_of(screen, one) for text in _NUMBER.findall(number_)}
        if strange := [text for text in said if text not in known]:
            yield f"{printed(one)}: {', '.join(strange)} is no number of the estimate that it carries"
        if not (one.number is None or isnan(one.number.low) or _compared(one)):
            yield from _lacking(one, said, one.number)


def _compared(one: Finding) -> bool:
    return any(isinstance(assertion.null, str) for assertion in one.assertions) or one.exhibit == "nulls"


def _lacking(one: Finding, said: list[str], carried: Estimate) -> Iterator[str]:
    """The estimate in brackets is the one that the sentence speaks of."""
    bare = brief_number(abs(carried.value), one.kind, carried.n).rstrip("%")
    counts = [(match[1], match[2]) for match in _COUNTED.finditer(one.sentence)]
    if said:
        if bare not in said and not any(word in one.sentence for word in _BOUNDED):
            yield f"{printed(one)}: the sentence does not give {bare}"
    elif counts and not any(_is_share(count, carried.value) for count in counts):
        yield f"{printed(one)}: the interval is not of the count in the sentence"


def _is_share(count: tuple[str, str], value: float) -> bool:
    some, all_ = count
    share = 1.0 if not all_ else 0.0 if some == "none" else int(some) / int(all_)
    return isclose(share, value)


def numbers_of(screen: Screen, one: Finding) -> Iterator[str]:
    """Every number that a sentence may give, as it is shown."""
    estimates: list[tuple[Estimate, Kind]] = [(one.number, one.kind)] if one.number else []
    for measure, _, found in compared_with(screen, one):
        estimates += [(found.observed, measure.kind), (found.under_null, measure.kind)]
        estimates += [(found.difference, measure.gap), (found.together, measure.gap)]
    for estimate, kind in estimates:
        for value in (estimate.value, estimate.low, estimate.high, farthest(estimate)):
            yield brief_number(value, kind, estimate.n)
            yield brief_number(max(value, 0.0), kind, estimate.n)
        yield from (
            brief_number(assertion.value, one.kind, estimate.n)
            for assertion in one.assertions
            if assertion.value is not None
        )


def compared_with(screen: Screen, one: Finding) -> list[tuple[Any, Any, Against]]:
    """The comparison that a finding on null conditions was made from."""
    measures = {assertion.measure for assertion in one.assertions if isinstance(assertion.null, str)}
    if not measures and one.exhibit == "nulls":
        measures = {found.measure for measure, _, found in screen.outcome.against if measure.title in one.sentence}
    return [
        (measure, null, found)
        for measure, null, found in screen.outcome.against
        if found.measure in measures and found.model == one.model
    ]


def null_conditions_without_a_difference(screen: Screen) -> Iterator[str]:
    """A number that does not differ clearly from a null condition is given with its difference and interval."""
    for one in screen.findings:
        for measure, null, found in compared_with(screen, one):
            if f"'{null.name}'" not in one.sentence or isnan(found.difference.low):
                continue
            shown = [
                (brief_number(gap.value, measure.gap, gap.n), brief_interval(gap, measure.gap))
                for gap in (found.difference, found.together)
            ]
            if not any(all(text in one.sentence for text in gap) for gap in shown):
                yield f"{printed(one)}: lacks the difference from '{null.name}', {' '.join(shown[0])}"


def null_conditions_that_did_not_decide(screen: Screen) -> Iterator[str]:
    """Beside a sentence on null conditions is the difference that decided it: from one that it calls clear, if any."""
    for one in screen.findings:
        found = [against for _, _, against in compared_with(screen, one)]
        if one.exhibit != "nulls" or not found:
            continue
        deciding = [against for against in found if against.verdict == "clear"]
        if (one.what == "effect") != bool(deciding):
            yield f"{printed(one)}: is called {one.what}, and {len(deciding)} null conditions are clear"
        if one.number is not None and one.number not in [against.together for against in deciding or found]:
            yield f"{printed(one)}: the interval is from a null condition that did not decide"


def tests_beyond_one_family(screen: Screen) -> Iterator[str]:
    """All tests on the screen together err in at most 5% of runs: those of the study, and those of null conditions."""
    measuring = measuring_of(screen.outcome.study)
    assert measuring.findings is not None
    assert measuring.comparing is not None
    compared = {
        (one.model, assertion.measure)
        for one in screen.findings
        for assertion in one.assertions
        if isinstance(assertion.null, str)
    }
    own = count_tests(measuring.findings(screen.outcome.analysis), compared)
    nulls = [found for one in screen.findings if one.exhibit == "nulls" for *_, found in compared_with(screen, one)]
    with_one = [found for found in nulls if not isnan(found.together.low)]
    each = FAMILY / max(own + len(with_one), 1)
    for one in screen.findings:
        if one.what != "standing" and one.exhibit != "nulls" and one.number and 1 - one.number.level > each + 1e-9:
            yield f"{printed(one)}: one of {own + len(with_one)} tests"
    for found in with_one:
        most = each if screen.items < FEW else each * len(with_one)
        if 1 - found.together.level > most + 1e-9:
            yield f"{found.measure} against {found.null}, {found.together.level:g}: one of {own + len(with_one)} tests"


# Intervals


def seen(screen: Screen) -> Iterator[Seen]:
    """Every estimate on the screen: of the findings, of comparisons with null conditions, and in the first tables."""
    measures = screen.contributions
    uneven = {(name, model) for (name, model), side in measures.items() if not _is_even(side)}
    for one in screen.findings:
        if one.number is None:
            continue
        names = [(assertion.measure.partition(" minus ")[0], one.model) for assertion in one.assertions]
        known = next((measures[name].measure for name in names if name in measures), None)
        within = _range(one.sentence, one.kind) if known is None else known.within
        compared = _compared(one)
        yield Seen(
            printed(one),
            one.number,
            _of_difference(within) if compared else within,
            not {*names} & uneven and not compared,
        )
    for measure, null, found in screen.outcome.against:
        where = f"{measure.title} of {found.model or 'all'} against {null.name}"
        even = (measure.name, found.model) not in uneven and null.name not in DEALT
        for name in ("observed", "under_null"):
            yield Seen(f"{where}: {name}", getattr(found, name), measure.within, even)
        for name in ("difference", "together"):
            yield Seen(f"{where}: {name}", getattr(found, name), _of_difference(measure.within), even)
    unevenly = {model for name, model in uneven if screen.contributions[name, model].measure.leads}
    for table in screen.tables:
        for row in table.rows:
            named = [text for text in row if isinstance(text, str)]
            for column, cell in zip(table.columns, row, strict=True):
                if isinstance(cell, Estimate):
                    within = _range(column.title, column.kind)
                    even = "Pulls" not in table.title and not {*named} & unevenly
                    yield Seen(f"{table.title}, {', '.join(named)}: {column.title}", cell, within, even)


DEALT = ("chance", "permuted", "forced-again")
"""Null conditions that are drawn: their differences are as wide as the draws."""


def _is_even(side: Contribution) -> bool:
    """Whether all items have equal weight, so that Student's degrees of freedom follow from their number."""
    return side.measure.of is ratio and (not side.items or bool(np.ptp(side.parts[:, 1]) == 0))


def intervals_without_their_value(screen: Screen) -> Iterator[str]:
    for one in seen(screen):
        low, value, high = one.estimate.low, one.estimate.value, one.estimate.high
        if isfinite(low) and isfinite(high) and not low - 1e-9 <= value <= high + 1e-9:
            yield str(one)


def values_beyond_their_range(screen: Screen) -> Iterator[str]:
    for one in seen(screen):
        (low, high), ends = one.within, (one.estimate.value, one.estimate.low, one.estimate.high)
        if any(isfinite(end) and not low - 1e-9 <= end <= high + 1e-9 for end in ends):
            yield f"{one} is not within [{low:g}, {high:g}]"


_RANGES: dict[Kind, Range] = {"share": (0, 1), "points": (-1, 1), "score": (-100, 100)}
_VALUES: dict[str, Range] = {
    "rho": (-1, 1),
    "correlation": (-1, 1),
    "Pearson": (-1, 1),
    "times on average in a conversation": (0, TURNS - 1),
    "rounds on average": (1, inf),
    "Rounds to consensus": (1, inf),
    "on the scale from": (-2, 2),
    "Chameleon score": (0, 1),
    "Source re-use": (0, 1),
    "Change rate": (0, 1),
}
"""Ranges of values that are not proportions, by words in their sentence."""


def _range(said: str, kind: Kind) -> Range:
    return _RANGES.get(kind) or next((ends for words, ends in _VALUES.items() if words in said), (-inf, inf))


def _of_difference(within: Range) -> Range:
    return within[0] - within[1], within[1] - within[0]


def limits_far_beyond_students(screen: Screen) -> Iterator[str]:
    """No limit of a mean over items is further from it than 1.6 times Student's."""
    for one in seen(screen):
        own, most = one.estimate, MOST_OF_STUDENT * student(one.estimate, screen.items)
        if one.of_equal_items and max(own.high - own.value, own.value - own.low) > most * (1 + 1e-6):
            yield f"{one} is further than {most:g} from its value"


def student(one: Estimate, items: int) -> float:
    """The distance of Student's limits from a mean over up to `items` items; infinite for other estimates."""
    if not one.error or "Student" not in one.method or "Fisher" in one.method:
        return inf
    return one.error * float(stats.t.ppf((1 + one.level) / 2, max(1, min(one.n, items) - 1)))


# Findings together


def claims_that_contradict_each_other(screen: Screen) -> Iterator[str]:
    for one, other in contradictions(screen.findings):
        yield f"{printed(one)} contradicts {printed(other)}"
    flat = " ".join(one.sentence for one in screen.findings)
    if "did not demonstrably change" in flat and re.search(r"(raised|lowered|changed|took) .*points", flat):
        yield "'did not demonstrably change' stands with a shift"


def headlines_with_several_values(screen: Screen) -> Iterator[str]:
    """Every headline has one value: in a comparison of models, in JSON, in sentences, against null conditions, and in
    the tables under its title."""
    comparing, document = measuring_of(screen.outcome.study).comparing, screen.outcome.document()
    for (name, model), side in screen.contributions.items():
        measure = side.measure
        if comparing is None or not measure.leads or not side.items:
            continue
        found = {"compared": float(measure.of(side.parts.sum(0)))}
        if node := _at(document, comparing.place(name, model)):
            found["JSON"] = node[node["leads"]]["estimate"]
        for one in screen.findings:
            for assertion in one.assertions:
                if (one.model, assertion.measure) == (model, name) and assertion.value is not None:
                    found[printed(one)] = assertion.value
        for _, null, against in screen.outcome.against:
            if (against.model, against.measure) == (model, name):
                found[f"against {null.name}"] = against.observed.value
        found |= dict(_in_tables(screen, measure.title, model))
        known = {where: value for where, value in found.items() if value is not None and not isnan(value)}
        if len({number(value, measure.kind) for value in known.values()}) > 1:
            shown = "; ".join(f"{number(value, measure.kind)} ({where})" for where, value in known.items())
            yield f"{measure.title} of {model or 'all'} has several values: {shown}"


def _at(node: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        node = node.get(key) if isinstance(node, dict) else None
    return node if place and isinstance(node, dict) and "leads" in node else None


def _in_tables(screen: Screen, title: str, model: str) -> Iterator[tuple[str, float]]:
    """The cells under this title in rows of this model alone, or of all of it."""
    for table in screen.tables:
        heads = [column.title for column in table.columns]
        if title not in heads or any(column.items for column in table.columns):
            continue
        rows = [row for row in table.rows if not model or model in row]
        rows = rows if len(rows) == 1 else [row for row in rows if "all" in row]
        for row in rows if len(rows) == 1 else []:
            cell = row[heads.index(title)]
            if isinstance(cell, Estimate):
                yield f"table {table.title}", cell.value


CHECKS: tuple[Callable[[Screen], Iterator[str]], ...] = (
    sentences_that_give_other_numbers,
    intervals_without_their_value,
    values_beyond_their_range,
    limits_far_beyond_students,
    claims_that_contradict_each_other,
    headlines_with_several_values,
    null_conditions_without_a_difference,
    null_conditions_that_did_not_decide,
    tests_beyond_one_family,
    sentences_that_cannot_be_true,
)


# Charts


def charts_that_leave_their_axes(screen: Screen) -> Iterator[str]:
    """Every chart of the report draws every number within its axes, none moved to their ends."""
    sections: list[Section] = [
        *measuring_of(screen.outcome.study).sections(screen.outcome.analysis),
        *screen.outcome.sections_against(),
    ]
    for section in sections:
        for chart in section.exhibits:
            if isinstance(chart, Chart):
                yield from (f"{section.title}, {chart.title}: {fault}" for fault in beyond_axes(chart.spec))


def beyond_axes(spec: dict[str, Any]) -> Iterator[str]:
    """The numbers of a specification of Vega-Lite that lie outside the axis along which they are drawn."""
    layers, left = list[dict[str, Any]](), [spec.get("spec", spec)]
    while left:
        view = left.pop()
        left += view.get("layer", ())
        layers += [view["encoding"]] if "encoding" in view else []
    for direction in ("x", "y", "color"):
        channels = [one for layer in layers for name in (direction, f"{direction}2") if (one := layer.get(name))]
        domains = [one["scale"] for one in channels if "domain" in (one.get("scale") or {}) and "field" in one]
        for scale in domains:
            if not all(isinstance(end, int | float) for end in scale["domain"]) or len(scale["domain"]) != 2:
                continue
            if scale.get("clamp"):
                yield f"marks are moved to the ends of {direction}"
            low, high = scale["domain"]
            room = 1e-9 * (high - low)
            fields = [one["field"] for one in channels if "field" in one and one.get("type") != "ordinal"]
            for row in spec["data"]["values"]:
                for value in (row.get(field) for field in fields):
                    if isinstance(value, int | float) and not low - room <= value <= high + room:
                        yield f"{value:g} lies beyond {direction} from {low:g} to {high:g}"
