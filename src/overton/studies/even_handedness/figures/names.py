"""What models under a system prompt are called, and every result with that name."""

from __future__ import annotations

from collections.abc import Iterator

from overton.studies.even_handedness.measures.analysis import Analysis, Result

__all__ = ["named"]


def named(analysis: Analysis) -> Iterator[tuple[str, Result]]:
    """Each result with its model's name, and its system prompt's where there is one."""
    for model, settings in analysis.models.items():
        for setting, result in settings.items():
            yield (model if setting == "none" else f"{model}, {setting}"), result
