"""Messages with faults of form, and the headlines without them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from overton.statistics import Estimate
from overton.studies.deliberation.figures.influences import parameters
from overton.studies.deliberation.measures.analysis import Analysis
from overton.studies.deliberation.measures.results import Choice, Parameter
from overton.studies.numbers import Kind
from overton.studies.sections import Cell, Column, Section, Table
from overton.studies.warnings import fault_section


def faults(analysis: Analysis) -> Iterator[Section]:
    """The faults by model and format, and the headlines without them; nothing if there are none."""
    for section in fault_section(analysis.faults, _MESSAGES, "Format", _WHAT):
        yield Section(section.key, section.title, [*section.exhibits, *_beside(analysis)])


_MESSAGES = "messages"
_WHAT = "Without faults, these messages' verdicts count as unreadable: they agree with nothing and are no change."


def _beside(analysis: Analysis) -> Iterator[Table]:
    consensus, changes = analysis.consensus, analysis.changes
    without = consensus.without_faults
    rows: list[list[Cell]] = [["Consensus", consensus.overall.reached, without.reached if without else None]]
    rows += [
        [f"{name} changed its verdict", rate, (changes.without_faults or {}).get(name)]
        for name, rate in changes.by_model.items()
    ]
    title = "Consensus and changes of verdict, with and without faulty messages"
    yield Table(title, [Column("Of deliberations"), *_sides("share")], rows, summary=True)
    fits = [[*_compare_fits(fit, analysis.level)] for fit in analysis.choice if fit.without_faults]
    if any(fits):
        title = "Inertia and conformity, with and without faulty messages"
        yield Table(title, [Column("Log-odds"), *_sides("value")], [row for rows in fits for row in rows])


def _sides(kind: Kind) -> tuple[Column, Column]:
    return Column("All messages", kind), Column("Without faults", kind)


def _compare_fits(choice: Choice, level: float) -> Iterator[list[Cell]]:
    rest = dict(parameters(choice.without_faults)) if choice.without_faults else {}
    goal = f", goal {choice.goal}" if choice.goal else ""
    for name, found in parameters(choice):
        other = rest.get(name)
        yield [f"{name}{goal}", _number(found, level), _number(other, level) if other else None]


def _number(parameter: Parameter, level: float) -> Estimate:
    return msgspec.structs.replace(parameter.number, level=level)
