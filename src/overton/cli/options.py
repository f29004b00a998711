"""Options that several commands share. An option with several values is repeated; it takes no comma-separated list."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from overton.errors import InputError, Problem
from overton.key_values import by_key, pair_of

ModelArgOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model-arg", metavar="NAME KEY=VALUE", help="A setting of one model, such as temperature=0; repeatable."
    ),
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--price", metavar="NAME IN OUT", help="A model's price in US dollars per million tokens, in and out."
    ),
]
PriceListOption = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="TOML file of prices, which take precedence over the built-in ones."),
]
BatchOption = Annotated[
    bool,
    typer.Option(
        "--batch", help="Use the provider's batch API where it has one: half the price, up to a day per batch."
    ),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="ID", help="Ask only about the item with this id; repeatable.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed of all random draws; 0 by default.", show_default=False)
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0,
        metavar="X",
        help="Stop before spending more than this many US dollars, over all sessions. Exceeded only by models that bill"
        " more than max_tokens allow: at most by calls in flight at once times their excess.",
    ),
]
MaxCallsOption = Annotated[
    int | None,
    typer.Option(
        "--max-calls",
        min=0,
        metavar="N",
        help="Stop before sending more than this many requests, over all sessions. Never exceeded.",
    ),
]
PrecisionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--precision",
        metavar="MEASURE=X",
        help="Ask in rounds, and stop where the interval is within X to either side; repeatable.",
    ),
]
AtMostCallsOption = Annotated[
    int | None,
    typer.Option(
        "--at-most-calls",
        min=1,
        metavar="N",
        help="Ask in rounds, where calls narrow the interval most, and make at most this many.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Folder to create; by default one below runs/. An existing one is refused."
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust", help="Let the run reach everything its folder names, even what this machine has not used before."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LevelOption = Annotated[
    float,
    typer.Option(
        "--level",
        min=0.5,
        max=0.999,
        metavar="X",
        help="Confidence level of the intervals; 0.95 by default.",
        show_default=False,
    ),
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with", metavar="NAME=VALUE", help="An option of 'overton analyze STUDY', such as level=0.9; repeatable."
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]


_VALUES_PER_OPTION = {"--model-arg": 2, "--price": 3}
"""Options that take several values at once, which Typer cannot combine with repetition."""

_VALUE_SEPARATOR = "\x1f"


def join_values(words: list[str]) -> list[str]:
    """A command line in which the values of `--model-arg` and `--price` are joined into one word each."""
    words, result = list(words), []
    while words:
        word = words.pop(0)
        result.append(word)
        if word in _VALUES_PER_OPTION:
            values, words = words[: _VALUES_PER_OPTION[word]], words[_VALUES_PER_OPTION[word] :]
            result.append(_VALUE_SEPARATOR.join(values))
    return result


def computing(given: list[str] | None, own: Sequence[str] = ()) -> dict[str, Any]:
    """Choices of how measures are computed, by name, from the values of `--with`; `own` are the command's own options.

    Raises:
        InputError: a value is not NAME=VALUE, or the command has an option for it.
    """
    found = by_key(given or (), "--with", "NAME=VALUE, as in level=0.9")
    if twice := [Problem("--with", name, f"use --{name} instead") for name in own if name in found]:
        raise InputError(twice)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def model_arguments(given: list[str] | None) -> dict[str, dict[str, list[str]]]:
    """Arguments by model and key from the joined values of `--model-arg`.

    Raises:
        InputError: they are not a name and KEY=VALUE.
    """
    arguments: dict[str, dict[str, list[str]]] = {}
    for words in given or ():
        name, _, pair = words.partition(_VALUE_SEPARATOR)
        key, value = pair_of(pair, f"--model-arg {name}", "NAME KEY=VALUE, as in temperature=0")
        arguments.setdefault(name, {}).setdefault(key, []).append(value)
    return arguments


def source_arguments(**given: list[str] | None) -> dict[str, dict[str, list[str]]]:
    """Arguments of the roles that search and read pages, by role and key, from KEY=VALUE words.

    Raises:
        InputError: a word is not KEY=VALUE.
    """
    return {
        role: by_key(words, f"--{role}-arg", "KEY=VALUE, as in timeout=20") for role, words in given.items() if words
    }


def prices(given: list[str] | None) -> dict[str, tuple[float, float]]:
    """Prices by model from the joined values of `--price`.

    Raises:
        InputError: they are not a name and two amounts.
    """
    return dict(_parse_price(words.split(_VALUE_SEPARATOR)) for words in given or ())


def _parse_price(words: list[str]) -> tuple[str, tuple[float, float]]:
    name, *amounts = words
    try:
        inward, outward = map(float, amounts)
    except ValueError:
        inward = outward = -1.0
    if not (0 <= inward < inf and 0 <= outward < inf):
        raise InputError([Problem(f"--price {name}", " ".join(amounts), "must be NAME IN OUT, amounts of 0 or more")])
    return name, (inward, outward)
