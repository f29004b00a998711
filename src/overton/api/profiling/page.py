"""A profile as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path

from overton.api.profiling.results import Profile
from overton.api.profiling.shown import sections

__all__ = ["write_page"]

_FEW = 4
_SUMMARY = (
    "Where a model stands, what moves it, what it leaves out and what it refuses, from every study that was run: each"
    " in a sentence with its number and a link to the full report."
)


def write_page(made: Profile, out: str | Path) -> Path:
    """Write the profile to `out`; returns the file. Links to the runs' reports are relative to it.

    Raises:
        RunError: it cannot be written.
    """
    from overton.reporting import Report, write
    from overton.studies.exhibits import Callout

    target = Path(out)
    many = len(made.models)
    report = Report(
        title=f"Profile: {' and '.join(made.models)}" if many < _FEW else f"Profile of {many} models",
        summary=_SUMMARY,
        facts=list(_facts(made)),
        sections=sections(made, target.parent),
        warnings=[Callout(text, "warning") for text in made.warnings],
        data=made.to_json(),
        mark="Overton profile",
    )
    return write(report, target)


def _facts(made: Profile) -> list[tuple[str, str]]:
    models = [name if [name] == list(asked) else f"{name} = {', '.join(asked)}" for name, asked in made.specs.items()]
    runs = [f"{run.path.name}: {run.manifest.study}, {run.manifest.created[:10]}" for run in made.runs]
    return [
        ("Models", "\n".join(models)),
        ("Runs", "\n".join(runs)),
        ("Intervals", f"{made.level:.0%}"),
        ("Overton", ", ".join(sorted({run.manifest.overton for run in made.runs}))),
    ]
