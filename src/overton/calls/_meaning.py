"""Which option a token starts, where one of several occurs in a reply."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["options_named"]


def options_named(token: str, options: Sequence[str], lead: str = "", said: str = "") -> tuple[str, ...]:
    """The options that `token` may start, or continue if `said` of one already precedes it.

    `lead` is what the token has before the option ('<<' of '<<A'), which an alternative needs as well. Case and spaces
    before a word are ignored: 'A', ' A' and 'a' are one option. A token that goes beyond the option ('A>>') still names
    it, unless what follows makes it another word ('Ask').
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
