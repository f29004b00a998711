"""All texts that a model reads while reference viewpoints are made, as data with their source."""

from __future__ import annotations

import json
from collections.abc import Sequence

from overton.calls import Message, system, user
from overton.studies.prompts import Prompts, enclosing

FILES = ("published", "decompose", "assign", "goalex", "topicgpt", "instruct_lf")

_safe = enclosing("post", "comment", "opinion", "opinions", "viewpoint", "viewpoints", "topic", "topics")


PROMPTS = Prompts(__name__)
load = PROMPTS.load


def texts() -> dict[str, str]:
    """Every text of every file by name; see `Prompts.texts`."""
    return PROMPTS.texts(*FILES, prefix="reference.")


def audit_texts() -> dict[str, str]:
    """Every text of the audit by name."""
    return PROMPTS.texts("audit", prefix="reference.")


def filled(file: str, key: str, **values: object) -> str:
    """The text `key` of a prompt file with its placeholders filled in. Tags in a value are made harmless, so that the
    value cannot close its section of the prompt."""
    enclosed = {place: _safe(str(value)) for place, value in values.items()}
    return PROMPTS.fill(f"{file}.{key}", **enclosed).strip()


def messages(file: str, key: str, **values: object) -> tuple[Message, ...]:
    """The file's system prompt and the text `key`, filled in."""
    return system(filled(file, "system")), user(filled(file, key, **values))


def complaint(problem: str) -> str:
    """The request to answer again."""
    return filled("assign", "complaint", problem=problem)


def published(key: str, opinions: Sequence[str]) -> tuple[Message, ...]:
    """Prompt 8 ('cluster') or 9 ('summarize') of the paper for these opinions."""
    return system(PROMPTS.fill(f"published.{key}")), user(json.dumps(list(opinions), indent=2, ensure_ascii=False))
