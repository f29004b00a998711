"""`overton plan STUDY`: calls, tokens and price, before anything is paid."""

from __future__ import annotations

import typer

from overton.cli.plan import deliberation, open_mindedness, pluralism, stance_stability

__all__ = ["app"]

app = typer.Typer(help="Say what a run would ask and cost. Nothing is asked.", no_args_is_help=True)
app.command("open-mindedness")(open_mindedness.open_mindedness)
app.command("stance-stability")(stance_stability.stance_stability)
app.command("pluralism")(pluralism.pluralism)
app.command("deliberation")(deliberation.deliberation)
