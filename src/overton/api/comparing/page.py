"""A comparison as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path

from overton.api.comparing.results import Comparison
from overton.api.comparing.shown import callout, sections

__all__ = ["write_page"]


def write_page(made: Comparison, out: str | Path) -> Path:
    """Write the comparison to `out`; returns the file.

    Raises:
        RunError: it cannot be written.
    """
    from overton.reporting import Report, write

    report = Report(
        title=f"Comparison: {made.title}",
        summary="Which models differ, in which direction, and what the data cannot decide: candidate minus base.",
        facts=[
            ("Compared", "\n".join(f"{pair.candidate} with {pair.base}" for pair in made.pairs)),
            ("Intervals", f"{made.level:.0%}, over {made.unit}"),
        ],
        sections=sections(made),
        warnings=[callout(one) for one in made.differing if one.kind == "instrument"],
        data=made.to_json(),
        mark="Overton comparison",
    )
    return write(report, Path(out))
