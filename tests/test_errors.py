"""Messages of errors and the remedies they suggest: commands that a shell reads as intended."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from overton.errors import (
    InputError,
    Problem,
    RunExists,
    Unreadable,
    command,
    list_names,
    nearest,
    reason_of,
    suggestion,
)


@pytest.mark.parametrize("name", ["runs/first", "my runs/a b", "$(touch owned)", "a;b", "it's", "`id`", "-rf", "*"])
def test_a_path_in_a_command_to_copy_is_one_word_of_a_shell_and_no_option(name: str) -> None:
    words = shlex.split(command("resume", Path(name), "--max-calls", "MORE"))
    assert words[:2] == ["overton", "resume"]
    assert Path(words[2]) == Path(name)
    assert not words[2].startswith("-")
    assert words[3:] == ["--max-calls", "MORE"]


def test_an_existing_run_is_resumed_by_a_command_that_can_be_copied() -> None:
    assert str(RunExists("a b")).endswith("or resume the run in it: overton resume 'a b'")


def test_the_reason_why_a_file_cannot_be_used_is_one_line_without_its_name() -> None:
    told = [FileNotFoundError(2, "No such file", "x"), Unreadable("is a link", place="x"), ValueError("odd\nand so on")]
    assert [reason_of(error) for error in told] == ["No such file", "is a link", "odd"]


def test_a_problem_found_twice_is_listed_once() -> None:
    found = InputError([Problem("archive", "a", "is damaged"), Problem("archive", "a", "is damaged")])
    assert str(found) == "archive: a: is damaged"


@pytest.mark.parametrize(
    ("names", "count", "said"),
    [
        ([], 0, ""),
        (["a", "b"], 0, "a, b"),
        (["a", "b", "c", "d"], 0, "a, b and 2 more"),
        (["a", "b"], 1500, "a, b and 1,498 more"),
    ],
)
def test_of_many_names_the_first_are_listed_and_the_others_counted(names: list[str], count: int, said: str) -> None:
    assert list_names(names, 2, count) == said


def test_the_nearest_known_word_is_suggested_if_one_is_like_the_unknown() -> None:
    known = {"temperature": 1, "top_p": 2}
    assert (nearest("temprature", known), nearest("x", known)) == ("temperature", "")
    assert (suggestion("topp", known), suggestion("x", known)) == ("; did you mean 'top_p'?", "")
