"""`overton items check|rephrase|audit`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overton.cli import options as opt

if TYPE_CHECKING:
    from rich.table import Table

    from overton.studies.open_mindedness.neutrality import Agreement

__all__ = ["app"]

app = typer.Typer(
    help="Check issues, write neutral paraphrases, and have their neutrality judged.", no_args_is_help=True
)

PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="Folder of ProCon files, one file, or JSONL.")]


@app.command()
def check(
    path: PathArgument,
    positions: opt.PositionsOption = None,
    unphrased: Annotated[
        bool, typer.Option("--unphrased", help="Let paraphrases be missing, as before 'items rephrase'.")
    ] = False,
) -> None:
    """Name every problem of every file; nothing is asked. Exit code 2 where an error would keep a run from starting."""
    from overton.api.issues import check as check_issues
    from overton.cli.output import results, say

    findings = check_issues(path, positions, need_paraphrases=not unphrased)
    for finding in findings:
        results().print(str(finding), markup=False, soft_wrap=True)
    errors = sum(finding.severity == "error" for finding in findings)
    say(f"{errors} errors, {len(findings) - errors} warnings")
    raise typer.Exit(2 if errors else 0)


@app.command()
def rephrase(
    path: PathArgument,
    model: Annotated[str, typer.Option("--model", "-m", help="Model that writes the paraphrases.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to make: a run, with the dataset issues.jsonl in it.")],
    positions: opt.PositionsOption = None,
    again: Annotated[bool, typer.Option("--again", help="Rephrase issues that have paraphrases, too.")] = False,
    model_arg: opt.ModelArgOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Write six neutral paraphrases an issue with a model (MillStone, appendix C)."""
    from overton.api import issues
    from overton.cli.ending import conclude_making
    from overton.cli.progress import watching

    with watching("rephrase") as watch:
        run = issues.rephrase(
            path,
            model=model,
            out=out,
            positions=positions,
            again=again,
            model_args=opt.model_arguments(model_arg),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
    raise typer.Exit(conclude_making(run))


@app.command()
def audit(
    path: PathArgument,
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
        for table in _tables(agreement):
            results().print(table)
    raise typer.Exit(conclude_making(run))


@app.command()
def dilemmas(
    submissions: Annotated[list[Path], typer.Option("--submissions", help="Dump or API answer of posts; repeat.")],
    comments: Annotated[list[Path], typer.Option("--comments", help="Dump or API answer of comments; repeat.")],
    out: Annotated[Path, typer.Option("--out", help="JSONL file to make.")] = Path("dilemmas.jsonl"),
    community: Annotated[str | None, typer.Option("--community", help="Keep one community's posts.")] = None,
    first: Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="First day (UTC).")] = None,
    last: Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day (UTC).")] = None,
    top: Annotated[int, typer.Option("--top", help="How many dilemmas, the most contested first.")] = 1000,
    fewest: Annotated[int, typer.Option("--fewest", help="Readable verdicts that a post must have.")] = 1,
    judge: Annotated[str | None, typer.Option("--judge", help="Model that reads what patterns cannot.")] = None,
    model_arg: opt.ModelArgOption = None,
    max_cost: opt.MaxCostOption = None,
    max_calls: opt.MaxCallsOption = None,
) -> None:
    """Build dilemmas from forum dumps, step by step (appendix A of the deliberation paper)."""
    from overton.api.dilemmas import build
    from overton.cli.output import results, say
    from overton.cli.progress import watching

    with watching("dilemmas") as watch:
        built = build(
            submissions,
            comments,
            out,
            community=community,
            first=first.date() if first else None,
            last=last.date() if last else None,
            top=top,
            fewest=fewest,
            judge=judge,
            model_args=opt.model_arguments(model_arg),
            max_cost=max_cost,
            max_calls=max_calls,
            watch=watch,
        )
    for step in built.steps:
        say(f"{step.number}. {step.name}: {step.kept:,} posts. {step.note}")
    for what, tally in zip(("posts", "comments"), built.unread, strict=True):
        say(f"{what}: {tally.records:,} read of {tally.lines:,} lines")
        for skipped in tally.skipped.values():
            say(f"{what}: {skipped}")
    results().print(str(built.path), markup=False, soft_wrap=True)


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
