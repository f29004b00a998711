"""The words that models read, as data in a package of their own: one way to load them, name them and fill them in.

A folder of TOML files beside a study's code has every text with its source in comments. The package's `__init__` says

    PROMPTS = Prompts(__name__)

and the study asks with `PROMPTS.fill("judge.ask", question=question)`, where 'judge.ask' is the key `ask` of
`judge.toml`. `Study.prompts` is `PROMPTS.texts`: a run stores a digest of every text and names those that have changed.

A place to fill in is written `{{ name }}`. Published prompts are kept word for word, and mark their places in their own
way; such a file is declared with its marks, each an example with the word `name` in it:

    PROMPTS = Prompts(__name__, marks={"published": ["<name>"], "mixed": ["{name}", "{{ name }}"]})

A run may replace texts (`overton run STUDY --prompts FOLDER`). While `Replacements` are in force, every `Prompts` gives
them in place of its own; a study whose texts are replaced puts them in force in each of its functions
(`overton.studies.text_replacement`). They are in force in one task or thread only: runs side by side do not mix. So
nothing about a text may be computed when a module is imported; a function that is `remembered` keeps its results apart.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from functools import cached_property, lru_cache, partial, wraps
from importlib.resources import files
from typing import Any, NamedTuple, ParamSpec, TypeVar

from overton.studies.orders import same_but_for_order

P = ParamSpec("P")
R = TypeVar("R")

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
        self.package = package
        self._marked = {file: some[0] for file, some in (marks or {}).items()}
        self._marks = {file: mark_pattern(some) for file, some in (marks or {}).items()}
        self._files: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, _Template] = {}

    def load(self, file: str) -> dict[str, Any]:
        """The prompt file `file` (without '.toml') as it is, for what it contains besides texts to fill in.

        Raises:
            ValueError: there is no such file.
        """
        if file not in self._files:
            found = files(self.package).joinpath(f"{file}.toml")
            if not found.is_file():
                raise ValueError(f"{self.package} has no prompt file {file}.toml")
            self._files[file] = tomllib.loads(found.read_text(encoding="utf-8"))
        return _in_force.get().file(self.package, file, self._files[file])

    def texts(self, *only: str, prefix: str = "") -> dict[str, str]:
        """Every text of the files `only`, or of all, by `prefix` and dotted key: what `Study.prompts` gives.

        Values other than texts (a list of words, a number) are given as Python writes them: a change shows, too.
        """
        named = only or sorted(
            path.name.removesuffix(".toml") for path in files(self.package).iterdir() if path.name.endswith(".toml")
        )
        found = {key: value for file in named for key, value in _flatten(file, self.load(file))}
        if (listed := _listed.get()) is not None:
            listed.update({f"{prefix}{key}": OwnText(self, key, value) for key, value in found.items()})
        return {f"{prefix}{key}": str(value) for key, value in found.items()}

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
        return re.compile(_finding(_stripped(self._template(name).parts)), re.DOTALL)

    def cut(self, name: str, text: str) -> tuple[str, ...]:
        """A text cut at its places as one under this name would be: words and names of places in turn."""
        return cut(text, self._marks.get(name.partition(".")[0], _DEFAULT_PATTERN))

    def spelled(self, name: str, parts: Sequence[str]) -> str:
        """The opposite of `cut`: the text with its places marked as those of the text `name` are."""
        mark = self._marked.get(name.partition(".")[0], _MARK)
        return "".join(mark.replace("name", part) if index % 2 else part for index, part in enumerate(parts))

    def _template(self, name: str) -> _Template:
        replacements = _in_force.get()
        if replacements.texts and (self.package, name) in replacements.texts:
            return replacements.template(self, name)
        if name not in self._texts:
            file, _, key = name.partition(".")
            value: Any = self.load(file)
            for part in key.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if not isinstance(value, str):
                raise ValueError(f"{self.package} has no text {name}")
            self._texts[name] = _template_of(self.cut(name, value))
        return self._texts[name]


class OwnText(NamedTuple):
    """A text of a study as it comes with its package: `key` is its name there, `value` not a text if it is a list."""

    prompts: Prompts
    key: str
    value: Any


class Replacements:
    """Texts in the place of packages' own, with everything that is remembered about them.

    `texts` has the words that take the place of each text; all have the places of the text that they replace.
    """

    def __init__(self, texts: Iterable[tuple[OwnText, str]]) -> None:
        given = list(texts)
        self.texts = {(own.prompts.package, own.key): words for own, words in given}
        self._own = [own for own, _ in given]
        self._templates: dict[tuple[str, str], _Template] = {}
        self._files: dict[tuple[str, str], dict[str, Any]] = {}
        self._memories: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __deepcopy__(self, memo: Any) -> Replacements:
        return self  # never changed, and the same texts are best remembered once

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Put them in force in the block, in place of any others; in this task or thread alone."""
        before = _in_force.get()
        _in_force.set(self)
        try:
            yield
        finally:
            _in_force.set(before)  # not by token, which another task could not give back if it closes a coroutine

    def template(self, prompts: Prompts, name: str) -> _Template:
        """One of the texts, cut at its places."""
        place = prompts.package, name
        if place not in self._templates:
            self._templates[place] = _template_of(prompts.cut(name, self.texts[place]))
        return self._templates[place]

    def file(self, package: str, file: str, own: dict[str, Any]) -> dict[str, Any]:
        """A package's prompt file with the texts in their places."""
        inside = [key for at, key in self.texts if at == package and key.partition(".")[0] == file]
        if not inside:
            return own
        if (package, file) not in self._files:
            made = deepcopy(own)
            for key in inside:
                *tables, last = key.split(".")[1:]
                table = made
                for name in tables:
                    table = table[name]
                table[last] = self.texts[package, key]
            self._files[package, file] = made
        return self._files[package, file]

    def restored(self, message: str) -> str:
        """A message that was made of these texts, in the packages' own words: what fills the places stays.

        A simulated answerer is given it, since that recognises the words of its study.
        """
        made = message
        for pattern, own in self._restoring:
            whole = pattern.fullmatch(made)  # a place at its end is then all the rest; in a part it would be nothing
            made = own(whole) if whole else pattern.sub(own, made)
        if made == message:
            return next((own for words, own in self._whole if same_but_for_order(message, words)), message)
        if message[:1].strip():  # a text that was stripped stays so
            made = made.lstrip()
        return made.rstrip() if message[-1:].strip() else made

    @cached_property
    def _restoring(self) -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
        """For each text, the pattern that finds it, and its own words in its place; those with most words first."""
        found = []
        for own in self._own:
            parts = own.prompts.cut(own.key, self.texts[own.prompts.package, own.key])
            within = _stripped(parts)
            before, after = parts[0][: -len(parts[0].lstrip()) or None], parts[-1][len(parts[-1].rstrip()) :]
            pattern = f"(?:{re.escape(before)})?{_finding(within)}(?:{re.escape(after)})?"
            if (size := sum(map(len, within[::2]))) >= _FEWEST_RESTORED:
                filled = partial(_filled_by, own.prompts.cut(own.key, own.value))
                found.append((size, re.compile(pattern, re.DOTALL), filled))
        found.sort(key=lambda each: -each[0])
        return [(pattern, filled) for _, pattern, filled in found]

    @cached_property
    def _whole(self) -> list[tuple[str, str]]:
        """The texts without places, of which a judge may be sent the labels in another order, with the own ones."""
        texts = ((self.texts[own.prompts.package, own.key], own) for own in self._own)
        return [(text.strip(), own.value.strip()) for text, own in texts if not own.prompts.cut(own.key, text)[1:]]

    def memory(self, function: Callable[P, R], most: int) -> Callable[P, R]:
        """The function with its results under these texts remembered."""
        if function not in self._memories:
            self._memories[function] = lru_cache(maxsize=most)(function)
        return self._memories[function]


