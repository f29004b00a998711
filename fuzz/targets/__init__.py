"""All targets by name. Each file contains those of one package; its `TARGETS` are gathered here."""

from __future__ import annotations

from importlib import import_module

from fuzz.trying import Target

__all__ = ["named", "names"]

_FILES = {
    "replies": (
        "openai-body", "anthropic-body", "openai-http", "anthropic-http", "openai-refusal", "anthropic-refusal",
        "inspect-output", "held-choice", "retry-after", "openai-batch", "anthropic-batch",
    ),
    "web": (
        "serper", "google", "brave", "searxng", "web-page", "robots", "address", "redirect", "html", "hits-reply",
        "page-reply", "debate-page", "saved-warc", "topic-notebook",
    ),
    "files": (
        "issues", "issue-file", "positions", "topics", "threads", "references", "dilemmas", "domains", "transcripts",
        "transcripts-csv", "texts-csv", "texts-jsonl", "question", "posts", "comments", "pages-folder", "gguf",
        "index-about", "prompt-file", "prompt-mapping", "prompt-text", "mapping", "mapped-rows", "values-csv",
        "values-jsonl", "trial-texts", "values-sheet",
    ),
    "tables": tuple(
        f"{study}-{form}"
        for study in ("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness")
        for form in ("csv", "jsonl", "parquet")
    ),
    "runs": (
        "manifest", "items", "journal", "journal-resumed", "records", "agreement", "sheet", "sheet-key", "label-page",
        "baseline", "warc", "warc-kept", "eval-log", "json-log", "replaced-texts",
    ),
    "words": (
        "spec", "model-argument", "source-argument", "json-text", "choice", "verdict", "open-mindedness-answers",
        "stance-stability-answers", "pluralism-answers", "deliberation-answers", "rephrase-answers", "audit-answers",
        "topics-answers", "references-answers", "crowd-verdicts-answers",
    ),
}  # fmt: skip


def names() -> list[str]:
    """All of them."""
    return [name for some in _FILES.values() for name in some]


def named(name: str) -> Target:
    """One; only its own file is imported.

    Raises:
        KeyError: there is none of this name.
    """
    file = next((file for file, some in _FILES.items() if name in some), None)
    if file is None:
        raise KeyError(name)
    found: dict[str, Target] = import_module(f"fuzz.targets.{file}").TARGETS
    return found[name]
