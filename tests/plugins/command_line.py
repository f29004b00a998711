"""The command line in the test's own process: the fixture `command_line` for every test.

Starting a process takes longer than most commands; that the installed command starts is a test of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
import pytest

from overton.cli import main
from overton.cli.main import app


def every_command() -> Iterator[tuple[str, ...]]:
    """The words of every command."""

    def walk(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            one = group.get_command(context, name)
            assert one is not None, " ".join([*words, name])
            if isinstance(one, click.Group) and name != "extend":
                yield from walk(one, (*words, name))
            else:
                yield (*words, name)

    return walk(app, ())


CommandLine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    """Runs `overton WORDS` in a folder: exit code and outputs, as of a process."""

    def run(
        *words: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            patch.setattr(sys, "argv", ["overton", *words])
            for stream in ("stdout", "stderr"):
                patch.setattr(sys, stream, getattr(sys, stream))  # the command puts its own in their place
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as left:
                main()
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(["overton", *words], int(left.value.code or 0), out, err)

    return run
