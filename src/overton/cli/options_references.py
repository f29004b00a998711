"""Options of the commands that make and compare reference viewpoints."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "METHODS",
    "AlphaOption",
    "DistanceOption",
    "EmbedderOption",
    "LeastOption",
    "WriterTemperatureOption",
    "temperature_of",
]

METHODS = "algorithm-1, single-shot, goalex, topicgpt, instruct-lf, dbscan or hdbscan"
"""In words, since importing them takes time that --help does not have; a test holds them equal."""

EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="What instruct-lf, dbscan and hdbscan ask for vectors; wordllama/l2_supercat by default.",
    ),
]
AlphaOption = Annotated[
    float | None, typer.Option("--alpha", help="Share of opinions in algorithm 1's bootstrap; 0.2 by default.")
]
DistanceOption = Annotated[
    float | None, typer.Option("--distance", help="DBSCAN's radius in cosine distance; 0.6 by default.")
]
LeastOption = Annotated[
    int | None, typer.Option("--least", help="Opinions that make a cluster, for the density methods; 2 by default.")
]
WriterTemperatureOption = Annotated[
    str | None,
    typer.Option("--temperature", help="Of the writer; 0 by default, as in the paper; own: the endpoint's."),
]


def temperature_of(word: str | None) -> dict[str, float | None]:
    """The writer's temperature as an option of the run; nothing where none is given.

    Raises:
        InputError: the word is no number and not 'own'.
    """
    from overton.cli.options_stance import temperatures

    found = temperatures([word] if word is not None else None)
    return {} if found is None else {"temperature": found[0]}
