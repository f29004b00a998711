"""Apply small faults to a copy of the source, one at a time, and see whether the tests catch them.

`tests/faults.toml` lists the faults: a wrong sign, limit or order. Each names the text that it replaces and the test
files that have to catch it. These files have to pass on the unchanged source first. The working tree is never altered.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "tests/faults.toml"
SOURCE = ROOT / "src/overton"
AREAS = ("statistics", "studies", "engine", "models", "platform")
_PASSED, _FAILED = 0, 1  # exit codes of pytest; all others mean that tests could not run


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One slip: the text `old` of a file below the source becomes `new`."""

    area: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str


class FaultError(Exception):
    """A list of faults that cannot be applied, or tests that fail on the unchanged source."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of the tests after a change: `caught`, `missed`, `too long` or `not run`."""

    fault: Fault
    word: str
    seconds: float

    def line(self) -> str:
        """Return the verdict as a line."""
        return f"{self.word:<9}{self.seconds:>6.1f} s  {self.fault.area:<12}{self.fault.file}: {self.fault.why}"


def read_faults(path: Path) -> list[Fault]:
    """Read a list of faults."""
    return msgspec.convert(tomllib.loads(path.read_text("utf-8"))["faults"], list[Fault])


def apply_fault(fault: Fault, source: Path) -> str:
    """Return the text of the fault's file with the fault.

    Raises:
        FaultError: the text to replace does not occur exactly once.
    """
    path = source / fault.file
    text = path.read_text("utf-8") if path.is_file() else ""
    if (found := text.count(fault.old)) != 1:
        raise FaultError(f"{fault.file}: occurs {found} times instead of once: {fault.old!r} ({fault.why})")
    return text.replace(fault.old, fault.new)


class SourceCopy:
    """A copy of a package that tests import instead of the package itself."""

    def __init__(self, source: Path, folder: Path, root: Path, limit: float) -> None:
        self._package = folder / source.name
        self._root = root
        self._limit = limit
        path = os.pathsep.join(filter(None, (os.fspath(folder), os.environ.get("PYTHONPATH"))))
        self._environment = os.environ | {"PYTHONPATH": path}
        shutil.copytree(source, self._package, ignore=shutil.ignore_patterns("__pycache__"))

    def test_fault(self, fault: Fault) -> Verdict:
        """Run the fault's tests against the copy with the fault."""
        started = time.monotonic()
        with self._altered(fault):
            code = self.run_tests(fault.tests, self._limit)
        word = {_PASSED: "missed", _FAILED: "caught", None: "too long"}.get(code, "not run")
        return Verdict(fault, word, time.monotonic() - started)

    @contextmanager
    def _altered(self, fault: Fault) -> Iterator[None]:
        path = self._package / fault.file
        kept = path.read_bytes()
        path.write_text(apply_fault(fault, self._package), "utf-8")
        self._forget_compiled(path)
        try:
            yield
        finally:
            path.write_bytes(kept)
            self._forget_compiled(path)

    @staticmethod
    def _forget_compiled(path: Path) -> None:
        # Python takes a compiled module for current if size and whole second agree with the source's.
        Path(importlib.util.cache_from_source(os.fspath(path))).unlink(missing_ok=True)

    def run_tests(self, tests: Sequence[str], limit: float | None) -> int | None:
        """Return pytest's exit code, or None if the time limit has passed."""
        command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not long and not ray")
        with subprocess.Popen(
            (*command, *tests),
            cwd=self._root,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)


class FaultTrial:
    """Faults of a package, tried in several copies at once with tests that run in the folder `root`.

    Raises:
        FaultError: a fault's text does not occur exactly once.
    """

    def __init__(self, faults: Sequence[Fault], source: Path, root: Path, *, jobs: int = 2, limit: float = 300) -> None:
        for fault in faults:
            apply_fault(fault, source)
        self._faults = faults
        self._source, self._root = source, root
        self._jobs, self._limit = jobs, limit
        self._copies: queue.SimpleQueue[SourceCopy] = queue.SimpleQueue()

    def run(self, *, clean: bool = True) -> Iterator[Verdict]:
        """Yield a verdict for each fault, in order; with `clean`, first check that the unchanged source passes.

        Raises:
            FaultError: it does not.
        """
        with tempfile.TemporaryDirectory(prefix="overton-faults-") as folder, ThreadPoolExecutor(self._jobs) as pool:
            for number in range(self._jobs):
                self._copies.put(SourceCopy(self._source, Path(folder) / str(number), self._root, self._limit))
            if clean:
                files = sorted({test for fault in self._faults for test in fault.tests})
                parts = [part for number in range(self._jobs) if (part := files[number :: self._jobs])]
                for part, passes in zip(parts, pool.map(self._tests_pass, parts), strict=True):
                    if not passes:
                        raise FaultError(f"tests of the unchanged source fail; one of {', '.join(part)}")
            yield from pool.map(self._test_fault, self._faults)

    def _tests_pass(self, tests: Sequence[str]) -> bool:
        with self._free_copy() as copy:
            return copy.run_tests(tests, None) == _PASSED

    def _test_fault(self, fault: Fault) -> Verdict:
        with self._free_copy() as copy:
            return copy.test_fault(fault)

    @contextmanager
    def _free_copy(self) -> Iterator[SourceCopy]:
        copy = self._copies.get()
        try:
            yield copy
        finally:
            self._copies.put(copy)


def areas_table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the lines of a table of areas."""
    lines = [f"{'area':<12}{'faults':>7}{'caught':>8}{'missed':>8}{'seconds':>9}"]
    for area in dict.fromkeys(one.fault.area for one in verdicts):
        some = [one for one in verdicts if one.fault.area == area]
        caught = sum(one.word == "caught" for one in some)
        seconds = sum(one.seconds for one in some)
        lines.append(f"{area:<12}{len(some):>7}{caught:>8}{len(some) - caught:>8}{seconds:>9.0f}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults; return 1 if any was not caught and 2 if they could not be tried."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=Path, default=FAULTS, help="list of faults (default: tests/faults.toml)")
    parser.add_argument("--source", type=Path, default=SOURCE, help="the package to copy (default: src/overton)")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder in which the tests run (default: the project)")
    parser.add_argument("--only", default="", help="faults whose area, file or reason contains this")
    parser.add_argument("--jobs", type=int, default=2, help="faults tried at once (default: 2)")
    parser.add_argument("--seconds", type=float, default=300, help="time limit for each fault (default: 300)")
    parser.add_argument("--no-clean", action="store_true", help="do not run the tests on the unchanged source first")
    given = parser.parse_args(arguments)
    verdicts = []
    try:
        chosen = [one for one in read_faults(given.faults) if given.only in f"{one.area} {one.file} {one.why}"]
        trial = FaultTrial(chosen, given.source, given.root, jobs=given.jobs, limit=given.seconds)
        for verdict in trial.run(clean=not given.no_clean):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
    except FaultError as error:
        print(error, file=sys.stderr)
        return 2
    print("", *areas_table(verdicts), sep="\n")
    return int(any(one.word != "caught" for one in verdicts))


if __name__ == "__main__":
    sys.exit(main())
