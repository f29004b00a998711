"""A configuration file: `overton run --config study.toml` takes its options from the file.

The keys of the file are the command's options without dashes, and its values are read like the words of a command line.
An option that takes a NAME and further words is a table:

    study = "STUDY"
    model = ["openai/gpt-4o", "careful=openai/gpt-4o"]
    trials = 5
    max-cost = 20

    [model-arg.careful]
    temperature = 0

    [plan]      # options of `overton plan` alone
    detect = { MEASURE = 10 }

    [gate]      # read by `overton gate`
    guard = [{ measure = "MEASURE", margin = 5 }]

Click takes the values as defaults of the options, and handles precedence and checks. The file may come from somebody
else, so its size is limited. The user confirms the addresses, keys and files that it names before Overton opens
anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from overton.cli.configured_paths import PathReader
from overton.errors import InputError, Problem, quoted, suggestion
from overton.untrusted import decode_text, decode_toml, read_file

if TYPE_CHECKING:
    from overton.studies.study import AnyStudy

_MOST_BYTES = 2**20
_DEEPEST = 8
"""The maximum depth of nested tables below a key. A provider's own fields need a few levels."""
_NO_KEYS = ("config", "trust", "json")
"""Options that are not keys, because they say how to read the file or how to show the result."""
STUDY, PLAN, GATE = "study", "plan", "gate"
"""The keys that are not options: the study's name, and the tables for two commands."""


@dataclass(frozen=True)
class Configuration:
    """The part of a file that a command uses. For each parameter, `words` has the value, `keys` the key that the user
    wrote, and `files` the files that would be opened. `files` leaves out models and collections of pages."""

    path: Path
    words: Mapping[str, Any]
    keys: Mapping[str, str]
    files: Mapping[str, Sequence[Path]]

    def located(self, error: InputError, names: Mapping[str, str]) -> InputError:
        """The error, with the file and the key in place of each option that was read from the file. `names` maps flags
        to parameters."""
        return InputError([self._located(problem, names) for problem in error.problems])

    def _located(self, problem: Problem, names: Mapping[str, str]) -> Problem:
        flag, space, rest = problem.place.partition(" ")
        if (name := names.get(flag)) is None or name not in self.keys:
            return problem
        reason = f"{problem.key}: {problem.reason}" if problem.key else problem.reason
        return Problem(str(self.path), f"{self.keys[name]}{space}{rest}", reason)


def read_table(path: Path) -> dict[str, Any]:
    """Read the tables of a file that may come from somebody else.

    Raises:
        InputError: it cannot be read.
    """

    def error(reason: str) -> InputError:
        return InputError([Problem(str(path), "", f"cannot be read as a configuration file: {reason}")])

    return read_file(path, _MOST_BYTES, lambda data: decode_toml(decode_text(data)), error)


def study_in(path: Path) -> str:
    """The name of the study that a file is about.

    Raises:
        InputError: the file cannot be read, or does not name a study.
    """
    name = read_table(path).get(STUDY)
    if not isinstance(name, str):
        advice = 'name the study in the file, as in study = "NAME", or on the command line'
        raise InputError([Problem(str(path), STUDY, advice if name is None else f"must be a text; {advice}")])
    return name


def configuration_of(
    study: AnyStudy, path: Path, params: Sequence[click.Parameter], plan_only: Sequence[click.Parameter]
) -> Configuration:
    """Read the part of a file that concerns a study's command with these parameters. The options in `plan_only` have
    their keys in the table `[plan]`, which other commands ignore.

    Raises:
        InputError: the file cannot be read or is about another study, a key is unknown, or a value does not fit its
            option. The error lists all problems, each with its key.
    """
    data = read_table(path)
    plan, gate = data.pop(PLAN, {}), data.pop(GATE, None)
    alone = {param.name for param in plan_only}
    reader = _Reader(path, study)
    about = data.pop(STUDY, study.name)
    if about != study.name:
        reader.refuse(STUDY, f"is {quoted(about)}, but this command is for {quoted(study.name)}")
    reader.read(data, "", [param for param in params if param.name not in alone], also=(STUDY, PLAN, GATE))
    if isinstance(plan, Mapping):
        reader.read(plan, f"{PLAN}.", plan_only)
    else:
        reader.refuse(PLAN, f"must be a table, as in [{PLAN}]")
    reader.problems += _problems_of_gate(path, gate)
    if reader.problems:
        raise InputError(reader.problems)
    taken = {str(param.name) for param in params} & reader.words.keys()
    words = {name: words for name, words in reader.words.items() if name in taken}
    return Configuration(path, words, reader.keys, reader.paths.files)


