"""The trials, packed for the page: every text is stored once, properties are small numbers, replies are truncated, and
all is compressed.

The pack consists of lines of JSON, gzipped, in base64. The page unpacks it with `DecompressionStream`, which every
current browser has. Because of base64, no reply can interfere with the page's markup.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from overton.reporting.cells import encoded
from overton.studies.sections import TrialTable

_CAPS = (2_000, 1_000, 600, 400, 250, 150, 80)
"""Limits on the characters kept of each reply. Larger limits are tried first, then these in order, until the pack
fits."""

_TRIALS_PER_CHUNK = 2_000
_SAMPLED_CHUNKS = 2
_GZIP_LEVEL = 5
_GZIP_WINDOW = 31


@dataclass(frozen=True)
class Pack:
    """Packed trials. `cap` is the maximum number of characters kept of a reply, and `cut` is the number of longer
    replies. The pack has `kept` of `size` trials. Trials are left out only if the pack is too large even with the
    smallest cap. The kept trials are then evenly spread."""

    data: bytes
    cap: int
    cut: int
    kept: int
    size: int


def pack(table: TrialTable, limit: int) -> Pack:
    """The trials packed into at most `limit` bytes."""
    step = 1
    while step <= max(table.size, 1):
        for cap in _caps(table.longest):
            if _projected_bytes(table, cap) / step > limit:
                continue
            packed = _compress(table, _chunks(table, cap, step, range(0, table.size, _TRIALS_PER_CHUNK)), cap)
            if len(packed.data) <= limit:
                return packed
        step *= 2
    return Pack(b"", 0, 0, 0, table.size)


def _caps(longest: int) -> list[int]:
    """The caps to try: the length of the longest reply, halved until it is near the largest of `_CAPS`, then
    `_CAPS`."""
    caps = [longest]
    while caps[-1] > 2 * _CAPS[0]:
        caps.append(caps[-1] // 2)
    return [*caps, *(cap for cap in _CAPS if cap < caps[-1])]


def _projected_bytes(table: TrialTable, cap: int) -> float:
    """The approximate number of bytes for all trials, estimated from a few evenly spread chunks."""
    starts = range(0, table.size, _TRIALS_PER_CHUNK)
    some = starts[:: max(1, len(starts) // _SAMPLED_CHUNKS)]
    sample = _compress(table, _chunks(table, cap, 1, some))
    return len(sample.data) * len(starts) / max(1, len(some))


def _compress(table: TrialTable, chunks: Iterator[dict[str, Any]], cap: int = 0) -> Pack:
    press = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    parts, cut, kept = [press.compress(encoded(_pack_head(table)) + b"\n")], 0, 0
    for chunk in chunks:
        parts.append(press.compress(encoded(chunk) + b"\n"))
        cut += len(chunk["cut"])
        kept += len(chunk["prompt"])
    parts.append(press.flush())
    return Pack(b64encode(b"".join(parts)), cap, cut, kept, table.size)


def _pack_head(table: TrialTable) -> dict[str, Any]:
    facets = [
        {"title": facet.title, "labels": facet.labels, "choose": facet.choose, "read": facet.read}
        for facet in table.facets
    ]
    titles = [facet.title for facet in table.facets]
    return {
        "texts": table.texts,
        "facets": facets,
        "round": table.round,
        "across": table.across,
        "item": titles.index(table.item) if table.item in titles else -1,
        "beside": titles.index(table.beside) if table.beside in titles else -1,
        "reader": table.reader,
    }


def _chunks(table: TrialTable, cap: int, step: int, starts: range) -> Iterator[dict[str, Any]]:
    """Lines of trials; a prompt is in the first line that needs it, and prompts are numbered in order of appearance."""
    numbers: dict[int, int] = {-1: -1}
    for start in starts:
        first, stop = start + (-start) % step, min(start + _TRIALS_PER_CHUNK, table.size)
        rows = slice(first, stop, step)
        answers = table.answers(start, stop)[first - start :: step]
        prompt = np.asarray(table.prompt[rows]).tolist()
        new = [index for index in dict.fromkeys(prompt) if index not in numbers]
        numbers.update(zip(new, range(len(numbers) - 1, len(numbers) - 1 + len(new)), strict=True))
        yield {
            "prompts": [table.prompts(index) for index in new],
            "prompt": [numbers[index] for index in prompt],
            "codes": [np.asarray(facet.codes[rows]).tolist() for facet in table.facets],
            "names": list(table.names[rows]) if table.names else [str(row + 1) for row in range(table.size)[rows]],
            "answers": [answer[:cap] for answer in answers],
            "cut": {str(row): len(answer) - cap for row, answer in enumerate(answers) if len(answer) > cap},
        }
