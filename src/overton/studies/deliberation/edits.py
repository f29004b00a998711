"""Edits and updates that authors add to their posts later, and the text without them (appendix A, step 4)."""

from __future__ import annotations

import re

__all__ = ["without_edits"]

_GAP = r"[ \t]{0,3}"
_MARKS = r"[ \t*_~#>\[(\"“`\\+=|-]"  # markdown, brackets, quotation marks
_END_MARKS = r"[*_~\])\"”`]{0,8}"
_WORD = r"(?:edit(?:ed|s)?|update[ds]?|eta)"
_WHICH = (
    r"(?:(?:just|an?|final|last|latest|first|second|third|another|new|quick|small|short|little|mini|minor|big|important"
    r"|one more|\d{1,3}(?:st|nd|rd|th))[ \t-]{1,3}){0,4}"
)
_NUMBER = rf"{_GAP}(?:number|no\.?|part)?{_GAP}\#?(?:\d{{1,3}}(?:/\d{{1,3}})?|i{{1,3}}|iv|v|one|two|three|four|five)\b"
_AGAIN = rf"{_GAP}(?:/|\+|&|,|and|or){_GAP}{_WORD}"
_ASIDE = rf"{_GAP}[(\[][^()\[\]\n]{{0,120}}[)\]]"
_MORE = rf"(?:{_NUMBER}|{_AGAIN}|{_ASIDE}){{0,4}}"
_WHY = r"(?:[ \t]{1,3}(?:to (?:add|clarify|say|include|answer|note)|again|also|for \w{1,20}|because|since|after))?"
_STOP = rf"(?:{_GAP}[:;=]|[ \t]{{1,3}}[-–—~]|[-–—~]{{1,3}}>?(?=\s|$)|{_GAP}\.{{1,3}}(?=\s|$)|{_GAP}$)"

_AT_LINE = re.compile(
    rf"^{_MARKS}{{0,40}}(?:"
    rf"(?i:{_WHICH}{_WORD}{_END_MARKS}{_MORE}{_END_MARKS}{_WHY}{_END_MARKS}{_STOP})"  # 'Update 2 -', '**edit**'
    rf"|(?<=[*_\[(])(?i:{_WHICH}{_WORD}{_MORE})[*_\])]"  # '**edit** she left', '[edit] she left'
    r"|(?i:edit(?:ed)? to (?:add|clarify|say|include|answer|mention|note)\b)"  # 'Edited to add that ...'
    rf"|(?:EDIT(?:ED)?|UPDATED?)(?:{_NUMBER}|(?![A-Za-z0-9]))"  # in capitals it needs nothing to set it off
    rf"|(?=[A-Z])(?i:{_WHICH}(?:edit|update))\b[^.!?:\n]{{1,60}}:"  # 'Edit after reading your comments:'
    r")",
    re.MULTILINE,
)
_AFTER_SENTENCE = re.compile(
    rf"(?<=[.!?)…])[ \t]{{1,3}}{_MARKS}{{0,4}}(?:EDIT|UPDATE)(?:{_NUMBER}|{_ASIDE}){{0,2}}{_END_MARKS}{_GAP}[:-]"
)
_IN_BRACKETS = re.compile(
    rf"[ \t]?(?:\((?={_WORD})[a-z]+{_GAP}\d{{0,2}}{_GAP}[:-][^()\n]*\)"
    rf"|\[(?={_WORD})[a-z]+{_GAP}\d{{0,2}}{_GAP}[:-][^\[\]\n]*\](?!\())",
    re.IGNORECASE,
)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_RULES = re.compile(r"(?:\n[ \t]*[-*_=~—–]+[ \t]*)+\Z")


def without_edits(text: str) -> str:
    """The text without its edits and updates, nothing around it.

    An edit begins with its word ('Edit', 'Update', 'ETA') at the beginning of a line, set off from what follows, or in
    capitals; it goes on to the end of the text. One that stands before the story ends with its paragraph. One in
    brackets inside a line ('(edit: spelling)') ends with its bracket. The words inside a sentence are left alone.
    """
    left = _IN_BRACKETS.sub("", text).strip()
    while (begin := _begin(left)) is not None:
        if left[:begin].strip(" \t\n*_~#>-="):
            return _RULES.sub("", left[:begin].rstrip()).rstrip()
        left = _after_paragraph(left).strip()
    return left


def _begin(text: str) -> int | None:
    """Where the first edit begins."""
    found = [match.start() for pattern in (_AT_LINE, _AFTER_SENTENCE) if (match := pattern.search(text))]
    return min(found, default=None)


def _after_paragraph(text: str) -> str:
    """What follows the first paragraph; where there is only one, what follows its first line."""
    end = _PARAGRAPH_END.search(text)
    return text[end.end() :] if end else text.partition("\n")[2]
