"""The study's trials as a table to browse, with prompts rebuilt from the issues' texts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from overton.studies.open_mindedness.answer_counts import with_answers
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.layouts.parts import LABELS
from overton.studies.open_mindedness.protocol import free_parts, prompt_parts
from overton.studies.sections import BrowseFilter, Numbers, TrialTable

if TYPE_CHECKING:
    import polars as pl


_SHAPE = ("issue", "arguments", "wording", "template", "a_first", "answers")


def trial_table(records: pl.DataFrame, issues: Sequence[Issue] = ()) -> TrialTable:
    """A table for browsing the trials of `records` (with the column `model` and the fields of `Record`).

    Prompts are rebuilt from `issues`. If an issue, its arguments or its paraphrases are missing, there is no prompt.
    """
    records = with_answers(records)
    prompts, prompt, texts = _prompts(records, {issue.id: issue for issue in issues})
    answers = records["answer"]
    return TrialTable(
        size=records.height,
        texts=texts,
        prompts=prompts,
        prompt=prompt,
        facets=_facets(records),
        answers=lambda start, stop: answers[start:stop].to_list(),
        names=_names(records),
        beside="Configuration",
        reader="patterns; the judge for free answers (docs/open-mindedness.md)"
        if (records["answers"] == "free").any()
        else "patterns (docs/open-mindedness.md)",
    )


def _names(records: pl.DataFrame) -> Sequence[str]:
    """The names of trial and model for each record. Free answers are marked, because a forced answer may have the same
    trial."""
    import polars as pl

    if "trial" not in records.columns:
        return ()
    free = pl.when(pl.col("answers") == "free").then(pl.lit(" (free)")).otherwise(pl.lit(""))
    return records.select(pl.concat_str(["trial", pl.lit(" "), "model", free])).to_series().to_list()


def _facets(records: pl.DataFrame) -> list[BrowseFilter]:
    return [
        _facet(records, "model", "Model"),
        _facet(records, "issue", "Issue"),
        _facet(records, "condition", "Configuration", lambda name: LABELS.get(name, name)),
        _facet(records, "stance", "Stance", read=True),
        _facet(records, "letter", "Letter", read=True),
        *_free(records),
        _facet(records, "template", "Template", choose=False),
        _facet(records, "wording", "Wording", choose=False),
        _facet(records, "repetition", "Trial", choose=False),
        *_failures(records),
    ]


def _free(records: pl.DataFrame) -> list[BrowseFilter]:
    """Filters by kind of answer and by the judge's labels; an empty list without free answers."""
    if not (records["answers"] == "free").any():
        return []
    return [
        _facet(records, "answers", "Answers"),
        _facet(records, "strength", "Strength", read=True),
        _facet(records, "declines", "Declines", read=True),
    ]


def _failures(records: pl.DataFrame) -> list[BrowseFilter]:
    """A filter by kind of failure, and a column with the whole reason; an empty list if no call failed."""
    import polars as pl

    if records["failure"].null_count() == records.height:
        return []
    kinds = records.select(pl.col("failure").str.split(": ").list.first())
    return [_facet(kinds, "failure", "Failed"), _facet(records, "failure", "Reason", choose=False)]


def _facet(
    records: pl.DataFrame,
    column: str,
    title: str,
    shown: Callable[[str], str] = str,
    *,
    choose: bool = True,
    read: bool = False,
) -> BrowseFilter:
    """A filter by a column's distinct values. Records without a value have the code -1."""
    import polars as pl

    values = records[column].cast(pl.String)
    labels = values.drop_nulls().unique(maintain_order=True).to_list()
    codes = values.replace_strict(labels, list(range(len(labels))), default=-1, return_dtype=pl.Int32)
    return BrowseFilter(title, [shown(label) for label in labels], codes.fill_null(-1).to_numpy(), choose, read)


