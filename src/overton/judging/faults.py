"""Malformed replies: empty, truncated, echoed, repetitive or duplicate.

No check depends on the meaning of a reply. All thresholds are chosen such that texts written by people count as
well-formed. `docs/statistics.md` counts the malformed answers of models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, get_args

Fault = Literal["empty", "cut", "echo", "loop", "duplicate"]

FAULTS: tuple[Fault, ...] = get_args(Fault)
"""Kinds of malformed replies.

empty      the reply has no letter and no digit
cut        the reply ended because it reached its token limit
echo       at least four fifths of the reply repeat a text in the prompt, in runs of eight words or more
loop       at least half of the reply's runs of four words repeat earlier ones in the reply
duplicate  the reply repeats an earlier reply: at least nine tenths of the two replies' runs of four words are in both
"""

_CUT_WORDS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
_ECHOED_RUN_WORDS, _MOST_ECHOED, _SHORTEST_ECHO = 8, 0.8, 4
_RUN_WORDS, _MOST_LOOPED, _SHORTEST_LOOP = 4, 0.5, 24
_MOST_SHARED = 0.9
# Scripts without spaces between words are split into characters, and so are words too long for any language.
_UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]{{1,40}}(?!\w)|\w")

Words = tuple[str, ...]


def faults_of(
    text: str,
    *,
    finish: str = "stop",
    shown: Iterable[str] = (),
    sources: Iterable[str] = (),
    earlier: Iterable[str] = (),
) -> tuple[Fault, ...]:
    """The ways in which a reply is malformed, in the order of `FAULTS`; () if it is well-formed.

    `finish` is the provider's word for the reason why the reply ended. `shown` are texts that the reply must not merely
    repeat (the prompt, the post, the belief). `sources` are texts that the reply may quote, but a reply that contains
    four fifths of a source is an echo. `earlier` are replies from which this reply should differ. Case and punctuation
    are ignored. A reply of fewer than four words is never an echo, because an answer of one letter always occurs in its
    prompt.
    """
    words = _words(text)
    found: dict[Fault, bool] = {
        "empty": not words,
        "cut": is_cut(finish),
        "echo": echoes(text, shown) or any(_echoes(source, text) for source in sources),
        "loop": _loops(text),
        "duplicate": repeats(text, earlier),
    }
    return tuple(fault for fault in FAULTS if found[fault])


def is_cut(finish: str) -> bool:
    """Whether a provider's word means that a reply reached its token limit."""
    return finish.casefold() in _CUT_WORDS


def echoes(text: str, shown: Iterable[str]) -> bool:
    """Whether a text is an echo of one of the texts in the prompt, as in `faults_of`."""
    return any(_echoes(text, other) for other in shown)


def repeats(text: str, earlier: Iterable[str]) -> bool:
    """Whether a text has words and is a duplicate of an earlier text, as in `faults_of`."""
    return bool(_words(text)) and any(_has_same_runs(text, other) for other in earlier)


# Cached, because the next reply is compared with the same prompts, pages and earlier replies.
@lru_cache(maxsize=128)
def _words(text: str) -> Words:
    return tuple(_WORD.findall(text.casefold()))


@lru_cache(maxsize=128)
def _runs_in_text(text: str, length: int) -> frozenset[Words]:
    return frozenset(_runs(_words(text), length))


def _runs(words: Words, length: int) -> list[Words]:
    return [words[start : start + length] for start in range(len(words) - length + 1)]


@lru_cache(maxsize=128)
def _echoes(text: str, shown: str) -> bool:
    words = _words(text)
    if len(words) < _SHORTEST_ECHO:
        return False
    length = min(_ECHOED_RUN_WORDS, len(words))
    known = _runs_in_text(shown, length)
    echoed = {
        place
        for start, run in enumerate(_runs(words, length))
        if run in known
        for place in range(start, start + length)
    }
    return len(echoed) >= _MOST_ECHOED * len(words)


@lru_cache(maxsize=128)
def _loops(text: str) -> bool:
    words = _words(text)
    if len(words) < _SHORTEST_LOOP:
        return False
    runs = _runs(words, _RUN_WORDS)
    return len(runs) - len(set(runs)) >= _MOST_LOOPED * len(runs)


def _has_same_runs(text: str, other: str) -> bool:
    if text == other:
        return True
    if min(len(_words(text)), len(_words(other))) < 2 * _RUN_WORDS:
        return _words(text) == _words(other)
    runs, other_runs = _runs_in_text(text, _RUN_WORDS), _runs_in_text(other, _RUN_WORDS)
    if min(len(runs), len(other_runs)) < _MOST_SHARED * max(len(runs), len(other_runs)):
        return False  # too few runs in one of them
    return len(runs & other_runs) >= _MOST_SHARED * len(runs | other_runs)