PUBLISHED = Replacements(())
"""No replacements: each package's own texts."""
_FEWEST_RESTORED = 8
"""Fewest characters by which a text is recognised in a message: 'Yes' is not."""
_in_force: ContextVar[Replacements] = ContextVar("texts in force", default=PUBLISHED)
_listed: ContextVar[dict[str, OwnText] | None] = ContextVar("texts that are being listed", default=None)


def remembered(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember `most` results of a function that reads texts, apart for different texts in force."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            return _in_force.get().memory(function, most)(*given, **named)

        return call

    return decorate


def own_texts(listing: Callable[[], Mapping[str, str]]) -> dict[str, OwnText]:
    """The texts that `Study.prompts` lists from `Prompts`, by name, as their packages have them.

    A text that a study lists otherwise is left out: it could not be replaced.
    """
    found: dict[str, OwnText] = {}
    token = _listed.set(found)
    try:
        with PUBLISHED.in_force():
            names = listing().keys()
    finally:
        _listed.reset(token)
    return {name: found[name] for name in names if name in found}


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


def mark_pattern(marks: Sequence[str]) -> re.Pattern[str]:
    """A pattern that finds a place, its name in one of the groups; each mark is an example with the word 'name' in it.

    Raises:
        ValueError: a mark has no such word, or nothing else.
    """
    for mark in marks:
        if mark.count("name") != 1 or not mark.replace("name", "").strip():
            raise ValueError(f"{mark!r} does not mark a place: write the word 'name' once, with the marks around it")
    return re.compile("|".join(re.escape(mark).replace("name", r"(\w+)") for mark in marks))


_DEFAULT_PATTERN = mark_pattern([_MARK])


def cut(text: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """A text cut at its places: words and names of places in turn, words first and last."""
    parts, end = [], 0
    for place in pattern.finditer(text):
        parts += [text[end : place.start()], place[place.lastindex or 0]]
        end = place.end()
    return (*parts, text[end:])


def _stripped(parts: Sequence[str]) -> list[str]:
    """The parts of a text without white space around it."""
    found = list(parts)
    found[0] = found[0].lstrip()
    found[-1] = found[-1].rstrip()
    return found


def _finding(parts: Sequence[str]) -> str:
    """A pattern that finds a text, its places as named groups; one that occurs again matches the same."""
    words, *rest = parts
    found = re.escape(words)
    for place, words in zip(rest[::2], rest[1::2], strict=True):
        again = f"(?P<{place}>" in found
        found += (f"(?P={place})" if again else f"(?P<{place}>.*?)") + re.escape(words)
    return found


def _filled_by(parts: Sequence[str], match: re.Match[str]) -> str:
    """The parts of a text, its places filled with what a pattern found in them."""
    return "".join(match[part] if index % 2 else part for index, part in enumerate(parts))


def _template_of(parts: tuple[str, ...]) -> _Template:
    return _Template(parts, frozenset(parts[1::2]))


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}", inner)
    else:
        yield prefix, value
