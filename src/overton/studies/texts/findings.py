"""Claims about how often texts have a label, and whether that differs between conditions."""

from __future__ import annotations

from collections.abc import Sequence

from overton.studies.claims import OTHER, Claim, Claims
from overton.studies.texts.measures import measure_name


def claims_about(labels: Sequence[str]) -> Claims:
    """The claims about shares of these labels."""
    levels = [
        Claim(
            measure_name(label),
            section="shares",
            units="texts",
            level=f"{{name}}: {{value}} of {{units}} are labelled '{label}'.",
            missing=f"{{name}}: no text has a label, so how many are '{label}' is not known.",
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
            within=f"Texts of {{model}} are labelled '{label}' equally often in {{first}} and in {{second}}, to within"
            " {most} points.",
            unclear=f"Whether texts of {{model}} are labelled '{label}' more often in {{first}} or in {{second}} could"
            " not be told.",
            about="condition",
            small=0.1,
            telling=1 / 3,
        )
        for label in labels
    ]
    return Claims([*levels, *tests], items="groups")
