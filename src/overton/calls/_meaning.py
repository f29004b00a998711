"""Which option a token begins, where one of several falls in a reply."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["begun"]


def begun(token: str, options: Sequence[str], lead: str = "", said: str = "") -> tuple[str, ...]:
    """The options that `token` may begin, or go on with, where `said` of one stands before it already.

    `lead` is what the token at the place has before the option ('<<' of '<<A'), which an alternative needs as well.
    Case and blanks before a word mean nothing: 'A', ' A' and 'a' are one option. A token that goes past the option
    ('A>>') names it still, unless what follows makes another word of it ('Ask').
    """
    word = token.lstrip()
    if not word.startswith(lead.lstrip()):
        return ()
    piece = word[len(lead.lstrip()) :]
    piece = (piece.lstrip() if not said else piece).rstrip()
    if not piece:
        return ()
    whole = (said + piece).casefold()
    return tuple(option for option in options if _names(whole, option.casefold()))


def _names(whole: str, option: str) -> bool:
    if option.startswith(whole):
        return True
    return whole.startswith(option) and not (whole[len(option)].isalnum() or whole[len(option)] == "_")
