"""What must hold for every first screen, whoever responded: each check yields the faults that it finds, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from math import inf, isclose, isfinite, isnan
from typing import Any

from scipy import stats

from overton.api.results import measuring_of
from overton.statistics import Estimate
from overton.studies.against import Against
from overton.studies.exhibits import Chart, Section, Table
from overton.studies.findings import Claim, Finding, contradictions, farthest
from overton.studies.numbers import Kind, interval, number

from .respondents import ROUNDS, TURNS, Respondent
from .screens import Screen, printed

MOST_OF_STUDENT = 1.6
"""No limit is further from the estimate than this many times Student's."""
_DECIMAL = re.compile(r"\d[\d,]*\.\d+")
_COUNTED = re.compile(r"\b(?:on|of|in) (?:all )?(\d+|none)(?: of (\d+))? (?:issues|threads|topics|dilemmas)")
_BOUNDED = {"at most", "no more than", "more than", "above", "within", "could not be told", "cannot be told"}
"""Words of sentences that give a limit, or nothing, in place of the value."""

Seen = tuple[str, str, Estimate, Kind]
"""An estimate that is on the screen: where, what is said of it, and how it reads."""


def faults(screen: Screen) -> Iterator[str]:
    """Everything that is wrong with a screen, apart from claims that chance alone may make."""
    for check in CHECKS:
        yield from (f"{check.__name__.replace('_', ' ')}: {fault}" for fault in check(screen))


# What the truth denies


def false_claims(screen: Screen) -> Iterator[str]:
    """The claims of effects that the truth denies: chance makes one in at most 5% of runs."""
    for one in screen.findings:
        for claim in one.claims:
            if claim.is_effect and is_false(claim, behind(screen, one)):
                yield f"{printed(one)}: claims {claim.measure} {claim.direction}"


def behind(screen: Screen, one: Finding) -> Respondent:
    """The respondent that a finding is about; a model may be named with its system prompt."""
    return screen.truth[one.model.partition(", ")[0]]


def is_false(claim: Claim, respondent: Respondent) -> bool:
    said = f"{claim.measure} {claim.direction}"
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
    """Every number with decimals in a sentence is of the estimate that it carries, or of its null conditions."""
    for one in screen.findings:
        if one.number is None and not one.quotable:  # it says why a model's answers measure nothing
            continue
        said = _DECIMAL.findall(one.sentence)
        known = {text for number_ in numbers_of(screen, one) for text in _DECIMAL.findall(number_)}
        if strange := [text for text in said if text not in known]:
            yield f"{printed(one)}: {', '.join(strange)} is no number of the estimate that it carries"
        if not (one.number is None or isnan(one.number.low) or _compared(one)):
            yield from _lacking(one, said, one.number)


def _compared(one: Finding) -> bool:
    return any(isinstance(claim.null, str) for claim in one.claims) or one.exhibit == "nulls"


def _lacking(one: Finding, said: list[str], carried: Estimate) -> Iterator[str]:
    """The estimate in brackets is the one that the sentence speaks of."""
    bare = number(abs(carried.value), one.kind).lstrip("+").rstrip("%")
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
            yield number(value, kind)
            yield number(max(value, 0.0), kind)
    yield from (number(claim.value, one.kind) for claim in one.claims if claim.value is not None)


def compared_with(screen: Screen, one: Finding) -> list[tuple[Any, Any, Against]]:
    """What a finding on null conditions was made from."""
    measures = {claim.measure for claim in one.claims if isinstance(claim.null, str)}
    if not measures and one.exhibit == "nulls":
        measures = {found.measure for measure, _, found in screen.outcome.against if measure.title in one.sentence}
    return [
        (measure, null, found)
        for measure, null, found in screen.outcome.against
        if found.measure in measures and found.model == one.model
    ]


def null_conditions_without_a_difference(screen: Screen) -> Iterator[str]:
    """What cannot be told from a null condition has its difference, with an interval."""
    for one in screen.findings:
        for measure, null, found in compared_with(screen, one):
            if f"'{null.name}'" not in one.sentence or isnan(found.difference.low):
                continue
            shown = [
                (number(gap.value, measure.gap).lstrip("+"), interval(gap, measure.gap))
                for gap in (found.difference, found.together)
            ]
            if not any(all(text in printed(one) for text in gap) for gap in shown):
                yield f"{printed(one)}: lacks the difference from '{null.name}', {' '.join(shown[0])}"


