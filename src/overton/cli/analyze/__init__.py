"""`overton analyze STUDY FILE`."""

from __future__ import annotations

import typer

from overton.cli.analyze import deliberation, open_mindedness, pluralism, stance_stability

__all__ = ["app"]

app = typer.Typer(help="Compute a study's measures from a run, records or a table.", no_args_is_help=True)
app.command("open-mindedness")(open_mindedness.open_mindedness)
app.command("stance-stability")(stance_stability.stance_stability)
app.command("pluralism")(pluralism.pluralism)
app.command("deliberation")(deliberation.deliberation)
