"""Overton measures where a language model's opinions stand and what moves them.

    import overton

    run = overton.run("open-mindedness", models=["openai/gpt-4o"], items="issues/", trials=15)
    print(overton.analyze("open-mindedness", run.path).models["openai/gpt-4o"].scores.open_mindedness)
    overton.report([run.path])

Every command of the command line is a function here: `run`, `plan`, `resume`, `extend`, `report`, `analyze`, `judge`,
`draw_sheet`, `read_agreement`, `export_run`, `import_logs` and `demo`; those on issues, topics, threads and their
reference viewpoints, clusterings, collections of pages and models are in `overton.items`, `overton.topics`,
`overton.threads`, `overton.references`, `overton.clusterings`, `overton.collections` and `overton.known`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overton.api import clusterings, collections, references, threads, topics
    from overton.api import issues as items
    from overton.api import models as known
    from overton.api.analyses import analyze
    from overton.api.demo import demo
    from overton.api.inspect_logs import export_run, import_logs
    from overton.api.reports import report
    from overton.api.runs import Run, extend, open_run, plan, resume, run
    from overton.api.sheets import draw_sheet, read_agreement
    from overton.api.transcripts import judge

__all__ = [
    "Run",
    "__version__",
    "analyze",
    "clusterings",
    "collections",
    "demo",
    "draw_sheet",
    "export_run",
    "extend",
    "import_logs",
    "items",
    "judge",
    "known",
    "open_run",
    "plan",
    "read_agreement",
    "references",
    "report",
    "resume",
    "run",
    "threads",
    "topics",
]

__version__ = "0.1.0"

_HOMES = {
    "Run": "runs",
    "analyze": "analyses",
    "demo": "demo",
    "draw_sheet": "sheets",
    "export_run": "inspect_logs",
    "extend": "runs",
    "import_logs": "inspect_logs",
    "judge": "transcripts",
    "open_run": "runs",
    "plan": "runs",
    "read_agreement": "sheets",
    "report": "reports",
    "resume": "runs",
    "run": "runs",
}
_ROOMS = {name: name for name in ("clusterings", "collections", "references", "threads", "topics")}
_ROOMS |= {"items": "issues", "known": "models"}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `import overton` alone is quick."""
    if name in _ROOMS:
        return import_module(f"overton.api.{_ROOMS[name]}")
    if name in _HOMES:
        return getattr(import_module(f"overton.api.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'overton' has no attribute {name!r}")
