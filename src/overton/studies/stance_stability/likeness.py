"""How alike two short texts are, by their words."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["alike"]

_WORD = re.compile(r"[^\W_]+")
_FUNCTION_WORDS = re.compile(
    r"(?:an?|the|and|or|but|of|in|on|at|to|for|from|by|with|as|is|are|was|were|be|been|do|does|did|has|have|had|it|its"
    r"|this|that|these|those|their|they|there|what|which|who|how|why|when|where|if|should|would|could|can|may|might"
    r"|must|will|shall|not|no|than|then|so|s)"
)


def alike(one: str, other: str) -> float:
    """The share of words that two texts have in common, 0 to 1 (the Jaccard index of their sets of words).

    Words are taken without case, accents, a plural's s, and without function words. 0 where neither has any other.
    """
    first, second = _words(one), _words(other)
    return len(first & second) / len(first | second) if first or second else 0.0


def _words(text: str) -> frozenset[str]:
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    words = _WORD.findall(plain.casefold())
    return frozenset(_singular(word) for word in words if not _FUNCTION_WORDS.fullmatch(word))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
