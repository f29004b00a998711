"""Separation of a model's thinking from its reply. Some servers leave thinking in the reply, where it is recognised by
its marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from overton.calls import Reply, Spot

_NAMES = r"think(?:ing)?|thought|seed:think"
_MARK = rf"[ \t]*(?:<(?:{_NAMES})>|\[THINK\]|◁think▷)"
_OPENING = re.compile(f"^{_MARK}", re.I | re.M)
_NEXT = re.compile(_MARK, re.I)
"""The opening mark of a block of thinking directly after another block."""
_CLOSING = re.compile(rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷", re.I)
_CHANNELS = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)\b")
"""The start of a reply in channels that the server did not separate."""
_FINAL = re.compile(r"<\|channel\|>final(?:<\|[a-z]+\|>[^<]*)?<\|message\|>")
_END = re.compile(r"<\|(?:return|end)\|>\s*\Z")

Span = tuple[int, int]


def without_thinking(reply: Reply) -> Reply:
    """The reply without the model's thinking, which moves to the field `thinking`. A reply without thinking is returned
    unchanged.

    Thinking is between `<think>` and `</think>` (or `<thinking>`, `<thought>`, `<seed:think>`, `[THINK]`, `◁think▷`) at
    the start of a line. If only the closing mark is there, thinking is everything before it. If the closing mark is
    missing, because the reply was truncated, thinking is everything from the opening mark on. If the reply has
    channels, only the final channel remains. The positions of token probabilities (`spots`) are adjusted to the
    remaining text.
    """
    spans = thinking_in(reply.text)
    if not spans:
        return reply
    kept = _trimmed(reply.text, _complement(spans, len(reply.text)))
    return msgspec.structs.replace(
        reply,
        text="".join(reply.text[start:end] for start, end in kept),
        thinking="".join(reply.text[start:end] for start, end in spans),
        spots=tuple(_moved(reply.spots, kept)),
    )


def thinking_in(text: str) -> list[Span]:
    """The parts of a text that are thinking, in order and with their marks. The list is empty without thinking."""
    if "<|channel|>" in text and _CHANNELS.match(text):
        final = _FINAL.search(text)
        end = _END.search(text, final.end()) if final else None
        return [(0, final.end() if final else len(text))] + ([end.span()] if end else [])
    if not _CLOSING.search(text) and not _OPENING.search(text):
        return []
    return list(_spans(text))


def _spans(text: str) -> Iterator[Span]:
    first = _OPENING.search(text)
    closing = _CLOSING.search(text)
    start = 0
    if closing and (first is None or closing.start() < first.start()):
        yield 0, closing.end()
        start = closing.end()
    while opening := (_NEXT.match(text, start) if start else None) or _OPENING.search(text, start):
        ended = _CLOSING.search(text, opening.end())
        start = ended.end() if ended else len(text)
        yield opening.start(), start


def _complement(spans: list[Span], length: int) -> list[Span]:
    places = [0, *(place for span in spans for place in span), length]
    return [(start, end) for start, end in zip(places[::2], places[1::2], strict=True) if start < end]


def _trimmed(text: str, kept: list[Span]) -> list[Span]:
    """The kept parts that are not blank, without whitespace at the beginning of the first and at the end of the
    last."""
    said = [(start, end) for start, end in kept if text[start:end].strip()]
    if not said:
        return []
    (start, end), (last_start, last_end) = said[0], said[-1]
    said[0] = start + len(text[start:end]) - len(text[start:end].lstrip()), end
    if len(said) == 1:
        last_start = said[0][0]
    said[-1] = last_start, last_start + len(text[last_start:last_end].rstrip())
    return said


def _moved(spots: tuple[Spot, ...], kept: list[Span]) -> Iterator[Spot]:
    """The spots within the kept parts, with positions in the text that these parts form."""
    for spot in spots:
        before = 0
        for start, end in kept:
            if start <= spot.at < end:
                yield msgspec.structs.replace(spot, at=before + spot.at - start)
            before += end - start
