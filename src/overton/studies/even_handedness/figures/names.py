"""How models with a system prompt are named, and every result with its name."""

from __future__ import annotations

from collections.abc import Iterator

from overton.studies.even_handedness.measures.analysis import Analysis, Result


def named(analysis: Analysis) -> Iterator[tuple[str, Result]]:
    """Each result with the name of its model, and of its system prompt if there is one."""
    for model, settings in analysis.models.items():
        for setting, result in settings.items():
            yield (model if setting == "none" else f"{model}, {setting}"), result
