"""How Inspect's viewer shows our logs."""

from __future__ import annotations

from typing import Any

from overton.calls import Trial

__all__ = ["span_name", "viewer_config"]


def span_name(trial: Trial) -> str:
    """A trial's name in a transcript: without its item, and without slashes, at which the viewer cuts names short."""
    return trial.name.removeprefix(f"{trial.item}/").replace("/", " ")


def viewer_config(scorer: str) -> Any:
    """The list of samples with what tells them apart, and all text shown as it is.

    Items, pages and replies are other people's text: the viewer is told to render no markup, link or image of theirs.
    """
    from inspect_ai.viewer import TaskSamplesColumn, TaskSamplesView, ViewerConfig

    shown = ("sampleStatus", "sampleId", "answer", "tokens", "duration", "error")
    hidden = ("input", "target", "epoch")
    columns = [
        *(TaskSamplesColumn(id=name) for name in shown[:3]),
        TaskSamplesColumn.score(scorer),
        *(TaskSamplesColumn(id=name) for name in shown[3:]),
        *(TaskSamplesColumn(id=name, visible=False) for name in hidden),
    ]
    view = TaskSamplesView(name="Items in conditions", columns=columns, multiline=False)
    return ViewerConfig(trust_content=False, task_samples_view=view)
