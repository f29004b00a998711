"""A judge whose truth is known: it gives the label whose meaning has most words in common with the text.

Meanings must differ in words that decide: of a word that several meanings have, nothing follows. So labels of texts
that are written for this judge are known, and it errs exactly as often as its parameter says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from overton.calls import Draw, Reply, Request
from overton.studies.options import Option
from overton.studies.simulated import respondent

_WORD = re.compile(r"\w{4,}")
_LISTED = re.compile(r"^\s*\(([^()\n]+)\) ", re.MULTILINE)


class WordJudge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A judge that reads words."""

    errs: Annotated[float, Option("Chance that it gives one of the other labels", least=0, most=1)] = 0.0


def judged(
    parameters: WordJudge, items: Sequence[Any], request: Request, draw: Callable[[str], Draw]
) -> Reply | str | None:
    """The label in brackets; None for a request that does not list labels.

    A request without a form, as inside another host, lists them in its prompt.
    """
    choices = request.form.choices if request.form else ()
    labels = [choice.strip("()") for choice in choices] or _LISTED.findall(request.messages[0].content)
    if not labels:
        return None
    label = _closest(labels, request.messages[0].content)
    if draw("errs").uniform() < parameters.errs:
        label = draw("label").shuffle([other for other in labels if other != label])[0]
    return f"({label})"


def _closest(labels: Sequence[str], prompt: str) -> str:
    """The label whose own words occur most in the prompt, lists of labels left out; of several the last by name."""
    lines = [line.strip() for line in prompt.splitlines()]
    starts = {label: f"({label}) " for label in labels}
    listed = {label: next((line for line in lines if line.startswith(start)), "") for label, start in starts.items()}
    text = _words(" ".join(line for line in lines if not line.startswith(tuple(starts.values()))))
    return max(labels, key=lambda label: (len(_own_words(label, listed) & text), label))


def _own_words(label: str, listed: Mapping[str, str]) -> set[str]:
    """The words that a label and its meaning share with no other."""
    return _words(listed[label]).difference(*(_words(line) for other, line in listed.items() if other != label))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


JUDGE = respondent(WordJudge, judged)
