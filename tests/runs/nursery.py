"""Processes for tests that kill runs: forks of one that has imported Overton."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Nursery:
    """Starts processes that need no further imports. Their messages go to `log`."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("child.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def start(self, job: dict[str, Any]) -> int:
        """Start a job with this process's environment; returns its process's id."""
        assert self._process.stdin and self._process.stdout  # noqa: PT018
        self._process.stdin.write(json.dumps({"environment": dict(os.environ), **job}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def status(self) -> int:
        """The exit status of the job that was started last, or below 0 the signal that ended it."""
        assert self._process.stdout
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=30)
        self._log.close()