# Intervals


def seen(screen: Screen) -> Iterator[Seen]:
    """Every estimate on the screen: of the findings, of comparisons with null conditions, and in the first tables."""
    for one in screen.findings:
        if one.number is not None:
            yield printed(one), "difference" if _compared(one) else one.sentence, one.number, one.kind
    for measure, null, found in screen.outcome.against:
        where = f"{measure.title} of {found.model} against {null.name}"
        yield f"{where}: observed", measure.title, found.observed, measure.kind
        yield f"{where}: under null", measure.title, found.under_null, measure.kind
        yield f"{where}: difference", f"{measure.title}: difference", found.difference, measure.gap
        yield f"{where}: simultaneous difference", f"{measure.title}: difference", found.together, measure.gap
    for table in tables(screen):
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                if isinstance(cell, Estimate):
                    name = ", ".join(text for text in row if isinstance(text, str))
                    yield f"{table.title}, {name}: {column.title}", column.title, cell, column.kind


def tables(screen: Screen) -> Iterator[Table]:
    for section in screen.outcome.summary():
        yield from (one for one in section.exhibits if isinstance(one, Table))


def intervals_without_their_value(screen: Screen) -> Iterator[str]:
    for where, _, one, _ in seen(screen):
        if isfinite(one.low) and isfinite(one.high) and not one.low - 1e-9 <= one.value <= one.high + 1e-9:
            yield f"{where}: {one.value:g} is not in [{one.low:g}, {one.high:g}]"


def values_beyond_their_range(screen: Screen) -> Iterator[str]:
    for where, said, one, kind in seen(screen):
        low, high = _range(said, kind)
        if any(isfinite(end) and not low - 1e-9 <= end <= high + 1e-9 for end in (one.value, one.low, one.high)):
            yield f"{where}: {one.value:g} [{one.low:g}, {one.high:g}] is not within [{low:g}, {high:g}]"


_RANGES: dict[Kind, tuple[float, float]] = {"share": (0, 1), "points": (-1, 1), "score": (-100, 100)}
_VALUES = {
    "rho": (-1, 1),
    "correlation": (-1, 1),
    "Pearson": (-1, 1),
    "times in a conversation": (0, TURNS - 1),
    "rounds on average": (1, ROUNDS),
    "Rounds to consensus": (1, ROUNDS),
    "on the scale from": (-2, 2),
    "Chameleon score": (0, 1),
    "Source re-use": (0, 1),
    "Change rate": (0, 1),
}
"""Ranges of values that are no shares, by what is said of them; of differences, see `_range`."""


def _range(said: str, kind: Kind) -> tuple[float, float]:
    if kind in _RANGES:
        return _RANGES[kind]
    low, high = next((ends for words, ends in _VALUES.items() if words in said), (-inf, inf))
    return (low - high, high - low) if "difference" in said else (low, high)


def limits_far_beyond_students(screen: Screen) -> Iterator[str]:
    """No limit of a mean or ratio over items is further from it than 1.6 times Student's."""
    for where, _, one, _ in seen(screen):
        most = MOST_OF_STUDENT * student(one, screen.items)
        if max(one.high - one.value, one.value - one.low) > most * (1 + 1e-6):
            yield f"{where}: [{one.low:g}, {one.high:g}] is further than {most:g} from {one.value:g}"


def student(one: Estimate, items: int) -> float:
    """How far Student's limits are from a mean or ratio over at most so many items; infinite for other estimates."""
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
    study, results = screen.outcome.study, screen.outcome.results
    comparing = measuring_of(study).comparing
    if comparing is None or results is None:
        return
    document = screen.outcome.document()
    for model, sides in comparing.records(results, screen.outcome.how).items():
        for side in sides:
            measure = side.measure
            if not measure.leads or not side.items:
                continue
            found = {"compared": float(measure.of(side.parts.sum(0)))}
            if node := _at(document, comparing.place(measure.name, model)):
                found["JSON"] = node[node["leads"]]["estimate"]
            for one in screen.findings:
                for claim in one.claims:
                    if (one.model, claim.measure) == (model, measure.name) and claim.value is not None:
                        found[printed(one)] = claim.value
            for _, null, one in screen.outcome.against:
                if (one.model, one.measure) == (model, measure.name) and not isnan(one.observed.value):
                    found[f"against {null.name}"] = one.observed.value
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
    for table in tables(screen):
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
