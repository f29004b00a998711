"""Options that several commands share. Each that takes several values is repeated, never a comma list."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from overton.errors import InputError, Problem
from overton.pairs import by_key, pair_of

__all__ = [
    "AgentOption",
    "ConditionOption",
    "DilemmasOption",
    "DrawsOption",
    "FormatOption",
    "GoalOption",
    "IssuesArgument",
    "IssuesOption",
    "MaxCallsOption",
    "MaxCostOption",
    "ModelArgOption",
    "ModelOption",
    "MoreModelsOption",
    "OnlyOption",
    "OrderOption",
    "OrdersOption",
    "OutOption",
    "PositionsOption",
    "PriceOption",
    "RepetitionsOption",
    "RoundsOption",
    "RunArgument",
    "SeedOption",
    "SizeOption",
    "TemplateOption",
    "TrialsOption",
    "ValuesJudgeOption",
    "chosen",
    "joined",
    "model_arguments",
    "orderings",
    "prices",
    "source_arguments",
]

ModelOption = Annotated[
    list[str],
    typer.Option("--model", "-m", help="Model to measure, as provider/name or NAME=provider/name; repeat for several."),
]
MoreModelsOption = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", help="Model to add, as provider/name or NAME=provider/name; repeat for several."),
]
ModelArgOption = Annotated[
    list[str] | None,
    typer.Option("--model-arg", metavar="NAME KEY=VALUE", help="Setting of one model, as temperature=0; repeat."),
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option("--price", metavar="NAME IN OUT", help="A model's price in US dollars a million tokens, in and out."),
]
IssuesOption = Annotated[
    Path | None,
    typer.Option("--issues", help="Folder of ProCon files, or a JSONL file; the starter issues by default."),
]
IssuesArgument = Annotated[Path, typer.Argument(metavar="PATH", help="Folder of ProCon files, one file, or JSONL.")]
PositionsOption = Annotated[
    Path | None, typer.Option("--positions", help="CSV of issue, topic, pro, con for ProCon files, which lack them.")
]
TrialsOption = Annotated[int | None, typer.Option("--trials", help="Repetitions of each prompt; 15 by default.")]
ConditionOption = Annotated[
    list[str] | None, typer.Option("--condition", help="Argument configuration; repeat. The paper's six by default.")
]
TemplateOption = Annotated[
    list[int] | None, typer.Option("--template", help="Question template, 1 to 6; repeat. All six by default.")
]
DrawsOption = Annotated[
    int | None, typer.Option("--draws", help="Repeat this many argument sets instead of drawing anew each trial.")
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", help="Ask about this item only, by its id; repeat for more.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of all random draws.")]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="Stop before this many US dollars are spent, in all sessions.")
]
MaxCallsOption = Annotated[
    int | None, typer.Option("--max-calls", min=0, help="Stop before this many requests are sent, in all sessions.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Folder to make; one below runs/ by default. One that exists is refused.")
]
AgentOption = Annotated[
    list[str], typer.Option("--agent", "-a", help="Model at the table, as provider/name; repeat, the same one too.")
]
ValuesJudgeOption = Annotated[
    list[str] | None, typer.Option("--values-judge", help="Model that names the values behind each explanation.")
]
DilemmasOption = Annotated[
    Path | None, typer.Option("--dilemmas", help="JSONL file of dilemmas; the starter dilemmas by default.")
]
FormatOption = Annotated[
    list[str] | None, typer.Option("--format", help="synchronous (the default) or round-robin; repeat for both.")
]
OrdersOption = Annotated[
    str | None,
    typer.Option("--orders", help="all orderings where agents speak in turn (the default), or the given one."),
]
OrderOption = Annotated[
    list[str] | None, typer.Option("--order", help="One ordering by the agents' numbers, as 2-1-3; repeat.")
]
GoalOption = Annotated[
    list[str] | None, typer.Option("--goal", help="correctness (the default) or balanced; repeat for both.")
]
SizeOption = Annotated[
    list[int] | None, typer.Option("--size", help="How many agents discuss; repeat. All of them by default.")
]
RoundsOption = Annotated[int | None, typer.Option("--rounds", help="The most rounds; 4 by default.")]
RepetitionsOption = Annotated[
    int | None, typer.Option("--trials", help="Repetitions of each discussion; 1 by default.")
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]


_SEVERAL = {"--model-arg": 2, "--price": 3}
"""Options that take several values at once, which Typer does not know together with repetition."""

_JOINT = "\x1f"


def joined(words: list[str]) -> list[str]:
    """A command line in which the values of `--model-arg` and `--price` are joined into one word each."""
    words, result = list(words), []
    while words:
        word = words.pop(0)
        result.append(word)
        if word in _SEVERAL:
            values, words = words[: _SEVERAL[word]], words[_SEVERAL[word] :]
            result.append(_JOINT.join(values))
    return result


def model_arguments(given: list[str] | None) -> dict[str, dict[str, list[str]]]:
    """Arguments by model and key from the joined values of `--model-arg`.

    Raises:
        InputError: they are not a name and KEY=VALUE.
    """
    arguments: dict[str, dict[str, list[str]]] = {}
    for words in given or ():
        name, _, pair = words.partition(_JOINT)
        key, value = pair_of(pair, f"--model-arg {name}", "NAME KEY=VALUE, as in temperature=0")
        arguments.setdefault(name, {}).setdefault(key, []).append(value)
    return arguments


def source_arguments(**given: list[str] | None) -> dict[str, dict[str, list[str]]]:
    """Arguments of what searches and reads pages, by role and key, from KEY=VALUE words.

    Raises:
        InputError: a word is not KEY=VALUE.
    """
    return {
        role: by_key(words, f"--{role}-arg", "KEY=VALUE, as in timeout=20") for role, words in given.items() if words
    }


def orderings(given: list[str] | None) -> tuple[tuple[int, ...], ...] | None:
    """Orderings from words such as '2-1-3', None where there are none.

    Raises:
        InputError: a word is not numbers joined by '-'.
    """
    wrong = [word for word in given or () if not all(part.isdigit() for part in word.split("-"))]
    if wrong:
        raise InputError(
            [Problem("--order", word, "must be agents' numbers joined by '-', as 2-1-3") for word in wrong]
        )
    return tuple(tuple(map(int, word.split("-"))) for word in given) if given else None


def prices(given: list[str] | None) -> dict[str, tuple[float, float]]:
    """Prices by model from the joined values of `--price`.

    Raises:
        InputError: they are not a name and two amounts.
    """
    return dict(_price(words.split(_JOINT)) for words in given or ())


def _price(words: list[str]) -> tuple[str, tuple[float, float]]:
    name, *amounts = words
    try:
        inward, outward = map(float, amounts)
    except ValueError:
        inward = outward = -1.0
    if not (0 <= inward < inf and 0 <= outward < inf):
        raise InputError([Problem(f"--price {name}", " ".join(amounts), "must be NAME IN OUT, amounts of 0 or more")])
    return name, (inward, outward)


def chosen(values: list[Any] | None) -> tuple[Any, ...] | None:
    """A repeated option as a tuple, None where it was not given."""
    return tuple(values) if values else None
