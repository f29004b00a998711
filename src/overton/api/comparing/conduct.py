"""Whether runs by different versions of Overton were conducted alike: each is replayed by the version at hand."""

from __future__ import annotations

from collections.abc import Iterator

from overton import __version__
from overton.api.comparing.results import Kind
from overton.api.comparing.source import Source
from overton.api.runs import Run
from overton.errors import RunError, RunMismatch
from overton.hosts.local import RunFolder
from overton.hosts.local.running import check_same
from overton.hosts.local.session import needs_asking

__all__ = ["conduct_apart"]


def conduct_apart(base: Source, candidate: Source) -> Iterator[tuple[Kind, str]]:
    """What two versions asked otherwise. Where both runs replay as they were asked there is nothing to say; where one
    cannot be replayed, conduct may differ."""
    assert base.told is not None
    assert candidate.told is not None
    versions = f"{base.told.overton} and {candidate.told.overton}"
    found = [_otherwise(one) for one in (base, candidate)]
    if changed := [one.label for one, otherwise in zip((base, candidate), found, strict=True) if otherwise]:
        yield (
            "instrument",
            f"conduct differs between versions of Overton ({versions}): this one would not ask as in {changed[0]}",
        )
    elif None in found:
        yield "unknown", f"they were asked by different versions of Overton ({versions}), whose conduct may differ"


def _otherwise(source: Source) -> bool | None:
    """Whether this version would ask otherwise; None where that cannot be told."""
    if source.told is not None and source.told.overton == __version__:
        return False
    return None if source.run is None else _asks_otherwise(source.run)


def _asks_otherwise(run: Run) -> bool | None:
    folder = RunFolder(run.path)
    try:
        check_same(run.study, folder, run.manifest)
    except RunError:
        return None
    try:
        needs_asking(folder, run.study, run.manifest, retry_failed=False)
    except RunMismatch:
        return True
    except RunError:
        return None
    return False
