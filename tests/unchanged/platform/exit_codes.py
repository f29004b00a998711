"""Exit codes of commands by what happens. That bad input ends every command with 2 is tested in tests/cli."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unchanged.platform import internals, wire
from tests.unchanged.platform.listening import Listener, listening

from overton import errors

__all__ = ["every_code"]

_DESIGN = [*("--only", "cashless-shops", "--trials", "1", "--template", "1"), "--condition", "baseline"]
_SIMULATED = ["run", "open-mindedness", "--model", "simulated/open-minded", *_DESIGN]


def every_code(scratch: Path) -> dict[str, Any]:
    """Exit codes of commands, by a description of what happens to them."""
    with wire.keys() as patch, listening() as listener:
        patch.chdir(scratch)
        patch.setenv("XDG_CONFIG_HOME", os.fspath(scratch / "configuration"))
        found = {name: _code(words) for name, words in _alone().items()}
        return found | _at(listener) | _with_runs() | _with_errors()


def _alone() -> dict[str, list[str]]:
    return {
        "version": ["--version"],
        "help": ["--help"],
        "no command": [],
        "unknown command": ["no-such-command"],
        "unknown option": [*_SIMULATED, "--no-such-option"],
        "missing option": ["run", "open-mindedness"],
        "wrong value": [*_SIMULATED, "--trials", "many", "--out", "wrong"],
        "a plan": ["plan", *_SIMULATED[1:]],
        "a run": [*_SIMULATED, "--out", "run"],
        "the folder exists": [*_SIMULATED, "--out", "run"],
        "a finished run resumed": ["resume", "run"],
        "a run stopped by its calls": [*_SIMULATED, "--max-calls", "0", "--out", "stopped"],
        "a run resumed without more calls": ["resume", "stopped"],
        "a run resumed with more calls": ["resume", "stopped", "--max-calls", "100"],
        "extended": ["extend", "run", "--trials", "2"],
        "a report": ["report", "run"],
        "an analysis": ["analyze", "open-mindedness", "run", "--json"],
        "items checked": ["items", "check", "open-mindedness", os.fspath(_ISSUE)],
        "not a run": ["resume", "no-such-run"],
        "unknown weights": ["models", "pull", "no-such-weights"],
    }


_ISSUE = Path(__file__).parents[2] / "data" / "procon" / "night-buses.json"


def _at(listener: Listener) -> dict[str, int]:
    """Runs against a server, which refuses in one way or another."""
    asking = ["run", "open-mindedness", "--model", f"{listener.url}/v1#m", *_DESIGN, "--condition", "balanced"]
    check = ["models", "check", f"{listener.url}/v1#m"]
    found = {"a model answers": _code(check), "a run at a server": _code([*asking, "--out", "served"])}
    judged = ["run", "even-handedness", "--model", "simulated/advocate", "--judge", f"{listener.url}/v1#judge"]
    found["no call to a judge is allowed"] = _code([*judged, "--max-calls", "0", "--out", "judged"])
    listener.refused = "Consider the following issue"
    found["some calls are rejected"] = _code([*asking, "--out", "rejected"])
    found["a run with failures resumed"] = _code(["resume", "rejected"])
    listener.refused = ""
    found["failures retried"] = _code(["resume", "rejected", "--retry-failed"])
    listener.provider.refuses, listener.provider.refusal = 1, ("invalid_request", "This model takes no batches")
    found["a batch is refused"] = _code([*asking, "--batch", "--anyway", "--out", "refused"])
    for status in (401, 404):
        listener.status = status
        found[f"a model replies {status}"] = _code(check)
        found[f"a run is replied {status}"] = _code([*asking, "--out", f"run-{status}"])
    return found


def _with_runs() -> dict[str, int]:
    """Commands for runs that something is wrong with."""
    found = {}
    for name, key, value in (
        ("of another format", "format", 99),
        ("of an unknown study", "study", "no-such-study"),
        ("of other prompts", "prompts", {"positions.1": "0" * 32}),
        ("of other items", "items", "0" * 32),
    ):
        shutil.copytree("stopped", "changed")
        manifest = json.loads(Path("changed", "manifest.json").read_bytes())
        Path("changed", "manifest.json").write_text(json.dumps(manifest | {key: value}))
        found[f"a run {name} resumed"] = _code(["resume", "changed"])
        shutil.rmtree("changed")
    shutil.copytree("run", "damaged")
    Path("damaged", "journal.db").write_bytes(b"{" * 8192)
    found["a damaged journal"] = _code(["resume", "damaged"])
    return found


def _with_errors() -> dict[str, int]:
    """A command that fails with each class of error."""
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    found = {}
    for kind in (one for one in classes if issubclass(one, errors.OvertonError)):
        error = kind.__new__(kind, "it failed")  # classes take different arguments
        if isinstance(error, errors.InputError):
            error.problems = [errors.Problem("a place", "a key", "is wrong")]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(internals.DOCTOR, _failing(error))
            found[f"{kind.__name__} is raised"] = _code(["doctor"])
    return dict(sorted(found.items()))


def _failing(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def _code(words: list[str]) -> int:
    """The exit code of `overton WORDS`."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as streams:
        patch.setattr(sys, "argv", ["overton", *words])
        for redirect in (contextlib.redirect_stdout, contextlib.redirect_stderr):
            streams.enter_context(redirect(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")))
        with pytest.raises(SystemExit) as left:
            internals.main()
    return int(left.value.code or 0)
