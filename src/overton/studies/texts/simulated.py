"""A simulated judge with known behaviour. It gives the label whose meaning has the most words in common with the text.

Words that occur in the meanings of several labels are ignored. So the correct labels of texts written for this judge
are known, and the judge's parameter sets its error rate.
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
    """The parameters of the word judge."""

    errs: Annotated[float, Option("Probability that the judge gives one of the other labels", least=0, most=1)] = 0.0


def judged(
    parameters: WordJudge, items: Sequence[Any], request: Request, draw: Callable[[str], Draw]
) -> Reply | str | None:
    """The label in brackets; None for a request without a list of labels.

    The labels come from the request's reply format. Requests without a format, as in Inspect AI, list the labels in
    their prompt.
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
    """The label with the largest number of own words in the prompt. The prompt's list of labels is not searched. Ties
    go to the last label in alphabetical order."""
    lines = [line.strip() for line in prompt.splitlines()]
    starts = {label: f"({label}) " for label in labels}
    listed = {label: next((line for line in lines if line.startswith(start)), "") for label, start in starts.items()}
    text = _words(" ".join(line for line in lines if not line.startswith(tuple(starts.values()))))
    return max(labels, key=lambda label: (len(_own_words(label, listed) & text), label))


def _own_words(label: str, listed: Mapping[str, str]) -> set[str]:
    """The words in a label and its meaning that no other label or meaning contains."""
    return _words(listed[label]).difference(*(_words(line) for other, line in listed.items() if other != label))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


JUDGE = respondent(WordJudge, judged)
