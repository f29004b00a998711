"""Every word that a model reads while reference viewpoints are made, as data with its source."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from overton.calls import Message, system, user

__all__ = ["FILES", "complaint", "filled", "load", "messages", "numbered", "published", "texts"]

FILES = ("published", "decompose", "assign", "goalex", "topicgpt", "instruct_lf")

_PLACE = re.compile(r"\{\{ (\w+) \}\}")
# A comment or an opinion cannot end the part in which it stands.
_TAG = re.compile(r"<(?=/?\s*(?:post|comment|opinions?|viewpoints?|topics?)\b)", re.IGNORECASE)


@cache
def load(name: str) -> dict[str, Any]:
    """The prompt file `name` (without '.toml') as a dictionary."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def texts() -> dict[str, str]:
    """Every text of every file by its dotted key, so that a run can tell which of them changed."""
    return {f"reference.{name}.{key}": str(text) for name in FILES for key, text in load(name).items()}


def filled(file: str, key: str, **values: object) -> str:
    """The text `key` of a prompt file with its places filled in; values cannot close the part they stand in."""
    # In one pass: a comment that holds '{{ title }}' is text, not a place.
    return _PLACE.sub(lambda place: _TAG.sub("< ", str(values[place[1]])), str(load(file)[key])).strip()


def messages(file: str, key: str, **values: object) -> tuple[Message, ...]:
    """The file's system prompt and the text `key`, filled in."""
    return system(str(load(file)["system"]).strip()), user(filled(file, key, **values))


def complaint(problem: str) -> str:
    """The request to answer again."""
    return filled("assign", "complaint", problem=problem)


def published(key: str, opinions: Sequence[str]) -> tuple[Message, ...]:
    """Prompt 8 ('cluster') or 9 ('summarize') of the paper for these opinions."""
    return system(load("published")[key]), user(json.dumps(list(opinions), indent=2, ensure_ascii=False))


def numbered(lines: Iterable[str]) -> str:
    """The lines with their numbers from 1."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
