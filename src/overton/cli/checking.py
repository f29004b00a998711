"""`overton items check`: the items of a study, or those of a file, recognised by its keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from overton.cli.params import Param, command, field_params, words_of
from overton.cli.studies import StudyGroup, make_typer_command
from overton.errors import InputError
from overton.studies.options import fields_of
from overton.studies.study import AnyStudy

_KEYWORD_ONLY = Param.KEYWORD_ONLY


class Checking(StudyGroup):
    """`overton items check STUDY PATH`, and `overton items check PATH` for files recognised by their keys."""

    kinds = ("asks", "makes", "labels")

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command for a study's items, or for a file given instead of a study's name.

        Raises:
            InputError: neither such a study nor such a file exists, or the file's kind cannot be recognised.
        """
        try:
            return super().get_command(ctx, cmd_name)
        except InputError as error:
            if not Path(cmd_name).exists():
                wrong = [replace(problem, reason=f"{problem.reason}; and no such file") for problem in error.problems]
                raise InputError(wrong) from None
        return make_typer_command(cmd_name, self._command_for_file(Path(cmd_name)))

    def _command_for_file(self, path: Path) -> Any:
        def body(**reading: Any) -> None:
            from overton.cli.output import say
            from overton.items import kind_of, recognised

            study = recognised(path)
            asks = kind_of(study)
            later = "" if asks.name == study.name else f", not yet for {asks.name}, whose check says what is missing"
            say(f"Read as {study.items.plural} for {study.name}{later}.")
            _check(study, path, reading)

        return command(body, [], {}, "List every problem in a file of items of any kind, without asking anything.")

    def make(self, study: AnyStudy) -> Any:
        """The command that checks its items."""

        def body(path: Path, **reading: Any) -> None:
            _check(study, path, reading)

        layouts = f"{study.items.layouts[:1].upper()}{study.items.layouts[1:]}."
        path = Param("path", _KEYWORD_ONLY, annotation=Annotated[Path, typer.Argument(metavar="PATH", help=layouts)])
        params = [path, *field_params(fields_of(study.items.reading))]
        help_ = (
            f"List every problem in {study.items.plural}, without asking anything. Exit code 2 if an error would"
            " prevent a run from starting."
        )
        return command(body, params, words_of(study, study.items.reading), help_)


def _check(study: AnyStudy, path: Path, reading: dict[str, Any]) -> None:
    from overton.cli.output import results, say
    from overton.runs.items import check_items

    findings = check_items(study, path, **reading)
    for finding in findings:
        results().print(str(finding), soft_wrap=True)
    errors = sum(finding.severity == "error" for finding in findings)
    say(f"{errors} errors, {len(findings) - errors} warnings")
    raise typer.Exit(2 if errors else 0)
