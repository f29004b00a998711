"""Baselines kept, and gates that hold a model to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
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
from overton.errors import InputError, Problem
from overton.files.atomic import write_atomic
from overton.statistics import Estimate
from overton.studies.contributions import Contribution
from overton.studies.document import SCHEMA, interval_of, number_of, plain
from overton.studies.measures import Measure
from overton.studies.numbers import sentence
from overton.studies.options import option_place
from overton.untrusted import converted, decode_text, decode_toml, read_file, visible_line

_DIGITS = 12

_STORED_TRIALS = (1, 2, 3, 5, 8, 12, 20, 30, 50)
"""Numbers of trials for which a baseline stores measures that depend on it, if its run has more."""


def baseline(run: str | Path, *, out: str | Path, measures: Sequence[str] = (), seed: int = 0, **how: Any) -> Path:
    """Store what each item of a run, or of one of its models ('RUN#MODEL'), contributes to each headline measure and
    to `measures`; writes `out`, which `compare` and `gate` take instead of the run. Returns the file.

    It contains no replies or items, only sums by item, counts of what is missing, and how the run was asked.

    Raises:
        InputError: it is not a run, or has no such measure.
        RunError: it has no records, or the file cannot be written.
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
    """Each item's value as with fewer trials than the run has."""
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


class _GateFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gate's file: its guards, and how undecided ones count."""

    guard: list[GuardedMeasure]
    undecided: Literal["fail", "pass"] = "fail"


@dataclass(frozen=True)
class Check:
    """The result of one guard for one pair."""

    guard: GuardedMeasure
    row: ComparisonRow
    outcome: GateOutcome


@dataclass(frozen=True)
class Gate:
    """Every check, and the comparison that they are based on; `undecided` says how undecided ones count."""

    checks: Sequence[Check]
    comparison: Comparison
    undecided: Literal["fail", "pass"]

    @property
    def outcome(self) -> GateOutcome:
        """Beyond if any check is; otherwise undecided if any is; otherwise within."""
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
    """A comparison in the form of schema 1, by pair and measure: scripts of CI systems read it from a gate's JSON."""
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
    """Whether a candidate stays within the margins of `config`, a TOML file:

        undecided = "fail"            # or "pass"

        [[guard]]
        measure = "MEASURE"
        margin = 5                    # in the measure's own units
        direction = "lower"           # guarded against: "lower", "higher" or "both"

    Within: the 95% bound in the guarded direction lies inside the margin. Beyond: the whole 95% interval lies outside;
    with several pairs, the simultaneous one, too. Otherwise undecided, also if there is no interval.

    Raises:
        InputError: the file cannot be read, or names an unknown measure, or one that cannot be compared because the
            numbers of trials differ; otherwise as `compare`.
        RunError: a folder is not a run, or has no records.
    """
    chosen = _read_gate(Path(config))
    margins = {guard.measure: guard.margin for guard in chosen.guard}
    made = compare(base, candidate, measures=list(margins), margins=margins, although=although, **how)
    if refused := [
        Problem(str(config), f"guard {name}", f"{row.base} and {row.candidate}: {row.refused}")
        for name in margins
        for row in made.rows
        if row.measure.name == name and row.refused
    ]:
        raise InputError(refused)
    checks = [
        Check(guard, row, _outcome(row, guard))
        for guard in chosen.guard
        for row in made.rows
        if row.measure.name == guard.measure
    ]
    return Gate(checks, made, chosen.undecided)


def _read_gate(path: Path) -> _GateFile:
    """The gate that a file describes.

    Raises:
        InputError: it is not a gate.
    """

    def decode(data: bytes) -> _GateFile:
        return converted(decode_toml(decode_text(data)), _GateFile)

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


def _outcome(row: ComparisonRow, guard: GuardedMeasure) -> GateOutcome:
    own, inner, margin = row.difference.own, row.difference.equivalence, guard.margin
    if isnan(own.low):
        return "undecided"
    falls, rises = guard.direction in ("lower", "both"), guard.direction in ("higher", "both")
    if (not falls or inner.low >= -margin) and (not rises or inner.high <= margin):
        return "within"
    found = [own, *([row.joint.own] if row.joint else [])]
    gone = (falls and all(each.high < -margin for each in found)) or (
        rises and all(each.low > margin for each in found)
    )
    return "beyond" if gone else "undecided"


def check_line(check: Check) -> str:
    """A check in one line."""
    row, measure = check.row, check.row.measure
    return (
        f"{measure.title}: {row.candidate} against {row.base} is {check.outcome} (margin {check.guard.margin:g},"
        f" guarded {'both ways' if check.guard.direction == 'both' else f'against {check.guard.direction}'}; difference"
        f" {sentence(row.difference.own, measure.gap)})"
    )


def junit(made: Gate) -> bytes:
    """The checks as JUnit XML: beyond is a failure; so is undecided, or skipped if that passes."""
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


_MARKUP_ESCAPES: dict[str, str | int | None] = {mark: f"\\{mark}" for mark in "\\`*_[]<>|#!~"}


def _escape_cell(text: str) -> str:
    """Somebody else's text on one line, with all markup escaped."""
    return visible_line(text).translate(str.maketrans(_MARKUP_ESCAPES))
