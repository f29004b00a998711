"""Baseline files, and gates that check a model against a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import msgspec
import numpy as np

from overton.comparison.comparison import compare
from overton.comparison.provenance import provenance_of
from overton.comparison.results import Comparison, ComparisonRow, NeededData
from overton.comparison.sources import (
    FORMAT,
    BaselineFile,
    BaselineMeasure,
    ComparedModel,
    ComparisonSource,
    open_sources,
)
from overton.errors import InputError, Problem, Unreadable, suggestion
from overton.files.atomic import write_atomic
from overton.statistics import Estimate
from overton.statistics.comparison import items_to_pass
from overton.studies.contributions import Contribution
from overton.studies.document import SCHEMA, interval_of, number_of, plain
from overton.studies.findings import counted
from overton.studies.measures import Measure
from overton.studies.numbers import sentence
from overton.studies.options import option_place
from overton.untrusted import converted, decode_text, decode_toml, read_file, visible_line

_DIGITS = 12

_STORED_TRIALS = (1, 2, 3, 5, 8, 12, 20, 30, 50)
"""If a measure depends on the number of trials, a baseline also stores the measure for each of these numbers that is
smaller than the run's own."""


def baseline(run: str | Path, *, out: str | Path, measures: Sequence[str] = (), seed: int = 0, **how: Any) -> Path:
    """Store each item's contribution to each headline measure and to `measures`, for a run or one of its models
    ('RUN#MODEL'). Writes `out`, which `compare` and `gate` take instead of the run. Returns the file.

    The file contains no replies or items. It has sums by item, counts of missing values, and the record of how the run
    asked its questions.

    Raises:
        InputError: the source is not a run, or has no such measure.
        RunError: the run has no records, or the file cannot be written.
    """
    study, _, (source,) = open_sources([run], None, {**how, "seed": seed})
    if source.run is None:
        raise InputError([Problem(str(run), "", "is not a run: only a run records how it was asked")])
    provenance = provenance_of(source.run, journal=True)
    sides = {name: side for name, side in source.sides.items() if not source.model or name == source.model}
    known = {contribution.measure.name for side in sides.values() for contribution in side}
    if unknown := [name for name in measures if name not in known]:
        reason = f"no such measure; known are {', '.join(sorted(known))}"
        raise InputError([Problem(option_place("measure"), name, reason) for name in unknown])
    kept = {
        name: {
            contribution.measure.name: _baseline_measure(
                contribution,
                _values_with_fewer_trials(source, name, contribution.measure) if contribution.measure.matched else None,
            )
            for contribution in side
            if contribution.measure.leads or contribution.measure.name in measures
        }
        for name, side in sides.items()
    }
    made = BaselineFile(FORMAT, study.name, source.label, provenance, dict(source.lost), kept)
    return write_atomic(Path(out), [msgspec.json.encode(made), b"\n"])


def _values_with_fewer_trials(source: ComparisonSource, model: str, measure: Measure) -> dict[int, dict[str, float]]:
    """Each item's value with fewer trials than the run has, by the number of trials."""
    side = ComparedModel(model, source, model)
    wanted = [trials for trials in _STORED_TRIALS if trials < (source.trials or 0)]
    found = {trials: side.with_trials(measure.name, trials) for trials in wanted}
    return {
        trials: {
            name: round(float(contribution.parts[row, 0] / contribution.parts[row, 1]), _DIGITS)
            for name, row in contribution.place.items()
        }
        for trials, contribution in found.items()
        if contribution is not None and contribution.items
    }


def _baseline_measure(contribution: Contribution, fewer: dict[int, dict[str, float]] | None) -> BaselineMeasure:
    extremes = None if contribution.extreme_values is None or not contribution.items else contribution.extreme_values()
    return BaselineMeasure(
        list(contribution.items),
        np.round(contribution.parts, _DIGITS).tolist(),
        None if contribution.failed_weight is None else contribution.failed_weight.tolist(),
        None if contribution.refused_weight is None else contribution.refused_weight.tolist(),
        None if extremes is None else (extremes[0].tolist(), extremes[1].tolist()),
        contribution.why,
        fewer or None,
        contribution.answers,
    )


GateOutcome = Literal["within", "beyond", "undecided"]
_MOST_BYTES = 1_000_000


