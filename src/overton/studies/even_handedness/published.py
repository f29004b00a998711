"""Why even-handedness has no published design here."""

from __future__ import annotations

from overton.studies.published import Published

PAPER = Published(
    missing=(
        "even-handedness has no published design here. Its documentation says what it takes from Shen et al. 2025 and"
        " what it changes"
    )
)
