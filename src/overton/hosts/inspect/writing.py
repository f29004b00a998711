"""An .eval log written a few samples at a time: Inspect's own writer holds all of a log's samples in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from overton.hosts.inspect.privates import SAMPLES, START, SUMMARIES

__all__ = ["write_log"]

_AT_ONCE = 32
"""Samples in memory at a time."""


def write_log(spec: Any, samples: Iterable[Any], finished: Callable[[], Any], path: Path) -> None:
    """Write a log of `spec`; `finished` gives its head once all samples are written.

    Inspect writes every few samples as a log of their own, whose members go into one archive, and the head at the end.
    """
    from inspect_ai.log import write_eval_log

    summaries: list[Any] = []
    with TemporaryDirectory(dir=path.parent) as beside, ZipFile(path, "w", ZIP_DEFLATED, compresslevel=5) as whole:
        for part in _parts(spec, samples, Path(beside) / "part.eval"):
            if START not in whole.namelist():
                whole.writestr(START, part.read(START))
            for name in part.namelist():
                if name.startswith(SAMPLES):
                    whole.writestr(name, part.read(name))
            summaries += json.loads(part.read(SUMMARIES))
        whole.writestr(SUMMARIES, json.dumps(summaries))
    write_eval_log(finished(), path, header_only=True)


def _parts(spec: Any, samples: Iterable[Any], path: Path) -> Iterator[ZipFile]:
    """Logs of a few samples each; one without samples where there are none."""
    from inspect_ai.log import EvalLog, write_eval_log

    rest = iter(samples)
    part = list(islice(rest, _AT_ONCE))
    while True:
        log = EvalLog(status="started", eval=spec)
        log.samples = part
        write_eval_log(log, path)
        with ZipFile(path) as archive:
            yield archive
        path.unlink()
        part = list(islice(rest, _AT_ONCE))
        if not part:
            return