class GuardedMeasure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One guard of a gate: the `measure`, how far it may move, and the direction guarded against (default 'both')."""

    measure: str
    margin: float
    direction: Literal["higher", "lower", "both"] = "both"


class GateGuards(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gate's file: its guards, and whether undecided checks fail or pass."""

    guard: list[GuardedMeasure]
    undecided: Literal["fail", "pass"] = "fail"


@dataclass(frozen=True)
class Check:
    """The result of one guard for one pair.

    `more_items` is the number of further items that would decide an undecided check with a probability of 80%, if the
    true difference equals the observed one. It is None if the check is decided or the number is unknown. `unit` names
    the items ('issues').
    """

    guard: GuardedMeasure
    row: ComparisonRow
    outcome: GateOutcome
    more_items: int | None
    unit: str


@dataclass(frozen=True)
class Gate:
    """Every check, and the comparison on which the checks are based; `undecided` says whether undecided checks fail or
    pass."""

    checks: Sequence[Check]
    comparison: Comparison
    undecided: Literal["fail", "pass"]

    @property
    def outcome(self) -> GateOutcome:
        """'beyond' if any check is beyond, else 'undecided' if any check is undecided, else 'within'."""
        found = {check.outcome for check in self.checks}
        return "beyond" if "beyond" in found else "undecided" if "undecided" in found else "within"

    @property
    def passes(self) -> bool:
        """Whether the candidate may pass."""
        return self.outcome == "within" or (self.outcome == "undecided" and self.undecided == "pass")

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        checks = [
            {
                **msgspec.structs.asdict(check.guard),
                "base": check.row.base,
                "candidate": check.row.candidate,
                "outcome": check.outcome,
                "difference": number_of(check.row.difference.own),
            }
            for check in self.checks
        ]
        head = {"outcome": self.outcome, "passes": self.passes, "checks": checks}
        return {**head, "comparison": nested_comparison(self.comparison)}


def nested_comparison(made: Comparison) -> dict[str, Any]:
    """A comparison in the form of schema 1, by pair and measure. Scripts of CI systems read this form from a gate's
    JSON."""
    ranks = {
        measure: [{"name": model, "value": number_of(number), "places": list(places)} for model, number, places in some]
        for measure, some in made.ranks.items()
    }
    pairs = [
        {
            "base": base,
            "candidate": candidate,
            "study": made.study,
            "measures": {
                row.measure.name: _nested_row(row)
                for row in made.rows
                if (row.base, row.candidate) == (base, candidate)
            },
        }
        for base, candidate in made.pairs
    ]
    head = {"schema": SCHEMA, "study": made.study, "level": made.level, "seed": made.seed, "although": made.although}
    differing = [difference._asdict() for difference in made.differing]
    return {**head, "differing": differing, "pairs": pairs, "ranks": ranks, "lost": plain(made.lost)}


def _nested_row(row: ComparisonRow) -> dict[str, Any]:
    difference: dict[str, Any] = {
        **number_of(row.difference.own),
        "level": row.difference.own.level,
        "equivalence": _nested_interval(row.difference.equivalence),
        "simultaneous": None,
        "worst_case": plain(row.worst),
    }
    if row.joint is not None:
        equivalence = _nested_interval(row.joint.equivalence)
        difference["simultaneous"] = {
            **_nested_interval(row.joint.own),
            "equivalence": equivalence,
            "method": row.joint_method,
        }
    made: dict[str, Any] = {
        "title": row.measure.title,
        "items": row.difference.own.n,
        "base": number_of(row.base_number),
        "candidate": number_of(row.candidate_number),
        "difference": difference,
        "margin": row.margin,
        "verdict": row.verdict,
        "why": row.why,
        "needed": None if row.needed is None else _nested_needed(row.needed),
    }
    if row.with_trials is not None:
        made["as_with_trials"] = row.with_trials
    if row.variants:
        sides = {
            side: {"leads": leads, **{name: number_of(getattr(own, side)) for name, own in row.variants.items()}}
            for side, leads in zip(("base", "candidate"), row.preferred, strict=True)
        }
        differences = {name: number_of(own.difference) for name, own in row.variants.items()}
        made["labels"] = {"leads": row.variant, **sides, "difference": differences}
    return made


def _nested_interval(estimate: Estimate) -> dict[str, Any]:
    return {"level": estimate.level, **interval_of(estimate)}


