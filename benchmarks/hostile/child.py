"""One run in a process of its own, as a user's process does it, with its output and its standard error."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benchmarks.hostile.cases import BAD_DOORS, STUDIES, Case
from fuzz.hostile.server import KEY

__all__ = ["LONGEST", "Ended", "in_a_child", "resumed", "started"]

LONGEST = 90.0
_TIMEOUT = "0.5"
_ATTEMPTS = 6


@dataclass
class Ended:
    """The outcome."""

    reported: dict[str, Any]
    rows: list[str]
    stderr: str
    hung: bool


def started(case: Case, url: str, out: Path) -> Any:
    """The case's run, under its host."""
    return (_inspected if case.host == "inspect" else _run)(case, url, out)


def _models(case: Case, url: str) -> dict[str, Any]:
    """Models and their arguments, under names that are the same at every door."""
    how = STUDIES[case.study]
    spec = "anthropic/claude-haiku-4-5" if case.wire == "anthropic" else f"{url}#m"
    shared = {"connections": "8", "timeout": _TIMEOUT}
    own = {"seed": "5", "key_env": "OPENAI_API_KEY", **shared}
    arguments = {"base_url": url, **shared} if case.wire == "anthropic" else own
    names = [f"m{number}" for number in range(1, how.get("agents", 1) + 1)]
    roles = {role: f"{name}={url}#{name}" for role, name in how.get("roles", {}).items()}
    priced = dict.fromkeys((*names, *how.get("roles", {}).values()), (10.0, 100.0))
    return {
        "models": [f"{name}={spec}" for name in names],
        "others": how.get("others", {}),
        "model_args": dict.fromkeys(names, arguments) | dict.fromkeys(how.get("roles", {}).values(), own),
        "prices": priced,
        **roles,
    }


def _asked(case: Case) -> tuple[dict[str, Any], list[str]]:
    """The study's options, and the ids of the items that it is asked about."""
    from overton.runs.items import read_items

    how = STUDIES[case.study]
    options = {key: value for key, value in how.items() if key not in ("only", "others", "roles", "agents")}
    return options, [item.id for item in read_items(case.study)[: how["only"]]]


def _run(case: Case, url: str, out: Path) -> Any:
    import overton
    from overton.engine import RetryPolicy

    options, only = _asked(case)
    return overton.run(
        case.study,
        out=out,
        only=only,
        max_calls=case.max_calls,
        max_cost=case.max_cost,
        patience=RetryPolicy(2 if case.door in BAD_DOORS else _ATTEMPTS, 0.002, 0.02, refuse_after=5),
        **_models(case, url),
        **options,
    )


def resumed(out: Path) -> Any:
    import overton
    from overton.engine import RetryPolicy

    return overton.resume(
        out,
        trust=True,
        retry_failed=True,
        max_calls=1_000_000,
        max_cost=1e6,
        patience=RetryPolicy(_ATTEMPTS, 0.002, 0.02),
    )


def _inspected(case: Case, url: str, out: Path) -> Any:
    """The study's task inside Inspect AI, its log as a run."""
    import inspect_ai.model._retry as inspect_retry
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import GenerateConfig, get_model

    import overton

    inspect_retry.wait_exponential_jitter = lambda *_, **__: lambda state: 0.0
    how = STUDIES[case.study]
    os.environ["INSPECT_LOG_DIR"] = str(out.parent / f"{out.name}-logs")
    os.environ["LOCAL_API_KEY"] = KEY
    config = GenerateConfig(seed=5, max_retries=6, attempt_timeout=2)
    roles = {
        role: get_model(f"openai-api/local/{name}", base_url=url, config=config, memoize=False)
        for role, name in how.get("roles", {}).items()
    }
    options, only = _asked(case)
    words = {"temperatures": [0, "own"]} if "temperatures" in options else {}
    others = {role: specs[0] for role, specs in how.get("others", {}).items()}
    (log,) = inspect_eval(
        f"overton/{case.study.replace('-', '_')}",
        model="openai-api/local/m1",
        model_base_url=url,
        model_roles=roles,
        task_args={**options, **words, **others, "only": only},
        seed=5,
        max_retries=6,
        attempt_timeout=2,
        display="none",
        fail_on_error=False,
        log_samples=True,
    )
    return overton.import_logs([log.location], out=out)


def _report_of(run: Any, out: Path) -> dict[str, Any]:
    """The run's own report, its rows, and the contents of its journal."""
    from overton.calls import Failure
    from overton.engine import entries

    manifest = run.manifest
    table = run.records()
    (out.parent / f"{out.name}.rows").write_text("\n".join(sorted(table.write_ndjson().splitlines())))
    failures = {entry.identity.slot for entry in entries(out / "journal.db") if isinstance(entry.outcome, Failure)}
    replies = {entry.identity.slot for entry in entries(out / "journal.db") if not isinstance(entry.outcome, Failure)}
    return {
        "status": manifest.status,
        "stopped": manifest.stopped,
        "failed": manifest.spent.failed,
        "requests": manifest.spent.requests,
        "batch_refused": manifest.batch_refused,
        "journaled": len(failures - replies),
    }


def in_a_child(out: Path, environment: dict[str, str], work: Callable[[], Any]) -> Ended:
    """Do it in a process of its own, for a limited time."""
    log, report = out.parent / f"{out.name}.err", out.parent / f"{out.name}.report"
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.environ.update(environment)
        report.write_text(json.dumps(_attempted(work, out)))
        os._exit(0)
    until = monotonic() + LONGEST
    hung = False
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            hung = True
        sleep(0.01)
    rows = out.parent / f"{out.name}.rows"
    return Ended(
        json.loads(report.read_text()) if report.exists() else {"error": "died"},
        rows.read_text().splitlines() if rows.exists() else [],
        log.read_text(errors="replace"),
        hung,
    )


def _attempted(work: Callable[[], Any], out: Path) -> dict[str, Any]:
    from overton.errors import OvertonError

    try:
        return _report_of(work(), out)
    except OvertonError as error:
        return {"error": type(error).__name__, "stopped": str(error), "status": "stopped"}
    except BaseException:  # noqa: BLE001 - to find these is what this is for
        return {"error": "crash", "stopped": traceback.format_exc(), "status": "crash"}
