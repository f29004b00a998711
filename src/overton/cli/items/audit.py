"""`overton items audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt

if TYPE_CHECKING:
    from rich.table import Table

    from overton.studies.open_mindedness.neutrality import Agreement

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
    from overton.studies.plain import SCHEMA, document

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
        print_json(document(run.manifest.study, SCHEMA, agreement))
    else:
        for table in _tables(agreement):
            results().print(table)
    raise typer.Exit(conclude_making(run))


def _tables(agreement: Agreement) -> list[Table]:
    from rich.markup import escape
    from rich.table import Table

    from overton.cli.summary import interval

    judges = Table(title="Neutrality of the paraphrases, by judge (shares of readable verdicts)")
    judges.add_column("judge", overflow="fold")
    for heading in ("neutral", "positions fair", "orientation as stated", "invalid", "refused", "failed"):
        judges.add_column(heading, justify="right")
    for row in agreement.judges:
        shares = (interval(share, 100, "%") for share in (row.neutral, row.fair, row.orientation))
        judges.add_row(escape(row.judge), *shares, str(row.invalid), str(row.refused), str(row.failed))
    tables = [judges]
    if agreement.pairs:
        pairs = Table(title="Agreement between judges")
        for heading in ("judges", "equal verdicts", "Cohen's kappa"):
            pairs.add_column(heading, overflow="fold")
        for pair in agreement.pairs:
            names = escape(f"{pair.first} and {pair.second}")
            pairs.add_row(names, interval(pair.same, 100, "%"), interval(pair.kappa, digits=2))
        tables.append(pairs)
    if agreement.not_neutral:
        remarks = Table(title="Paraphrases judged not neutral")
        for heading in ("issue", "template", "judge", "says", "reason"):
            remarks.add_column(heading, overflow="fold")
        for remark in agreement.not_neutral:
            remarks.add_row(
                *map(escape, (remark.issue, str(remark.template), remark.judge, remark.says, remark.reason))
            )
        tables.append(remarks)
    return tables
