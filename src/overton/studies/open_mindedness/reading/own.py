"""Our own layout: JSON lines, one `Issue` a line."""

from __future__ import annotations

from typing import Any

import msgspec

from overton.errors import quoted
from overton.studies.noting import Notes, kind_of, note_unknown, take_each, take_optional, take_required, take_text
from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase, Side
from overton.studies.open_mindedness.reading.draft import Draft, take_side

__all__ = ["draft_from_own"]


def draft_from_own(data: dict[str, Any], notes: Notes) -> Draft:
    """What one line of our own layout holds."""
    note_unknown(data, Issue, notes)
    draft = Draft(
        notes,
        id=take_required(data, "id", notes) or "",
        question=take_required(data, "question", notes),
        topic=take_optional(data, "topic", notes),
        pro=take_optional(data, "pro", notes),
        con=take_optional(data, "con", notes),
        pros=_arguments(data, "pro", notes),
        cons=_arguments(data, "con", notes),
    )
    if data.get("paraphrases") is not None:
        draft.paraphrases = take_each(data, "paraphrases", notes, lambda value, _, key: _paraphrase(value, key, notes))
    return draft


def _arguments(data: dict[str, Any], side: Side, notes: Notes) -> dict[int, Argument] | None:
    arguments = take_each(data, f"{side}s", notes, lambda value, _, key: _argument(value, key, notes))
    for index, argument in (arguments or {}).items():
        if argument.id != f"{side}-{index + 1}":
            notes.error(f"{side}s[{index}].id", f"is {quoted(argument.id)}; the order asks for '{side}-{index + 1}'")
    return arguments


def _argument(value: Any, key: str, notes: Notes) -> Argument | None:
    if not _is_object(value, Argument, key, notes):
        return None
    argument_id, text = (take_required(value, name, notes, f"{key}.") for name in ("id", "text"))
    listed = value if value.get("sources") is not None else {"sources": []}
    sources = take_each(listed, "sources", notes, lambda source, _, place: take_text(source, place, notes), f"{key}.")
    if argument_id is None or text is None or sources is None:
        return None
    return Argument(argument_id, text, tuple(sources.values()))


def _paraphrase(value: Any, key: str, notes: Notes) -> Paraphrase | None:
    if not _is_object(value, Paraphrase, key, notes):
        return None
    text = take_required(value, "text", notes, f"{key}.")
    orientation = take_side(value.get("orientation"), f"{key}.orientation", notes)
    return Paraphrase(text, orientation) if text is not None and orientation is not None else None


def _is_object(value: Any, kind: type[msgspec.Struct], key: str, notes: Notes) -> bool:
    if not isinstance(value, dict):
        notes.error(key, f"is {kind_of(value)}, not an object with {' and '.join(kind.__struct_fields__)}")
        return False
    note_unknown(value, kind, notes, f"{key}.")
    return True
