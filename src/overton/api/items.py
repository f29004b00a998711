"""Items read (to be replaced at the merge of readers)."""

from __future__ import annotations

from typing import Any

from overton.studies.study import AnyStudy


def read_items(study: AnyStudy, path: Any, **reading: Any) -> Any:
    """Items."""
    from overton.api import dilemmas, issues, threads, topics

    name = study.items.kind.__name__
    at: Any = {
        "Issue": lambda: issues.issues_at(path, reading.get("positions")),
        "Dilemma": lambda: dilemmas.dilemmas_at(path) if path else dilemmas.starter_dilemmas(),
        "Topic": lambda: topics.topics_at(path) if path else topics.starter_topics(),
        "ReferenceThread": lambda: threads.references_at(path) if path else threads.starter_references(),
        "Thread": lambda: threads.threads_at(path) if path else threads.starter_threads(),
    }[name]
    return at()
