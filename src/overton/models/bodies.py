"""What both wire formats do to bodies: encode texts and settings safely, and say why a reply cannot be read."""

from __future__ import annotations

from typing import Any

import msgspec

from overton.calls import Settings
from overton.errors import RejectedError
from overton.models.arguments import RESERVED_FIELDS

__all__ = ["encoded", "settings_checked", "unreadable"]

_encode = msgspec.json.Encoder().encode


def encoded(texts: Any) -> bytes:
    """Messages, or one text, as JSON.

    Raises:
        RejectedError: a text holds half a surrogate pair, which no JSON can carry.
    """
    try:
        return _encode(texts)
    except UnicodeEncodeError:
        raise RejectedError("rejected", "a message holds half a surrogate pair: correct the item's text") from None


def settings_checked(settings: Settings) -> Settings:
    """The settings, if `extra` writes over nothing that is Overton's to say.

    Raises:
        RejectedError: it does.
    """
    for key in settings.extra:
        if key in RESERVED_FIELDS:
            raise RejectedError("rejected", f"extra.{key} cannot be set: {RESERVED_FIELDS[key]}")
    return settings


def unreadable(body: bytes, error: msgspec.DecodeError) -> str:
    """Why a reply's body could not be decoded, in words."""
    if not body.strip():
        return "it is empty"
    if body.lstrip().startswith(b"<"):
        return "it is HTML, not JSON (is the base URL right?)"
    return str(error) if isinstance(error, msgspec.ValidationError) else "it is not whole JSON"
