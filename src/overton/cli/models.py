"""`overton models list|check|pull`."""

from __future__ import annotations

from typing import Annotated

import typer

from overton.cli import options as opt
from overton.cli.known import StrictCommand

app = typer.Typer(help="List known models, test one, or download embedded weights.", no_args_is_help=True)


@app.command("list", cls=StrictCommand)
def list_(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List known providers and models, with prices and what each needs."""
    from rich.table import Table

    from overton import models
    from overton.cli.output import print_json, results

    known = models.list()
    if json:
        print_json(known)
        return
    table = Table(title="Known models (US dollars per million tokens)")
    for heading in ("spec", "family", "in", "out", "needs"):
        table.add_column(heading, justify="right" if heading in ("in", "out") else "left")
    for row in known:
        price = (f"{row.price.input:g}", f"{row.price.output:g}") if row.price else ("", "")
        table.add_row(row.spec, row.family, *price, row.needs)
    results().print(table)


@app.command(cls=StrictCommand)
def check(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A model, as provider/name.")],
    model_arg: opt.ModelArgOption = None,
) -> None:
    """Ask a model one short question, and show its answer or what is wrong."""
    from overton.cli.output import results
    from overton.models import check as check_model

    reply = check_model(spec, opt.model_arguments(model_arg).get(spec, {}))
    tokens = f"{reply.usage.input_tokens} tokens in, {reply.usage.output_tokens} out"
    results().print(f"{spec} answered {reply.text[:200]!r} ({tokens})", soft_wrap=True)


@app.command(cls=StrictCommand)
def pull(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An embedded model, such as embedded/smollm2-135m.")],
) -> None:
    """Download an embedded model's weights into the user's cache."""
    from overton.cli.output import results, say
    from overton.models import pull as pull_model

    results().print(str(pull_model(name, progress=say)), soft_wrap=True)
