"""The pins of the platform, each a JSON value that the present code gives; `record` writes them down.

A pin says what users, stored runs and servers see: options, names, run folders, journals, logs, requests. It uses the
public calls, the command line, files and loopback servers; what it needs from inside is in `internals`.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unchanged.comparing import leaves

from . import commands, exit_codes, folders, logs, python_names, wire
from .changes import CHANGED, GONE, RENAMED

__all__ = ["PINS", "STORE", "STUDIES", "Json", "differences", "expected", "made", "recorded"]

Json = Any

STUDIES = wire.STUDIES
STORE = Path(__file__).with_name("data")

PINS: dict[str, Callable[[Path], Json]] = {
    "commands": commands.every_command,
    "study-options": commands.study_options,
    "task-parameters": logs.task_parameters,
    "python-names": python_names.package_names,
    "errors": python_names.error_classes,
    "kind-words": python_names.kind_words,
    "exit-codes": exit_codes.every_code,
    **{f"folder-{name}": folders.making(name) for name in folders.CASES},
    **{f"log-{name}": logs.exporting(name) for name in logs.EXPORTED},
    **{f"eval-{name}": logs.evaluating(name) for name in logs.EVALUATED},
    **{f"wire-{name}": wire.sending(name) for name in wire.CASES},
}
"""Each pin by name; its function works in an empty folder."""


def made(name: str, scratch: Path) -> Json:
    """The pin of the present code, as plain JSON."""
    return json.loads(json.dumps(PINS[name](scratch)))


def recorded(name: str) -> Json:
    """The pin as recorded."""
    return json.loads(lzma.decompress((STORE / f"{name}.json.xz").read_bytes()))


def expected(name: str) -> dict[str, Json]:
    """The recorded values by path, with the changes on purpose since then."""
    found, joint = dict(leaves(recorded(name))), " > "
    for old, new in RENAMED.get(name, {}).items():
        moved = {path: value for path, value in found.items() if path == old or path.startswith(old + joint)}
        if not moved:
            raise AssertionError(f"{name}: {old} is said to be {new}, and was never recorded")
        found = {path: value for path, value in found.items() if path not in moved}
        found |= {new + path.removeprefix(old): value for path, value in moved.items()}
    for path, value in CHANGED.get(name, {}).items():
        before = [one for one in found if one == path or one.startswith(path + joint)]
        for one in before:
            del found[one]
        if value is not GONE:
            found |= dict(leaves(value, path))
        elif not before:
            raise AssertionError(f"{name}: {path} is said to be gone, and was never recorded")
    return found


def differences(name: str, today: Json) -> list[str]:
    """A line for each path whose value is another one, is gone or is new."""
    old, new = expected(name), dict(leaves(today))
    lines = [f"{path}: is gone; it was {value!r}" for path, value in old.items() if path not in new]
    lines += [f"{path}: is new, {value!r}" for path, value in new.items() if path not in old]
    both = ((path, value, new[path]) for path, value in old.items() if path in new)
    lines += [f"{path}: was {was!r}, is {now!r}" for path, was, now in both if (type(was), was) != (type(now), now)]
    return [re.sub(r"\s+", " ", line) for line in lines]
