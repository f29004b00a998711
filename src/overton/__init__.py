"""Overton measures where a language model's opinions stand and what moves them.

    import overton

    print(overton.studies.listed())
    run = overton.run("NAME", models=["openai/gpt-4o"], trials=5)
    print(overton.analyze("NAME", run.path).to_json())
    overton.report([run.path])

Every command of the command line is a function of the same name: `overton run NAME` is `overton.run("NAME", ...)`,
`overton items check NAME PATH` is `overton.items.check("NAME", PATH)`, `overton judge sample RUN` is
`overton.judge.sample(RUN, ...)`. There are three exceptions. `overton export` is `export_run`, or `export_tables` if
`--to` names a table format such as csv. `overton import` is `import_logs`, because `import` is not a valid name in
Python.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from overton.version import __version__

if TYPE_CHECKING:
    from overton import corpus, items, judge, models, studies
    from overton.analysis.analyze import analyze, schema
    from overton.analysis.reproductions import reproduce
    from overton.analysis.table_export import export_tables
    from overton.cli.read_config import read_config
    from overton.comparison.comparison import compare
    from overton.comparison.gate import baseline, gate
    from overton.health import doctor
    from overton.inspect.logs import export_run, import_logs
    from overton.planning.plan import plan
    from overton.reports.profile import profile
    from overton.reports.run_report import report
    from overton.reports.shown_trials import show
    from overton.reports.text_tables import summary_tables
    from overton.reports.verification import verify
    from overton.runs.batch_status import batches
    from overton.runs.demonstration import demo
    from overton.runs.run import Run, open_run
    from overton.runs.shards import merge, split
    from overton.runs.start import extend, resume, run
    from overton.studies.documentation import describe

__all__ = [
    "Run",
    "__version__",
    "analyze",
    "baseline",
    "batches",
    "compare",
    "corpus",
    "demo",
    "describe",
    "doctor",
    "export_run",
    "export_tables",
    "extend",
    "gate",
    "import_logs",
    "items",
    "judge",
    "merge",
    "models",
    "open_run",
    "plan",
    "profile",
    "read_config",
    "report",
    "reproduce",
    "resume",
    "run",
    "schema",
    "show",
    "split",
    "studies",
    "summary_tables",
    "verify",
]

_MODULES_BY_NAME = {
    "Run": "runs.run",
    "analyze": "analysis.analyze",
    "baseline": "comparison.gate",
    "batches": "runs.batch_status",
    "compare": "comparison.comparison",
    "demo": "runs.demonstration",
    "describe": "studies.documentation",
    "doctor": "health",
    "export_run": "inspect.logs",
    "export_tables": "analysis.table_export",
    "extend": "runs.start",
    "gate": "comparison.gate",
    "import_logs": "inspect.logs",
    "merge": "runs.shards",
    "open_run": "runs.run",
    "plan": "planning.plan",
    "profile": "reports.profile",
    "read_config": "cli.read_config",
    "report": "reports.run_report",
    "reproduce": "analysis.reproductions",
    "resume": "runs.start",
    "run": "runs.start",
    "schema": "analysis.analyze",
    "show": "reports.shown_trials",
    "split": "runs.shards",
    "summary_tables": "reports.text_tables",
    "verify": "reports.verification",
}
_SUBMODULES = ("corpus", "items", "judge", "models", "studies")


def __getattr__(name: str) -> Any:
    """Import names on first use: `import overton` alone is quick."""
    if name in _SUBMODULES:
        return import_module(f"overton.{name}")
    if name in _MODULES_BY_NAME:
        return getattr(import_module(f"overton.{_MODULES_BY_NAME[name]}"), name)
    raise AttributeError(f"module 'overton' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
