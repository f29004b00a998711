"""`overton items audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from overton.cli import options as opt

__all__ = ["audit"]


def audit(
    path: opt.IssuesArgument,
    judge: Annotated[
        list[str], typer.Option("--judge", help="Model that judges; repeat for agreement between judges.")
    ],
    out: opt.OutOption = None,
    positions: opt.PositionsOption = None,
    model_arg: opt.ModelArgOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Have judges say whether the paraphrases are neutral, and how far the judges agree."""
    from overton.api import issues
    from overton.cli.ending import conclude_making
    from overton.cli.output import print_json, results
    from overton.cli.progress import watching
    from overton.cli.tables import show
    from overton.studies.open_mindedness.neutrality import agreement_tables

    with watching("audit") as watch:
        run, agreement = issues.audit(
            path,
            judges=judge,
            out=out,
            positions=positions,
            model_args=opt.model_arguments(model_arg),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
    if json:
        print_json(agreement)
    else:
        show(agreement_tables(agreement), results())
    raise typer.Exit(conclude_making(run))
