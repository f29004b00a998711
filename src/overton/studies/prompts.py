"""The words that models read, as data in a package of their own: one way to load them, name them and fill them in.

A folder of TOML files beside a study's code has every text with its source in comments. The package's `__init__` says

    PROMPTS = Prompts(__name__)

and the study asks with `PROMPTS.fill("judge.ask", question=question)`, where 'judge.ask' is the key `ask` of
`judge.toml`. `Study.prompts` is `PROMPTS.texts`: a run stores a digest of every text and names those that have changed.

A place to fill in is written `{{ name }}`. Published prompts are kept word for word, and mark their places in their own
way; such a file is declared with its marks, each an example with the word `name` in it:

    PROMPTS = Prompts(__name__, marks={"published": ["<name>"], "mixed": ["{name}", "{{ name }}"]})
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from importlib.resources import files
from typing import Any, NamedTuple

_MARK = "{{ name }}"
"""How a place is marked unless declared otherwise."""


class _Template(NamedTuple):
    """A text cut at its places: words and names of places in turn, words first and last."""

    parts: tuple[str, ...]
    places: frozenset[str]


class Prompts:
    """The prompt files of a package, read when they are first needed.

    `package` is the dotted name of the package (or folder) that contains them, Overton's or another; `marks` says by
    file, named without '.toml', what marks a place in it.
    """

    def __init__(self, package: str, marks: Mapping[str, Sequence[str]] | None = None) -> None:
        self._package = package
        self._marks = {file: _mark_pattern(some) for file, some in (marks or {}).items()}
        self._files: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, _Template] = {}

    def load(self, file: str) -> dict[str, Any]:
        """The prompt file `file` (without '.toml') as it is, for what it contains besides texts to fill in.

        Raises:
            ValueError: there is no such file.
        """
        if file not in self._files:
            found = files(self._package).joinpath(f"{file}.toml")
            if not found.is_file():
                raise ValueError(f"{self._package} has no prompt file {file}.toml")
            self._files[file] = tomllib.loads(found.read_text(encoding="utf-8"))
        return self._files[file]

    def texts(self, *only: str, prefix: str = "") -> dict[str, str]:
        """Every text of the files `only`, or of all, by `prefix` and dotted key: what `Study.prompts` gives.

        Values other than texts (a list of words, a number) are given as Python writes them: a change shows, too.
        """
        named = only or sorted(
            path.name.removesuffix(".toml") for path in files(self._package).iterdir() if path.name.endswith(".toml")
        )
        return {f"{prefix}{key}": str(value) for file in named for key, value in _flatten(file, self.load(file))}

    def places(self, name: str) -> frozenset[str]:
        """The names of the places of the text `name`.

        Raises:
            ValueError: there is no such text.
        """
        return self._template(name).places

    def fill(self, name: str, **values: object) -> str:
        """The text `name` ('file.key', or 'file.table.key') with a value in each of its places.

        All places are filled in one pass: a value is text, even if it looks like a place.

        Raises:
            ValueError: there is no such text; a place has no value, or a value no place.
        """
        text = self._template(name)
        if values.keys() != text.places:
            raise ValueError(_mismatch(name, values.keys(), text.places))
        parts = list(text.parts)
        parts[1::2] = [str(values[place]) for place in parts[1::2]]
        return "".join(parts)

    def complaint(self, name: str) -> Callable[[str], str]:
        """The text `name` about a problem, which is in its place {{ problem }}."""
        return lambda problem: self.fill(name, problem=problem)

    def safe(self, name: str) -> Callable[[str], str]:
        """A function that makes values safe inside every tag that the text `name` closes: see `enclosing`."""
        return safe_inside("".join(self._template(name).parts[::2]))

    def fill_known(self, name: str, **values: object) -> str:
        """Like `fill`, for texts that each have some of the same places: values without a place are unused.

        Raises:
            ValueError: there is no such text, or a place has no value.
        """
        places = self._template(name).places
        return self.fill(name, **{place: value for place, value in values.items() if place in places})

    def pattern(self, name: str) -> re.Pattern[str]:
        """A pattern that recognises the text `name`, filled in and stripped, with its places as named groups.

        For simulated answerers, which have to know what they are asked. A place that occurs again matches the same.

        Raises:
            ValueError: there is no such text.
        """
        parts = list(self._template(name).parts)
        parts[0] = parts[0].lstrip()
        parts[-1] = parts[-1].rstrip()
        words, *rest = parts
        found = re.escape(words)
        for place, words in zip(rest[::2], rest[1::2], strict=True):
            again = f"(?P<{place}>" in found
            found += (f"(?P={place})" if again else f"(?P<{place}>.*?)") + re.escape(words)
        return re.compile(found, re.DOTALL)

    def _template(self, name: str) -> _Template:
        if name not in self._texts:
            file, _, key = name.partition(".")
            value: Any = self.load(file)
            for part in key.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if not isinstance(value, str):
                raise ValueError(f"{self._package} has no text {name}")
            parts = _cut(value, self._marks.get(file, _DEFAULT_PATTERN))
            self._texts[name] = _Template(parts, frozenset(parts[1::2]))
        return self._texts[name]


def enclosing(*tags: str) -> Callable[[str], str]:
    """A function that makes a text safe inside a part of a prompt that one of these tags encloses, `<post>...</post>`.

    A text with such a tag can neither end the part that it is in nor pose as another: '<' gets a space.
    """
    pattern = re.compile(rf"<(?=/?\s*(?:{'|'.join(map(re.escape, tags))})\b)", re.IGNORECASE)
    return lambda text: pattern.sub("< ", text)


def numbered(lines: Iterable[str]) -> str:
    """The lines with their numbers from 1."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


_CLOSING_TAG = re.compile(r"</\s*([A-Za-z][\w-]*)\s*>")


def safe_inside(prompt: str) -> Callable[[str], str]:
    """A function that makes texts safe inside every tag that a prompt closes: see `enclosing`."""
    tags = sorted(set(_CLOSING_TAG.findall(prompt)))
    return enclosing(*tags) if tags else str


def _mismatch(name: str, given: Set[str], places: Set[str]) -> str:
    missing, unknown = sorted(places - given), sorted(given - places)
    reasons = [f"no value for {', '.join(missing)}"] if missing else []
    reasons += [f"no place for {', '.join(unknown)}"] if unknown else []
    return f"the text {name} cannot be filled in: {' and '.join(reasons)}"


def _mark_pattern(marks: Sequence[str]) -> re.Pattern[str]:
    """A pattern that finds a place, its name in one of the groups."""
    for mark in marks:
        if mark.count("name") != 1 or not mark.replace("name", "").strip():
            raise ValueError(f"{mark!r} does not mark a place: write the word 'name' once, with the marks around it")
    return re.compile("|".join(re.escape(mark).replace("name", r"(\w+)") for mark in marks))


_DEFAULT_PATTERN = _mark_pattern([_MARK])


def _cut(text: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    parts, end = [], 0
    for place in pattern.finditer(text):
        parts += [text[end : place.start()], place[place.lastindex or 0]]
        end = place.end()
    return (*parts, text[end:])


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}", inner)
    else:
        yield prefix, value
