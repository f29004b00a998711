"""Claims about the proportion of texts with a label, and about differences of this proportion between conditions."""

from __future__ import annotations

from collections.abc import Sequence

from overton.studies.claims import OTHER, Claim, Claims
from overton.studies.texts.measures import measure_name


def claims_about(labels: Sequence[str]) -> Claims:
    """The claims about proportions of these labels."""
    levels = [
        Claim(
            measure_name(label),
            section="shares",
            units="texts",
            level=f"{{name}}: {{value}} of {{units}} are labelled '{label}'.",
            missing=f"{{name}}: no text has a label, so the share of '{label}' is unknown.",
        )
        for label in labels
    ]
    tests = [
        Claim(
            measure_name(label),
            section="shares",
            against=OTHER,
            differs=f"Texts of {{model}} are labelled '{label}' more often in {{higher}} than in {{lower}}, by {{size}}"
            " points.",
            within=(
                f"Texts of {{model}} are labelled '{label}' about equally often in {{first}} and in {{second}}"
                " (within {most} points)."
            ),
            unclear=(
                f"The data do not show whether texts of {{model}} are labelled '{label}' more often in {{first}} or"
                " in {second}."
            ),
            about="condition",
            small=0.1,
            telling=1 / 3,
        )
        for label in labels
    ]
    return Claims([*levels, *tests], items="groups")
