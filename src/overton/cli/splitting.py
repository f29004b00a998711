"""The command that splits a run into shards: it takes the same parameters as the study's run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from overton.cli.params import Param, command
from overton.cli.studies import StudyGroup, asked_params, given_of, shared_params, study_words
from overton.studies.study import AnyStudy


class Splitting(StudyGroup):
    """`overton split STUDY`."""

    def make(self, study: AnyStudy) -> Any:
        """The command that makes shards; its parameters are those of a run, and the number of shards."""

        def body(**given: Any) -> None:
            from overton.cli.ending import show_shards
            from overton.cli.progress import watching
            from overton.runs.shards import split

            out, into = given.pop("out"), given.pop("into")
            with watching("split") as watch:
                made = split(study.name, into=into, out=out, watch=watch, **given_of(study, given))
            show_shards(made)

        many = typer.Option("--into", min=1, metavar="N", help="How many shards; items are not divided.")
        folder = typer.Option("--out", metavar="DIR", help="Folder to create, with one run folder per shard.")
        params = [
            *asked_params(study, argument=False),
            *(param for param in shared_params(paying=True) if param.name != "out"),
            Param("into", Param.KEYWORD_ONLY, annotation=Annotated[int, many]),
            Param("out", Param.KEYWORD_ONLY, annotation=Annotated[Path, folder]),
        ]
        return command(body, params, study_words(study), f"Split a run into shards. {study.question}")
