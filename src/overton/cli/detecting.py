"""Differences that a plan can detect: the options of `overton plan --detect`, and its answer in words and a table."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overton.errors import InputError, Problem
from overton.key_values import pair_of

if TYPE_CHECKING:
    from overton.planning.power import PlanDetecting
    from overton.studies.power import Detection
    from overton.studies.sections import Table


_KEYWORD_ONLY = Parameter.KEYWORD_ONLY


def detect_params() -> list[Parameter]:
    """The options that ask which differences a plan would detect."""
    measured = list[str] | None
    return [
        Parameter(name, _KEYWORD_ONLY, annotation=Annotated[kind, option], default=default)
        for name, kind, default, option in (
            (
                "detect",
                measured,
                None,
                typer.Option(
                    "--detect",
                    metavar="MEASURE=X",
                    help="Show how many items and trials detect a difference of X between two models; repeatable.",
                ),
            ),
            (
                "power",
                float,
                0.8,
                typer.Option(
                    "--power",
                    metavar="X",
                    help="The probability of detecting it; 0.8 by default.",
                    show_default=False,
                ),
            ),
            (
                "pilot",
                str | None,
                None,
                typer.Option(
                    "--pilot",
                    metavar="RUN",
                    help="Where variation among items is estimated: a run, RUN#MODEL, or simulated/NAME (the default).",
                ),
            ),
            (
                "correlation",
                float | None,
                None,
                typer.Option(
                    "--correlation",
                    metavar="X",
                    help="Correlation of two models' true values over items; 0.5 if no pilot shows it.",
                ),
            ),
            (
                "margin",
                measured,
                None,
                typer.Option(
                    "--margin",
                    metavar="MEASURE=X",
                    help="Equivalence margin: differences below X count as none; repeatable.",
                ),
            ),
        )
    ]


def detecting_of(asked: dict[str, Any]) -> dict[str, Any]:
    """These options removed from `asked`, as the arguments of `overton.plan`.

    Raises:
        InputError: a word is not MEASURE=X; or they say how to detect a difference, but not which.
    """
    detect, margins = sizes("--detect", asked.pop("detect", None)), sizes("--margin", asked.pop("margin", None))
    given = {"power": asked.pop("power", None), "margins": margins}
    given |= {name: asked.pop(name, None) for name in ("pilot", "correlation")}
    if not detect and (given["pilot"] or margins or given["correlation"] is not None):
        raise InputError([Problem("--detect", "", "say which difference to detect, as in --detect MEASURE=5")])
    return {"detect": detect, **given} if detect else {}


def sizes(option: str, words: list[str] | None) -> dict[str, float]:
    """Sizes by measure from NAME=X words.

    Raises:
        InputError: a word is malformed.
    """
    made = {}
    for word in words or ():
        name, value = pair_of(word, option, "NAME=X, as in score=5")
        try:
            made[name] = float(value)
        except ValueError:
            raise InputError([Problem(option, word, "must be NAME=X, X a number above 0")]) from None
    return made


def show_detections(planned: PlanDetecting) -> None:
    """Print what a plan would detect: for each measure a sentence, a table and what it is based on."""
    from overton.cli.output import results
    from overton.cli.tables import show
    from overton.studies.sections import Prose

    for detection in planned.detect:
        results().print()
        show(
            [
                Prose("\n\n".join(_describe_detection(detection, detection.unit))),
                *([_needed_table(detection, detection.unit)] if detection.needed else []),
            ],
            results(),
        )


def _describe_detection(detection: Detection, plural: str) -> Iterator[str]:
    head = f"{detection.title}: a difference of {detection.difference:g} between two models"
    if detection.differing:
        yield (
            f"The pilot was asked differently from this plan, so {plural} may vary differently, too:"
            f" {'; '.join(detection.differing)}."
        )
    if detection.why is not None:
        yield f"{head}: {detection.why}."
        return
    if detection.chance is not None and detection.smallest is not None and detection.chance_equivalent is not None:
        trials = "" if detection.trials is None else f" and {_count_trials(detection.trials)} of each"
        yield (
            f"{head} is detected with a probability of {detection.chance:.0%} by this plan"
            f" ({detection.items} {plural}{trials}), which detects one of {detection.smallest:.3g} with"
            f" {detection.power:.0%}. A true difference of {detection.margin / 2:g}, half the margin, is"
            f" found equivalent with a probability of {detection.chance_equivalent:.0%}."
        )
    else:
        yield f"{head}: this plan has {detection.items} {plural}, and there is no interval for fewer than 5."
    yield _describe_basis(detection, plural)


def _count_trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


def _describe_basis(detection: Detection, plural: str) -> str:
    trials = f" with {_count_trials(detection.pilot_trials)} of each" if detection.pilot_trials else ""
    if detection.assumed:
        correlation = f"A correlation of {detection.correlation:g} between two models' values over {plural}"
        how = f"{correlation} is assumed (--correlation)."
    elif detection.correlation is None:
        how = "The correlation of its models' values is unknown."
    else:
        how = f"Two models' values have a correlation of {detection.correlation:.2f} over {plural}."
    chance = (
        "" if detection.spread_trials is not None else " This pilot does not show how much of it is chance in trials."
    )
    level = f" The level is divided among {detection.pairs} pairs." if detection.pairs > 1 else ""
    return (
        f"Variation among {plural} is estimated from {detection.pilot} ({detection.pilot_items} {plural}{trials};"
        f" {', '.join(detection.pilot_models)}). {how}{chance}{level}"
    )


def _needed_table(detection: Detection, plural: str) -> Table:
    from overton.studies.sections import Cell, Column, EmptyCell, Table

    def dollars(cost: float | None) -> Cell:
        return EmptyCell("a price is unknown") if cost is None else f"${cost:,.2f}"

    none = EmptyCell("no number suffices")
    rows: list[list[Cell]] = [
        [
            "as in the pilot" if row.trials is None else f"{row.trials}",
            none if row.items is None else row.items,
            none if row.items_between is None else "{:,} to {:,}".format(*row.items_between),
            dollars(row.cost),
            none if row.items_equivalent is None else row.items_equivalent,
            dollars(row.cost_equivalent),
        ]
        for row in detection.needed
    ]
    return Table(
        f"{detection.title}: {plural} needed for a power of {detection.power:.0%}",
        [
            Column("Trials of each"),
            Column(f"To detect {detection.difference:g}", "count"),
            Column("Given the pilot's noise"),
            Column("Cost"),
            Column(f"To find {detection.margin / 2:g} equivalent", "count"),
            Column("Cost"),
        ],
        rows,
        note="Costs are the plan's, for all its models.",
    )