def _prompts(
    records: pl.DataFrame, issues: Mapping[str, Issue]
) -> tuple[Callable[[int], Sequence[int]], Numbers, list[str]]:
    """The distinct prompts as lists of text numbers, each record's prompt (-1 if unknown), and the texts."""
    import polars as pl

    if not issues or not records.height:
        return _CompactRows([]).row, [-1] * records.height, []
    key = pl.concat_str([pl.col("issue"), pl.col("arguments").list.join(","), *map(pl.col, _SHAPE[2:])], separator="\n")
    keyed = records.select(*_SHAPE, key=key).with_columns(prompt=pl.col("key").rank("dense").cast(pl.Int64) - 1)
    distinct = keyed.unique("prompt").sort("prompt").select(_SHAPE)
    texts = _NumberedTexts(issues)
    prompts = _CompactRows(texts.prompt(shape) for shape in distinct.iter_rows())
    prompt = keyed["prompt"].to_numpy().copy()
    prompt[~prompts.filled[prompt]] = -1
    return prompts.row, prompt, list(texts.numbers)


class _CompactRows:
    """Rows of small numbers in one array. For 100,000 prompts, lists would take 30 MB more."""

    def __init__(self, rows: Iterable[Sequence[int]]) -> None:
        self._numbers, self._ends = array("i"), array("i", [0])
        for row in rows:
            self._numbers.extend(row)
            self._ends.append(len(self._numbers))

    @property
    def filled(self) -> NDArray[np.bool_]:
        """True for rows that are not empty."""
        return np.diff(np.asarray(self._ends)) > 0

    def row(self, index: int) -> Sequence[int]:
        """One row."""
        return self._numbers[self._ends[index] : self._ends[index + 1]].tolist()


_Shape = tuple[str, Sequence[str], int, int, bool, str]
"""A prompt's values in the columns `_SHAPE`."""


class _NumberedTexts:
    """The texts of prompts, numbered in the order in which they are first needed.

    Most prompts differ only in the choice and order of arguments. So their texts are looked up, not built again.
    """

    def __init__(self, issues: Mapping[str, Issue]) -> None:
        self.numbers: dict[str, int] = {}
        self._issues = issues
        self._arguments = {
            name: {argument.id: argument for argument in (*issue.pros, *issue.cons)} for name, issue in issues.items()
        }
        self._evidence: dict[tuple[int, int], list[int]] = {}
        self._argument: dict[tuple[str, str], int] = {}
        self._question: dict[tuple[str, int, bool, str], list[int]] = {}

    def prompt(self, shape: _Shape) -> Sequence[int]:
        """The indices of the texts that make up a prompt; empty if any of these texts is missing."""
        issue, arguments, wording, template, a_first, answers = shape
        wrapper = (wording, len(arguments))
        question = (issue, template, a_first, answers)
        try:
            evidence = self._evidence[wrapper].copy()
            evidence[2:-1:2] = [self._argument[issue, argument] for argument in arguments]
            return evidence + self._question[question]
        except KeyError:
            numbers = [self.numbers.setdefault(part, len(self.numbers)) for part in self._parts(shape)]
        if numbers:
            self._evidence[wrapper], self._question[question] = numbers[:-2], numbers[-2:]
            self._argument |= {(issue, name): at for name, at in zip(arguments, numbers[2:-3:2], strict=True)}
        return numbers

    def _parts(self, shape: _Shape) -> tuple[str, ...]:
        """A prompt's texts, in order. A prompt with arguments begins with the opening, each argument after its heading,
        and the closing. Every prompt ends with two texts that ask for the answer. Empty if a text is missing."""
        name, arguments, wording, template, a_first, answers = shape
        issue, known = self._issues.get(name), self._arguments.get(name, {})
        if issue is None or len(issue.paraphrases) < template or not known.keys() >= {*arguments}:
            return ()
        shown = [known[argument] for argument in arguments]
        if answers == "free":
            return free_parts(issue, shown, wording, template)
        return prompt_parts(issue, shown, wording, template, a_first)
