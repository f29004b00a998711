"""The trials of the study as a table to browse: prompts rebuilt from the texts they are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from overton.studies.exhibits import Facet, TrialTable
from overton.studies.open_mindedness.figures.names import LABELS, Names
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.protocol import prompt_parts

if TYPE_CHECKING:
    import polars as pl

__all__ = ["trial_table"]

_SHAPE = ("issue", "arguments", "wording", "template", "a_first")


def trial_table(records: pl.DataFrame, issues: Sequence[Issue] = (), *, held: Collection[str] = ()) -> TrialTable:
    """The trials of `records` (columns `model` and those of `Record`), to browse.

    Prompts are rebuilt from `issues`; where an issue, its arguments or its paraphrases are not given, the prompt is
    left out.
    """
    names = Names(held)
    prompts, prompt, texts = _prompts(records, {issue.id: issue for issue in issues})
    answers = records["answer"]
    return TrialTable(
        size=records.height,
        texts=texts,
        prompts=prompts,
        prompt=prompt,
        facets=_facets(records, names),
        answers=lambda start, stop: answers[start:stop].to_list(),
    )


def _facets(records: pl.DataFrame, names: Names) -> list[Facet]:
    return [
        _facet(records, "model", "Model", names.model),
        _facet(records, "issue", "Issue"),
        _facet(records, "condition", "Configuration", lambda name: LABELS.get(name, name)),
        _facet(records, "stance", "Stance"),
        _facet(records, "letter", "Letter"),
        _facet(records, "template", "Template", choose=False),
        _facet(records, "wording", "Wording", choose=False),
        _facet(records, "repetition", "Trial", choose=False),
        _facet(records, "failure", "Failed", choose=records["failure"].n_unique() > 1),
    ]


def _facet(
    records: pl.DataFrame, column: str, title: str, shown: Callable[[str], str] = str, *, choose: bool = True
) -> Facet:
    """A column as indices into its different values; -1 where it has none."""
    import polars as pl

    values = records[column].cast(pl.String)
    labels = values.drop_nulls().unique(maintain_order=True).to_list()
    codes = values.replace_strict(labels, list(range(len(labels))), default=-1, return_dtype=pl.Int32)
    return Facet(title, [shown(label) for label in labels], codes.fill_null(-1).to_numpy(), choose)  # type: ignore[arg-type]


def _prompts(records: pl.DataFrame, issues: Mapping[str, Issue]) -> tuple[list[list[int]], Sequence[int], list[str]]:
    """The different prompts as indices of texts, which of them each record saw, and the texts."""
    import polars as pl

    if not issues or not records.height:
        return [], [-1] * records.height, []
    key = pl.concat_str([pl.col("issue"), pl.col("arguments").list.join(","), *map(pl.col, _SHAPE[2:])], separator="\n")
    keyed = records.select(*_SHAPE, key=key).with_columns(prompt=pl.col("key").rank("dense").cast(pl.Int64) - 1)
    different = keyed.unique("prompt").sort("prompt").select(_SHAPE)
    numbers: dict[str, int] = {}
    prompts = [_numbered(_parts(issues, shape), numbers) for shape in different.iter_rows()]
    known = [bool(prompt) for prompt in prompts]
    prompt = [index if known[index] else -1 for index in keyed["prompt"]]
    return prompts, prompt, list(numbers)


def _parts(issues: Mapping[str, Issue], shape: tuple[str, Sequence[str], int, int, bool]) -> tuple[str, ...]:
    """The prompt's texts; none where what it was made of is not at hand."""
    name, arguments, wording, template, a_first = shape
    issue = issues.get(name)
    if issue is None or len(issue.paraphrases) < template:
        return ()
    at_hand = {argument.id: argument for argument in (*issue.pros, *issue.cons)}
    if not all(argument in at_hand for argument in arguments):
        return ()
    return prompt_parts(issue, [at_hand[argument] for argument in arguments], wording, template, a_first)


def _numbered(parts: Iterable[str], numbers: dict[str, int]) -> list[int]:
    return [numbers.setdefault(part, len(numbers)) for part in parts]
