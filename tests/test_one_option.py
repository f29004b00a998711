"""A new option is one field: every surface has it from there."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Annotated, Any

import click
import pytest

from overton.cli import studies
from overton.errors import InputError
from overton.studies import registry
from overton.studies.deliberation import STUDY, Options
from overton.studies.documentation import parts_of
from overton.studies.options import Option, changed, options_of
from overton.tasks import task_of


class WithMore(Options, frozen=True, forbid_unknown_fields=True):
    """The options of a study, and one more."""

    interruptions: Annotated[int, Option("Interruptions allowed in a round", least=0, most=9, extends=True)] = 2


@pytest.fixture(scope="module")
def study() -> Any:
    return replace(STUDY, options=WithMore)


@pytest.mark.parametrize("group", [studies.run, studies.plan])
def test_the_commands_have_it(study: Any, group: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "study_named", lambda _: study)
    command = group.get_command(click.Context(group), study.name)
    (declared,) = (param for param in command.params if param.name == "interruptions")
    assert declared.opts == ["--interruptions"]
    assert "2 by default" in declared.help


def test_the_task_of_inspect_has_it(study: Any) -> None:
    task = task_of(replace(study, name="one-more-option"))
    assert "interruptions" in signature(task).parameters
    assert "interruptions: Interruptions allowed in a round" in (task.__doc__ or "")


def test_the_documentation_has_it(study: Any) -> None:
    (row,) = (line for line in parts_of(study)["options"].splitlines() if "`interruptions`" in line)
    assert "`--interruptions`" in row
    assert "Interruptions allowed in a round" in row


def test_calls_check_it_and_extend_may_change_it(study: Any) -> None:
    assert options_of(study.options, {"interruptions": "7"}).interruptions == 7
    with pytest.raises(InputError, match="option interruptions: 12: must be between 0 and 9"):
        options_of(study.options, {"interruptions": 12})
    assert changed(WithMore(), {"interruptions": 3}).interruptions == 3
