"""A separate process that repeats a run and may be killed: `python -m overton.testing.child STUDY RUN OUT LEDGER N`."""

from __future__ import annotations

import sys
from pathlib import Path

from overton.studies.registry import study_named
from overton.testing.case import CallLedger, repeat, with_ledger

__all__: list[str] = []


def _main(name: str, whole: str, out: str, ledger: str, kill_at: str) -> None:
    study = with_ledger(study_named(name), CallLedger(Path(ledger)), kill_at=int(kill_at))
    repeat(study, Path(whole), Path(out))


if __name__ == "__main__":
    _main(*sys.argv[1:])
