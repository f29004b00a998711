"""The ProCon layout, in which MillStone's issues are published: one JSON file an issue, its name the issue's id."""

from __future__ import annotations

import re
from typing import Any

from overton.errors import quoted
from overton.studies.noting import Notes, kind_of, take_each, take_required, take_text, unreadable
from overton.studies.open_mindedness.items import Argument, Paraphrase, Side
from overton.studies.open_mindedness.reading.draft import Draft, take_side

__all__ = ["MARK", "draft_from_procon"]

_KEYS = ("question", "pros", "cons", "sources", "paraphrases")

MARK = re.compile(r"\[[0-9]{1,4}\]")
"""A citation mark in a text, such as '[3]'."""


def draft_from_procon(data: dict[str, Any], issue_id: str, notes: Notes) -> Draft:
    """What one file in the ProCon layout holds."""
    for key in data:
        if key not in _KEYS:
            notes.warning(quoted(key), "is not a key of this layout and is left out")
    sources = _sources(data, notes)
    draft = Draft(
        notes,
        issue_id,
        question=take_required(data, "question", notes),
        pros=_side(data, "pro", sources, notes),
        cons=_side(data, "con", sources, notes),
    )
    if data.get("paraphrases") is not None:
        draft.paraphrases = take_each(data, "paraphrases", notes, lambda value, _, key: _paraphrase(value, key, notes))
    _note_uncited(sources, draft, notes)
    return draft


def _side(data: dict[str, Any], side: Side, sources: dict[str, str], notes: Notes) -> dict[int, Argument] | None:
    def take(value: Any, index: int, key: str) -> Argument | None:
        text = take_text(value, key, notes)
        if text is None:
            return None
        marks = dict.fromkeys(MARK.findall(text))
        cited = tuple(f"{mark} {sources[mark]}" for mark in marks if mark in sources)
        return Argument(f"{side}-{index + 1}", text, cited)

    return take_each(data, f"{side}s", notes, take)


def _sources(data: dict[str, Any], notes: Notes) -> dict[str, str]:
    """Mark to source; what is no usable source is noted and left out."""
    sources = data.get("sources")
    if sources is None:
        notes.warning("sources", "is missing: arguments are shown without what they cite")
        return {}
    if not isinstance(sources, dict):
        notes.error("sources", f"is {kind_of(sources)}, not an object from citation mark to source")
        return {}
    return {mark: text.strip() for mark, text in sources.items() if _usable(mark, text, notes)}


def _usable(mark: str, text: Any, notes: Notes) -> bool:
    key = f"sources[{quoted(mark)}]"
    if not MARK.fullmatch(mark):
        notes.warning(key, "is not a citation mark such as [3], so no argument can refer to it")
        return False
    if not isinstance(text, str):
        notes.error(key, f"is {kind_of(text)}, not a text")
        return False
    if (reason := unreadable(text)) is not None:
        notes.error(key, reason)
        return False
    if not text.strip():
        notes.warning(key, "is empty and is left out")
        return False
    return True


def _note_uncited(sources: dict[str, str], draft: Draft, notes: Notes) -> None:
    arguments = [*(draft.pros or {}).values(), *(draft.cons or {}).values()]
    cited = {mark for argument in arguments for mark in MARK.findall(argument.text)}
    uncited = [mark for mark in sources if mark not in cited]
    if uncited and arguments:
        shown = ", ".join(uncited[:10]) + (", ..." if len(uncited) > 10 else "")
        notes.warning("sources", f"{len(uncited)} of {len(sources)} are never cited: {shown}")


def _paraphrase(value: Any, key: str, notes: Notes) -> Paraphrase | None:
    if not isinstance(value, dict):
        notes.error(key, f"is {kind_of(value)}, not an object with question and orientation")
        return None
    text = take_required(value, "question", notes, f"{key}.")
    orientation = take_side(value.get("orientation"), f"{key}.orientation", notes)
    return Paraphrase(text, orientation) if text is not None and orientation is not None else None
