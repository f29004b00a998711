"""A run that continues elsewhere: the same models, at other addresses or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from overton.errors import InputError, Problem
from overton.hosts.local.folder import ModelEntry
from overton.hosts.local.opening import ModelRequest
from overton.models import parse_spec
from overton.models.arguments import takes

__all__ = ["moved"]


def moved(
    entries: Mapping[str, Sequence[ModelEntry]], elsewhere: Sequence[ModelRequest]
) -> dict[str, list[ModelEntry]]:
    """A run's models, some of them reached as these requests say, by name.

    Arguments that a request does not give stay as they were, if a model reached that way takes them. Whether it is the
    same model is checked when it is opened.

    Raises:
        InputError: the run has no such model.
    """
    requests = {one.name: one for one in elsewhere}
    known = dict.fromkeys(entry.name for side in entries.values() for entry in side)
    if strangers := [name for name in requests if name not in known]:
        reason = f"is not a model of this run, which has {', '.join(known)}"
        raise InputError([Problem("--model", name, reason) for name in strangers])
    return {
        role: [_moved(entry, requests[entry.name]) if entry.name in requests else entry for entry in side]
        for role, side in entries.items()
    }


def _moved(entry: ModelEntry, request: ModelRequest) -> ModelEntry:
    spec, given = parse_spec(request.spec), {key for key, _ in request.arguments}
    kept = [(key, value) for key, value in entry.arguments if key not in given and takes(spec, key)]
    return msgspec.structs.replace(entry, spec=request.spec, arguments=(*kept, *request.arguments))
