"""Whether runs by different versions of Overton were conducted alike: the current version replays each."""

from __future__ import annotations

from collections.abc import Iterator

from overton.api.comparing.differences import Kind
from overton.api.comparing.source import Source
from overton.errors import RunError, RunMismatch
from overton.runs.folder import RunFolder
from overton.runs.run import Run
from overton.runs.session import missing_trials
from overton.runs.start import check_unchanged
from overton.version import __version__

__all__ = ["conduct_differences"]


def conduct_differences(base: Source, candidate: Source) -> Iterator[tuple[Kind, str]]:
    """What two versions asked differently: nothing if both runs replay as they were asked; if one cannot be replayed,
    conduct may differ."""
    assert base.provenance is not None
    assert candidate.provenance is not None
    versions = f"{base.provenance.overton} and {candidate.provenance.overton}"
    found = [_changed(one) for one in (base, candidate)]
    if changed := [one.label for one, differs in zip((base, candidate), found, strict=True) if differs]:
        yield (
            "instrument",
            f"conduct differs between versions of Overton ({versions}): this one asks differently from {changed[0]}",
        )
    elif None in found:
        yield "unknown", f"they were asked by different versions of Overton ({versions}), whose conduct may differ"


def _changed(source: Source) -> bool | None:
    """Whether this version would ask differently; None if that cannot be determined."""
    if source.provenance is not None and source.provenance.overton == __version__:
        return False
    return None if source.run is None else _asks_differently(source.run)


def _asks_differently(run: Run) -> bool | None:
    folder = RunFolder(run.path)
    try:
        check_unchanged(run.study, folder, run.manifest)
    except RunError:
        return None
    try:
        missing_trials(folder, run.study, run.manifest, retry_failed=False)
    except RunMismatch:
        return True
    except RunError:
        return None
    return False