def _nested_needed(needed: NeededData) -> dict[str, Any]:
    *own, trials, more_trials, trials_cost, why = needed
    of_items = dict(zip(needed._fields, own, strict=False))
    return {**of_items, "trials": {"trials": trials, "more": more_trials, "cost": trials_cost, "why": why}}


def gate(base: str | Path, candidate: str | Path, config: str | Path, *, although: str = "", **how: Any) -> Gate:
    """Whether a candidate stays within the margins of `config`, a TOML file. A study's configuration file has the same
    keys in its table `[gate]`.

        undecided = "fail"            # or "pass"

        [[guard]]
        measure = "MEASURE"
        margin = 5                    # in the measure's own units
        direction = "lower"           # guarded against: "lower", "higher" or "both"

    A check is 'within' if the 95% bound in the guarded direction lies inside the margin. It is 'beyond' if the whole
    95% interval lies outside the margin; with several pairs, the simultaneous interval must lie outside, too. In all
    other cases, and without an interval, the check is undecided. Each further guard slightly raises the probability of
    a false alarm for an unchanged model. If the guard's margin is well above 0, this increase is much less than 5%.

    Raises:
        InputError: the file cannot be read, names an unknown measure, or names a measure that cannot be compared
            because the numbers of trials differ. See also `compare`.
        RunError: a folder is not a run, or has no records.
    """
    chosen = read_gate(Path(config))
    margins = {guard.measure: guard.margin for guard in chosen.guard}
    try:
        made = compare(base, candidate, measures=list(margins), margins=margins, although=although, **how)
    except InputError as error:
        raise InputError([_at_guard(problem, str(config), margins) for problem in error.problems]) from error.__cause__
    if refused := [
        Problem(str(config), f"guard {name}", f"{row.base} and {row.candidate}: {row.refused}")
        for name in margins
        for row in made.rows
        if row.measure.name == name and row.refused
    ]:
        raise InputError(refused)
    checks = [
        _check(row, guard, made.unit)
        for guard in chosen.guard
        for row in made.rows
        if row.measure.name == guard.measure
    ]
    return Gate(checks, made, chosen.undecided)


def _at_guard(problem: Problem, config: str, margins: Iterable[str]) -> Problem:
    """The problem. If it concerns a guarded measure, its location becomes the guard instead of the option of
    `compare`."""
    measure = problem.key.partition("=")[0]
    if problem.place in (option_place("measure"), option_place("margin")) and measure in margins:
        return Problem(config, f"guard {measure}", problem.reason)
    return problem


def read_gate(path: Path) -> GateGuards:
    """Read a gate from its own file, or from the table 'gate' of a study's configuration file.

    Raises:
        InputError: the file is not a gate.
    """

    def decode(data: bytes) -> GateGuards:
        whole = decode_toml(decode_text(data))
        own = None if "guard" in whole else whole.get("gate")
        table = own if isinstance(own, Mapping) else whole
        if unknown := next(_unknown_keys(table), ""):
            raise Unreadable(unknown)
        return converted(table, GateGuards)

    def error(reason: str) -> InputError:
        return InputError([Problem(str(path), "", f"is not a readable gate: {reason}")])

    found = read_file(path, _MOST_BYTES, decode, error)
    if not found.guard:
        raise InputError([Problem(str(path), "guard", "guards nothing: name at least one measure and its margin")])
    problems = [
        Problem(str(path), f"guard {guard.measure}", f"its margin is {guard.margin}, but must be above 0")
        for guard in found.guard
        if not (isfinite(guard.margin) and guard.margin > 0)
    ]
    if len({guard.measure for guard in found.guard}) < len(found.guard):
        problems.append(Problem(str(path), "guard", "names a measure twice"))
    if problems:
        raise InputError(problems)
    return found