def _problems_of_gate(path: Path, gate: Any) -> Sequence[Problem]:
    """The problems with the table `[gate]`. They are reported before a run, so that a run with a faulty gate costs
    nothing."""
    if gate is None:
        return ()
    from overton.comparison.gate import read_gate

    try:
        read_gate(path)
    except InputError as error:
        return error.problems
    return ()


class _Reader:
    """Reads tables as the words of parameters, and collects the problems with them."""

    def __init__(self, path: Path, study: AnyStudy) -> None:
        self.path = path
        self.paths = PathReader(path.parent, study)
        self.words: dict[str, Any] = {}
        self.keys: dict[str, str] = {}
        self.problems: list[Problem] = []

    def refuse(self, key: str, reason: str) -> None:
        """Note a problem with a key."""
        self.problems.append(Problem(str(self.path), key, reason))

    def read(
        self, table: Mapping[str, Any], prefix: str, params: Sequence[click.Parameter], also: Sequence[str] = ()
    ) -> None:
        """Read each key of a table as the parameter that the key names. `also` are keys that are read elsewhere."""
        known = {key: param for param in params for key in _keys_of(param)}
        for key, value in table.items():
            param = known.get(key)
            if param is None or param.name is None:
                self.refuse(f"{prefix}{key}", f"no such key{suggestion(key, [*known, *also])}")
            elif param.name in self.keys:
                self.refuse(f"{prefix}{key}", f"is given twice, also as {self.keys[param.name]}")
            else:
                self.keys[param.name] = f"{prefix}{key}"
                try:
                    self.words[param.name] = self.paths.of(param, _words_of(param, value))
                except ValueError as error:
                    self.refuse(f"{prefix}{key}", str(error))


def _keys_of(param: click.Parameter) -> Iterator[str]:
    """The keys of a parameter: its long options, or its name if it is given by position."""
    if param.name in _NO_KEYS:
        return
    if isinstance(param, click.Argument):
        yield str(param.name)
    yield from (option[2:] for option in param.opts if option.startswith("--"))


def _words_of(param: click.Parameter, value: Any) -> Any:
    """A value as the words of a parameter.

    Raises:
        ValueError: the value does not fit the parameter. The message says which values fit.
    """
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false, not {quoted(value)}")
        return value
    if param.nargs > 1:
        return list(_rows(param, value))
    if not (getattr(param, "multiple", False) or param.nargs == -1):
        return _word(value)
    if isinstance(value, Mapping) and "=" in (param.metavar or ""):
        return [f"{key}={word}" for key, word in _pairs(value)]
    return [_word(each) for each in value] if isinstance(value, list) else [_word(value)]


def _rows(param: click.Parameter, value: Any) -> Iterator[tuple[str, ...]]:
    """The words of an option that takes a NAME and further words. In the file, such an option is a table that maps each
    name to the further words."""
    name, *rest = (param.metavar or "").split()
    form = f"[{', '.join(rest)}]" if len(rest) > 1 else "{ KEY = VALUE }"
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a table with {form} for each {name}, not {quoted(value)}")
    for key, each in value.items():
        if len(rest) > 1:
            if not isinstance(each, list) or len(each) != len(rest):
                raise ValueError(f"{key}: must be {form}, not {quoted(each)}")
            yield (key, *map(_word, each))
        elif not isinstance(each, Mapping):
            raise ValueError(f"{key}: must be {form}, not {quoted(each)}")
        else:
            yield from ((key, f"{inner}={word}") for inner, word in _pairs(each))


def _pairs(table: Mapping[str, Any], prefix: str = "", deepest: int = _DEEPEST) -> Iterator[tuple[str, str]]:
    """Pairs of a key and a word from a table. A list gives a pair for each of its values, and keys of nested tables are
    joined by dots."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            if not deepest:
                raise ValueError("is nested too deeply")
            yield from _pairs(value, f"{prefix}{key}.", deepest - 1)
        else:
            for each in value if isinstance(value, list) else [value]:
                yield f"{prefix}{key}", _word(each)


def _word(value: Any) -> str:
    """A value as people write it on the command line.

    Raises:
        ValueError: the value is a list, a table, a date, or a number too large to convert.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        try:
            return repr(value)
        except ValueError:
            raise ValueError("is too large a number") from None
    kind = "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else "a date or time"
    raise ValueError(f"must be a text or a number, not {kind}")
