"""What a plan says of differences: the options of `overton plan --detect`, and its answer in words and a table."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overton.errors import InputError, Problem
from overton.pairs import pair_of

if TYPE_CHECKING:
    from overton.api.detecting import PlanDetecting
    from overton.studies.detecting import Detection
    from overton.studies.exhibits import Table

__all__ = ["detect_params", "detecting_of", "show_detections", "sizes"]

_KEYWORD = Parameter.KEYWORD_ONLY


def detect_params() -> list[Parameter]:
    """The options that ask what a plan would show."""
    measured = list[str] | None
    return [
        Parameter(name, _KEYWORD, annotation=Annotated[kind, option], default=default)
        for name, kind, default, option in (
            (
                "detect",
                measured,
                None,
                typer.Option(
                    "--detect",
                    metavar="MEASURE=X",
                    help="Say how many items and trials show a difference of X between two models; repeat for more.",
                ),
            ),
            (
                "power",
                float,
                0.8,
                typer.Option(
                    "--power",
                    metavar="X",
                    help="The chance with which it is to be seen; 0.8 by default.",
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
                    help="What tells how items vary: a run, RUN#MODEL, or simulated/NAME (the default).",
                ),
            ),
            (
                "correlation",
                float | None,
                None,
                typer.Option(
                    "--correlation",
                    metavar="X",
                    help="How two models' true numbers go together over items; 0.5 where no pilot tells.",
                ),
            ),
            (
                "margin",
                measured,
                None,
                typer.Option(
                    "--margin", metavar="MEASURE=X", help="A difference of X counts as none; repeat for more."
                ),
            ),
        )
    ]


def detecting_of(asked: dict[str, Any]) -> dict[str, Any]:
    """These options taken out of `asked`, as the arguments of `overton.plan`.

    Raises:
        InputError: a word is not MEASURE=X; or they say how to see a difference, and not which.
    """
    detect, margins = sizes("--detect", asked.pop("detect", None)), sizes("--margin", asked.pop("margin", None))
    given = {"power": asked.pop("power", None), "margins": margins}
    given |= {name: asked.pop(name, None) for name in ("pilot", "correlation")}
    if not detect and (given["pilot"] or margins or given["correlation"] is not None):
        raise InputError([Problem("--detect", "", "say which difference is to be seen, as in --detect MEASURE=5")])
    return {"detect": detect, **given} if detect else {}


def sizes(option: str, words: list[str] | None) -> dict[str, float]:
    """Sizes by measure from NAME=X words.

    Raises:
        InputError: a word is not that.
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
    """Print what a plan would show: a sentence, a table and what it rests on for each measure."""
    from overton.cli.output import results
    from overton.cli.tables import show
    from overton.studies.exhibits import Prose

    for one in planned.detect:
        results().print()
        show([Prose("\n\n".join(_said(one, one.unit))), *([_table(one, one.unit)] if one.needed else [])], results())


def _said(one: Detection, plural: str) -> Iterator[str]:
    head = f"{one.title}: a difference of {one.difference:g} between two models"
    if one.differing:
        yield (
            f"The pilot was asked otherwise than this plan asks, so {plural} may vary otherwise, too:"
            f" {'; '.join(one.differing)}."
        )
    if one.why is not None:
        yield f"{head}: {one.why}."
        return
    if one.chance is not None and one.smallest is not None and one.chance_equivalent is not None:
        trials = "" if one.trials is None else f" and {_trials(one.trials)} of each"
        yield (
            f"{head} is seen with a chance of {one.chance:.0%} by this plan ({one.items} {plural}{trials}), which sees"
            f" one of {one.smallest:.3g} with {one.power:.0%}. A true difference of {one.margin / 2:g}, half the"
            f" margin, is found equivalent with a chance of {one.chance_equivalent:.0%}."
        )
    else:
        yield f"{head}: this plan has {one.items} {plural}, and fewer than 5 have no interval."
    yield _rests_on(one, plural)


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


def _rests_on(one: Detection, plural: str) -> str:
    trials = f" with {_trials(one.pilot_trials)} of each" if one.pilot_trials else ""
    if one.assumed:
        how = f"That two models' numbers go together over {plural} by {one.correlation:g} is assumed (--correlation)."
    elif one.correlation is None:
        how = "How its models' numbers go together is not told."
    else:
        how = f"Two models' numbers go together over {plural} by {one.correlation:.2f}."
    chance = "" if one.spread_trials is not None else " What chance in trials makes of it is not known from this pilot."
    level = f" The level is divided among {one.pairs} pairs." if one.pairs > 1 else ""
    return (
        f"How {plural} vary is taken from {one.pilot} ({one.pilot_items} {plural}{trials};"
        f" {', '.join(one.pilot_models)}). {how}{chance}{level}"
    )


def _table(one: Detection, plural: str) -> Table:
    from overton.studies.exhibits import Cell, Column, Missing, Table

    def dollars(cost: float | None) -> Cell:
        return Missing("a price is not known") if cost is None else f"${cost:,.2f}"

    none = Missing("no number is enough")
    rows: list[list[Cell]] = [
        [
            "as in the pilot" if row.trials is None else f"{row.trials}",
            none if row.items is None else row.items,
            none if row.items_between is None else "{:,} to {:,}".format(*row.items_between),
            dollars(row.cost),
            none if row.items_equivalent is None else row.items_equivalent,
            dollars(row.cost_equivalent),
        ]
        for row in one.needed
    ]
    return Table(
        f"{one.title}: {plural} needed, with a chance of {one.power:.0%}",
        [
            Column("Trials of each"),
            Column(f"To see {one.difference:g}", "count"),
            Column("By the pilot's noise"),
            Column("Cost"),
            Column(f"To find {one.margin / 2:g} equivalent", "count"),
            Column("Cost"),
        ],
        rows,
        note="Costs are the plan's, for all of its models.",
    )