def _unknown_keys(table: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each unknown key of a gate, with the most similar known key."""
    guards = table.get("guard")
    tables = [("", table, GateGuards)] + [
        (f"guard[{number}].", guard, GuardedMeasure)
        for number, guard in enumerate(guards if isinstance(guards, list) else ())
        if isinstance(guard, Mapping)
    ]
    for place, found, kind in tables:
        known = kind.__struct_fields__
        yield from (f"{place}{key}: no such key{suggestion(key, known)}" for key in found if key not in known)


def _check(row: ComparisonRow, guard: GuardedMeasure, unit: str) -> Check:
    outcome, items = _outcome(row, guard), row.difference.own.n
    if outcome != "undecided":
        return Check(guard, row, outcome, None, unit)
    lowest = -inf if guard.direction == "higher" else -guard.margin
    highest = inf if guard.direction == "lower" else guard.margin
    total = items_to_pass(row.difference, lowest, highest, items)
    return Check(guard, row, outcome, None if total is None else total - items, unit)


def _outcome(row: ComparisonRow, guard: GuardedMeasure) -> GateOutcome:
    own, inner, margin = row.difference.own, row.difference.equivalence, guard.margin
    if isnan(own.low):
        return "undecided"
    falls, rises = guard.direction in ("lower", "both"), guard.direction in ("higher", "both")
    if (not falls or inner.low >= -margin) and (not rises or inner.high <= margin):
        return "within"
    found = [own, *([row.joint.own] if row.joint else [])]
    gone = (falls and all(each.lies_below(-margin) for each in found)) or (
        rises and all(each.lies_above(margin) for each in found)
    )
    return "beyond" if gone else "undecided"


def _what_would_decide(check: Check) -> str:
    if check.more_items is None:
        return ""
    more = counted(check.more_items, f"more {check.unit}")
    return f" If the true difference equals the observed one, about {more} like these would decide."


def check_line(check: Check) -> str:
    """A check in one line, with the number of items that would decide an undecided check."""
    row, measure = check.row, check.row.measure
    return (
        f"{measure.title}: {row.candidate} against {row.base} is {check.outcome} (margin {check.guard.margin:g},"
        f" guarded {'both ways' if check.guard.direction == 'both' else f'against {check.guard.direction}'}; difference"
        f" {sentence(row.difference.own, measure.gap)}).{_what_would_decide(check)}"
    )


def junit(made: Gate) -> bytes:
    """The checks as JUnit XML. A check that is beyond its margin is a failure. An undecided check is a failure, too, or
    is skipped if the gate lets undecided checks pass."""
    failing = {"beyond"} | ({"undecided"} if made.undecided == "fail" else set())
    failed = sum(check.outcome in failing for check in made.checks)
    skipped = sum(check.outcome == "undecided" and check.outcome not in failing for check in made.checks)
    counts = {"tests": str(len(made.checks)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    top = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(top, "testsuite", {"name": f"overton gate {made.comparison.study}", **counts})
    for check in made.checks:
        name = visible_line(f"{check.guard.measure}: {check.row.candidate} against {check.row.base}")
        case = ElementTree.SubElement(suite, "testcase", {"name": name, "classname": made.comparison.study})
        if check.outcome != "within":
            kind = "failure" if check.outcome in failing else "skipped"
            said = ElementTree.SubElement(
                case, kind, {"message": visible_line(check_line(check)), "type": check.outcome}
            )
            said.text = visible_line(check_line(check))
    made_of: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return made_of


def markdown(made: Gate) -> str:
    """The checks as a summary for a pull request."""
    return "\n".join(_markdown_lines(made)) + "\n"


def _markdown_lines(made: Gate) -> Iterator[str]:
    yield f"### Overton gate: {made.outcome}{'' if made.passes else ', does not pass'}"
    yield ""
    for change in made.comparison.differing:
        yield f"- {_escape_cell(f'{change.base} and {change.candidate}: {change.said}')}"
    if made.comparison.although:
        yield f"- Compared although instruments differ: {_escape_cell(made.comparison.although)}"
    yield ""
    yield "| measure | base | candidate | difference | margin | guarded | outcome |"
    yield "|---|---|---|---|--:|---|---|"
    for check in made.checks:
        difference = sentence(check.row.difference.own, check.row.measure.gap)
        cells = (
            check.guard.measure,
            check.row.base,
            check.row.candidate,
            difference,
            f"{check.guard.margin:g}",
            check.guard.direction,
        )
        yield "| " + " | ".join(map(_escape_cell, (*cells, check.outcome))) + " |"
    undecided = [check for check in made.checks if check.more_items is not None]
    if undecided:
        yield ""
    for check in undecided:
        yield f"- {_escape_cell(f'{check.guard.measure}, {check.row.candidate}:{_what_would_decide(check)}')}"


_MARKUP_ESCAPES: dict[str, str | int | None] = {mark: f"\\{mark}" for mark in "\\`*_[]<>|#!~"}


def _escape_cell(text: str) -> str:
    """Somebody else's text on one line, with all markup escaped."""
    return visible_line(text).translate(str.maketrans(_MARKUP_ESCAPES))
