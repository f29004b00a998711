"""Patterns that read verdicts in free text: in the community's comments and in agents' messages.

A comment's verdict is a label as a whole word. NTA, YTA and ESH count in any case, but NAH and INFO only in capitals,
because both are also words. YWBTA and YWNBTA ('would be', 'would not be') count as YTA and NTA. `docs/dilemmas.md`
lists all the rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from overton.studies.deliberation.items import VERDICTS, Verdict
from overton.studies.forum import plain

_VERDICT_OF: dict[str, Verdict] = {"YWBTA": "YTA", "YWNBTA": "NTA", **{verdict: verdict for verdict in VERDICTS}}

_ALONE = r"(?<![A-Za-z0-9])(?<![ur]/)(?:{})(?![A-Za-z0-9])"  # not inside a word or name; '_NTA_' is italics
_IN_COMMENT = _ALONE.format("(?i:NTA|YTA|ESH|YWBTA|YWNBTA)|NAH|INFO")
_ANY_CASE = _ALONE.format("(?i:NTA|YTA|ESH|YWBTA|YWNBTA|NAH|INFO)")

_YOU_ARE = r"(?:you(?:['’]?re|\s+are)|ur)"
_HOLE = r"(?:ass|arse|@ss|a)[-\s]?holes?|AH|TA"
_THE = rf"(?:the|an)\s+(?:{_HOLE})"
_SPELLED: dict[Verdict, str] = {
    "YTA": rf"(?:{_YOU_ARE}|you['’]?d\s+be|you\s+would\s+be)\s+(?:definitely\s+)?{_THE}",
    "NTA": rf"(?:{_YOU_ARE}\s+)?(?:definitely\s+)?not\s+{_THE}"
    rf"|you\s+(?:are|would)(?:\s+not|n['’]?t)\s+(?:be\s+)?{_THE}",
    "ESH": r"every(?:one|body)\s+sucks(?:\s+here)?",
    "NAH": rf"no\s+(?:{_HOLE})\s+here",
    "INFO": r"(?:not\s+enough|need\s+more)\s+info(?:rmation)?|more\s+info(?:rmation)?(?:\s+is)?\s+needed",
}
_ANY_SPELLED = "|".join(f"(?P<{verdict}>{words})" for verdict, words in _SPELLED.items())

_QUOTED = re.compile(r"^[ \t]*>(?!!).*$", re.MULTILINE)  # '>!' starts a spoiler, not a quotation
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_LABEL = re.compile(_IN_COMMENT)
_DENIED = re.compile(rf"(?i:\bnot|n['’]t|\bnever|\bneither|\bnor)(?i:\s+(?:an?|the|really))?[\s*_\"'“]+{_IN_COMMENT}")
_LEAD_INS = (
    r"(?:(?:soft|gentle|slight|mild|light|hard|huge|big|massive|easy|kinda|definitely|absolutely|totally|clearly"
    r"|verdict|judge?ment|vote)(?:ly)?[\W_]+)?"
)
_LEADING = re.compile(rf"[\W_]*(?i:{_LEAD_INS})(?P<label>{_IN_COMMENT})(?![*_\"'”)\]\s]*\?)")
_LEADING_SPELLED = re.compile(rf"[\W_]*(?:{_ANY_SPELLED})(?![A-Za-z0-9])", re.IGNORECASE)
_JOINED = re.compile(
    r"[*_\"'”)\]]*(?:\s*(?:/|&|\+|\||→|->|=>)\s*|\s+(?:or|and|vs\.?|to)\s+)[*_\"'“(\[]*" + f"(?P<other>{_ANY_CASE})"
)


@dataclass(frozen=True)
class CommentReading:
    """The verdict of a comment, read by pattern.

    If the comment is unclear, `verdict` is None, and `doubtful` has the verdicts that it names.
    """

    verdict: Verdict | None
    doubtful: tuple[Verdict, ...] = ()


def read_comment(body: str) -> CommentReading:
    """The verdict of a comment, ignoring quoted lines and struck-out words (appendix A, step 5).

    If the comment names one verdict, this verdict counts, but not if the comment only denies it ('not YTA'). If the
    comment names several verdicts, only a verdict at the comment's beginning counts ('NTA, but YTA if you go'). Even
    the verdict at the beginning does not count if it is joined with another ('NTA or ESH') or is a question ('YTA?').
    Without any label, a spelled-out verdict counts if the comment begins with it ('Not the asshole.').
    """
    text = _STRUCK.sub("", _QUOTED.sub("", plain(body))).strip()
    leading = _LEADING.match(text)
    if leading and (verdict := _unless_joined(text, leading)):
        return CommentReading(verdict)
    named = tuple(dict.fromkeys(_verdict(label) for label in _LABEL.findall(text)))
    if not named:
        return CommentReading(_spelled(_LEADING_SPELLED.match(text)))
    clear = len(named) == 1 and not _DENIED.search(text)
    return CommentReading(named[0]) if clear else CommentReading(None, named)


def _verdict(label: str) -> Verdict:
    return _VERDICT_OF[label.upper()]


def _spelled(match: re.Match[str] | None) -> Verdict | None:
    return next((verdict for verdict in VERDICTS if match[verdict]), None) if match else None


def _unless_joined(text: str, leading: re.Match[str]) -> Verdict | None:
    verdict = _verdict(leading["label"])
    joined = _JOINED.match(text, leading.end("label"))
    return None if joined and _verdict(joined["other"]) != verdict else verdict


_STATED = re.compile(
    r"(?:\bmy\s{1,9}|^(?:[^\w\n]|_){0,20})current[\W_]{1,9}verdict\b[\W_]{0,40}"  # "Agent 2's current ..." is another's
    r"(?:(?:is|remains|stays|still|now|unchanged)\b[\W_]{0,9}){0,4}"
    rf"(?:(?P<label>{_ANY_CASE})|(?:{_ANY_SPELLED})(?![A-Za-z0-9]))",
    re.IGNORECASE | re.MULTILINE,
)
_THINKING = re.compile(
    r"here(?:['’]?s|\s+is)\s+my\s+(?:thinking|reasoning|explanation)\b[*_]*\s*[:.\-–—]?[*_]*", re.IGNORECASE
)
_GLOSS = re.compile(rf"\s*\((?:{_ANY_SPELLED})\)|[ \t*_,)\]]{{1,6}}(?P<again>{_ANY_CASE})", re.IGNORECASE)
_WRAPPED = (("[", "]"), ('"', '"'), ("“", "”"))
_AFTER_VERDICT = " \t\r\n.,;:-–—*_)]}\"'”’`"
_BEFORE_VERDICT = " \t\r\n*_#([\"'“"


def read_verdict(reply: str) -> tuple[Verdict | None, str]:
    """The verdict that an agent's message states as `My current verdict: X`, and the explanation that goes with it.

    The label may be in any case, with Markdown, brackets or a full stop. The verdict's name may follow the label, or
    replace it. The verdict is None if the message states no verdict, or two different verdicts. The explanation is the
    text after "Here's my thinking:", or after the verdict if these words are missing. If both are missing, it is the
    whole message. Thinking in <think> at the start is not part of the message.
    """
    text = _unwrapped(_said(reply))
    stated = list(_STATED.finditer(text))
    verdicts = {verdict for match in stated for verdict in _stated(text, match)}
    if len(verdicts) != 1:
        return None, _explanation(text, None)
    return verdicts.pop(), _explanation(text, (stated[0].start(), _end(text, stated[0])))


def _said(reply: str) -> str:
    begin = reply.lstrip()
    return begin.partition("</think>")[2] if begin.startswith("<think>") else reply


def _stated(text: str, match: re.Match[str]) -> list[Verdict]:
    """The verdict of a statement, and the verdict joined to it if there is one."""
    found = _verdict(match["label"]) if match["label"] else _spelled(match)
    joined = _JOINED.match(text, match.end())
    return [verdict for verdict in (found, _verdict(joined["other"]) if joined else None) if verdict]


def _end(text: str, match: re.Match[str]) -> int:
    """The index at which a statement ends.

    The verdict's name in brackets, or its label repeated, belongs to the statement.
    """
    end = match.end()
    while (gloss := _GLOSS.match(text, end)) and (
        not gloss["again"] or [_verdict(gloss["again"])] == _stated(text, match)
    ):
        end = gloss.end()
    return end


def _explanation(text: str, stated: tuple[int, int] | None) -> str:
    begin, end = stated or (0, 0)
    if thinking := _THINKING.search(text, end):
        return _unwrapped(text[thinking.end() :])
    if thinking := _THINKING.search(text, 0, begin):
        return _unwrapped(text[thinking.end() : begin].rstrip(_BEFORE_VERDICT))
    return _unwrapped(text[end:].lstrip(_AFTER_VERDICT) if stated else text)


def _unwrapped(text: str) -> str:
    """Strip surrounding blanks, and the brackets or quotation marks that models copy from the format."""
    bare = text.strip()
    inside = bare[1:-1]
    if (bare[:1], bare[-1:]) in _WRAPPED and bare[0] not in inside and bare[-1] not in inside:
        return inside.strip()
    return bare
