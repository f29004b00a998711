"""A study with everything that tests need to run it once normally, and then to repeat the run with the same answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from overton.calls import Answerer, Reply, Request, Trial
from overton.engine import Limits, RetryPolicy
from overton.errors import RejectedError
from overton.runs.answerers import requests_of_run
from overton.runs.preparation import prepare
from overton.runs.run import Run
from overton.runs.start import run, start
from overton.studies.study import AnyStudy, Simulated

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CallLedger", "Case", "repeat", "require", "sorted_lines", "with_ledger"]

_COMMIT_S = 0.25
"""Seconds within which an answer reaches the journal's file, even on a slow disk."""
_QUICK_RETRIES = RetryPolicy(2, 0.001, 0.01)


def require(so: object, study: AnyStudy, otherwise: str) -> None:
    """Fail the test if `so` is false. `otherwise` tells the study's author what is wrong or what to do.

    Raises:
        AssertionError: `so` is false.
    """
    if not so:
        raise AssertionError(f"the study {study.name}: {otherwise}")


@dataclass(frozen=True)
class Case:
    """A study, and the arguments with which a test runs it: few items, simulated models.

    `models` are the measured models, and `others` are the models in further roles, by role. `items` is the path of an
    item file, None for the study's sample items. `only` selects items by id. `more` are the options for `extend`. By
    default, the first integer option that may grow is increased by one. Runs are stored in `folder`.
    """

    study: AnyStudy
    folder: Path
    models: Sequence[str]
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    items: str | Path | None = None
    only: Sequence[str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    model_args: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seed: int = 1
    _numbers: count[int] = field(default_factory=lambda: count(1), repr=False)

    @property
    def given(self) -> dict[str, Any]:
        """The arguments of `overton.run` and `overton.plan`."""
        return {
            "models": self.models,
            "others": self.others,
            "items": self.items,
            "only": self.only,
            "model_args": self.model_args,
            "seed": self.seed,
            **self.options,
        }

    @cached_property
    def whole(self) -> Run:
        """The complete run with which all other runs are compared."""
        return run(self.study.name, out=self.new(), **self.given)

    def new(self) -> Path:
        """An unused path for another run's folder."""
        return self.folder / f"{self.study.name}-{next(self._numbers)}"

    def child(self, ledger: CallLedger, out: Path, *, kill_at: int = 0, hash_seed: int = 0) -> int:
        """Repeat the whole run in a separate process. Return the exit code, which is negative if the process was
        killed.

        With `kill_at`, the process is killed after this number of answers, so it cannot clean up.
        """
        words = [self.study.name, str(self.whole.path), str(out), str(ledger.path), str(kill_at)]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "overton.testing.child", *words],
            env=os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=150,
        )
        require(done.returncode in (0, -signal.SIGKILL), self.study, f"a process that ran it failed: {done.stderr}")
        return done.returncode


@dataclass
class CallLedger:
    """A file with the seed of each call that was paid for, one per line. It is complete even if the process that writes
    it is killed."""

    path: Path

    def paid(self) -> list[int]:
        """The seeds of all paid calls."""
        return [int(line) for line in self.path.read_text().split()] if self.path.is_file() else []

    def pay(self, seed: int | None) -> None:
        """Record a call, immediately and durably."""
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{seed or 0}\n".encode())


def with_ledger(study: AnyStudy, ledger: CallLedger, *, kill_at: int = 0, failing: int = 0) -> AnyStudy:
    """The study, with simulated models that record in the ledger each call that was paid for.

    At answer number `kill_at`, the process is killed. About one call in every `failing` fails permanently. With
    `failing` 1, all calls fail.
    """
    left = iter(range(kill_at - 1, -1, -1))

    def paying(make: Simulated) -> Simulated:
        return lambda items, name, arguments: _PaidAnswerer(make(items, name, arguments), ledger, left, failing)

    return replace(study, simulated={name: paying(make) for name, make in study.simulated.items()})


@dataclass(frozen=True)
class _PaidAnswerer:
    """An answerer that records each call in the ledger before it answers."""

    inner: Answerer
    ledger: CallLedger
    left: Any
    failing: int

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def holds_form(self) -> bool:
        return self.inner.holds_form

    async def answer(self, request: Request) -> Reply:
        self.ledger.pay(request.seed)
        if self.failing and (request.seed or 0) % self.failing == 0:
            raise RejectedError("on purpose", "a test lets this call fail")
        reply = await self.inner.answer(request)
        if next(self.left, None) == 0:
            sleep(_COMMIT_S)  # noqa: ASYNC251 - only the journal's thread should do anything now
            os.kill(os.getpid(), signal.SIGKILL)
        return reply

    async def close(self) -> None:
        await self.inner.close()


def repeat(study: AnyStudy, whole: Path, out: Path, limits: Limits | None = None) -> Run:
    """Repeat the run at `whole` in another folder, with the settings recorded in the run's folder."""
    known = Run(whole, study=study)
    prepared = prepare(known.experiment, requests_of_run(known.manifest), limits=limits)
    return start(prepared, out, patience=_QUICK_RETRIES)


def trials_of(case: Case) -> Iterable[Trial]:
    """The trials of the case's run, in plan order."""
    return Run(case.whole.path, study=case.study).experiment.trials()


def sorted_lines(table: pl.DataFrame) -> list[str]:
    """The lines of a table of records, sorted so that their order does not matter."""
    return sorted(table.write_ndjson().splitlines())
