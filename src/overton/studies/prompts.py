"""The texts that models read, stored as data in TOML files, and the functions that load them and fill them in.

A folder of TOML files next to a study's code contains every text, with its source in comments. The folder is a package,
whose `__init__` contains

    PROMPTS = Prompts(__name__)

The study makes a prompt with `PROMPTS.fill("judge.ask", question=question)`, where 'judge.ask' is the key `ask` of
`judge.toml`. `Study.prompts` is `PROMPTS.texts`: a run stores a digest of every text, and names texts that have changed
since.

A placeholder is written `{{ name }}`. Published prompts are kept word for word, and can mark placeholders in another
way. The marks of such a file are declared by examples that contain the word `name`:

    PROMPTS = Prompts(__name__, marks={"published": ["<name>"], "mixed": ["{name}", "{{ name }}"]})

A run may replace texts (`overton run STUDY --prompts FOLDER`). While `Replacements` are in force, every `Prompts` gives
the replaced texts. A study whose texts are replaced puts the replacements in force in each of its functions
(`overton.studies.text_replacement`). Replacements are in force in a single task or thread, so parallel runs do not mix.
Therefore no module may compute anything from a text when it is imported. A function that is `remembered` caches its
results separately for each set of texts.
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
"""The default mark of a placeholder."""


class _Template(NamedTuple):
    """A text split at its placeholders.

    `parts` has words and names of placeholders in turn, beginning and ending with words. `places` has the names of the
    placeholders.
    """

    parts: tuple[str, ...]
    places: frozenset[str]


class Prompts:
    """The prompt files of a package, each read when it is first needed.

    `package` is the dotted name of the package (or folder) that contains the files. `marks` has the marks of
    placeholders for each file, named without '.toml'.
    """

    def __init__(self, package: str, marks: Mapping[str, Sequence[str]] | None = None) -> None:
        self.package = package
        self._marked = {file: some[0] for file, some in (marks or {}).items()}
        self._marks = {file: mark_pattern(some) for file, some in (marks or {}).items()}
        self._files: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, _Template] = {}

    def load(self, file: str) -> dict[str, Any]:
        """The content of the prompt file `file` (named without '.toml'), for data other than texts to fill in.

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
        """Every text of the files `only`, by default of all files, by `prefix` and dotted key, as `Study.prompts` must
        give them.

        Other values (a list of words, a number) are converted to texts, so that runs also notice their changes.
        """
        named = only or sorted(
            path.name.removesuffix(".toml") for path in files(self.package).iterdir() if path.name.endswith(".toml")
        )
        found = {key: value for file in named for key, value in _flatten(file, self.load(file))}
        if (listed := _listed.get()) is not None:
            listed.update({f"{prefix}{key}": OwnText(self, key, value) for key, value in found.items()})
        return {f"{prefix}{key}": str(value) for key, value in found.items()}

    def places(self, name: str) -> frozenset[str]:
        """The names of the placeholders in the text `name`.

        Raises:
            ValueError: there is no such text.
        """
        return self._template(name).places

    def fill(self, name: str, **values: object) -> str:
        """The text `name` ('file.key', or 'file.table.key') with a value in place of each placeholder.

        All placeholders are filled in one pass. So a value that looks like a placeholder stays as it is.

        Raises:
            ValueError: there is no such text, a placeholder has no value, or a value has no placeholder.
        """
        text = self._template(name)
        if values.keys() != text.places:
            raise ValueError(_mismatch(name, values.keys(), text.places))
        parts = list(text.parts)
        parts[1::2] = [str(values[place]) for place in parts[1::2]]
        return "".join(parts)

    def complaint(self, name: str) -> Callable[[str], str]:
        """A function that fills a problem into the placeholder {{ problem }} of the text `name`."""
        return lambda problem: self.fill(name, problem=problem)

    def safe(self, name: str) -> Callable[[str], str]:
        """A function that makes values safe inside all tags of the text `name`: see `enclosing`."""
        return safe_inside("".join(self._template(name).parts[::2]))

    def fill_known(self, name: str, **values: object) -> str:
        """The text `name` with a value in place of each placeholder, as by `fill`. Values without a placeholder are
        ignored.

        Raises:
            ValueError: there is no such text, or a placeholder has no value.
        """
        places = self._template(name).places
        return self.fill(name, **{place: value for place, value in values.items() if place in places})

    def pattern(self, name: str) -> re.Pattern[str]:
        """A pattern that recognises the text `name`, filled in and stripped. Its named groups are the placeholders.

        Simulated models recognise their prompts with it. A placeholder that occurs again must match the same value.

        Raises:
            ValueError: there is no such text.
        """
        return re.compile(_finding(_stripped(self._template(name).parts)), re.DOTALL)

    def cut(self, name: str, text: str) -> tuple[str, ...]:
        """Split a text at its placeholders, with the marks that the text `name` has: words and names of placeholders in
        turn."""
        return cut(text, self._marks.get(name.partition(".")[0], _DEFAULT_PATTERN))

    def spelled(self, name: str, parts: Sequence[str]) -> str:
        """The inverse of `cut`: join parts to a text whose placeholders are marked as in the text `name`."""
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
    """A text of a study as in its package. `key` is the text's name in the package. `value` may also be other data,
    such as a list."""

    prompts: Prompts
    key: str
    value: Any


class Replacements:
    """Texts that replace the texts of packages, with cached results of functions that read texts.

    `texts` has the new words of each replaced text, by package and key. A new text has the same placeholders as the
    text that it replaces.
    """

    def __init__(self, texts: Iterable[tuple[OwnText, str]]) -> None:
        given = list(texts)
        self.texts = {(own.prompts.package, own.key): words for own, words in given}
        self._own = [own for own, _ in given]
        self._templates: dict[tuple[str, str], _Template] = {}
        self._files: dict[tuple[str, str], dict[str, Any]] = {}
        self._memories: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __deepcopy__(self, memo: Any) -> Replacements:
        return self  # never changed, and a copy would duplicate the cache

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Put these replacements in force in the block, in place of any others. Only this task or thread is
        affected."""
        before = _in_force.get()
        _in_force.set(self)
        try:
            yield
        finally:
            _in_force.set(before)  # no token, because another task that closes a coroutine could not reset it

    def template(self, prompts: Prompts, name: str) -> _Template:
        """A replaced text, split at its placeholders."""
        place = prompts.package, name
        if place not in self._templates:
            self._templates[place] = _template_of(prompts.cut(name, self.texts[place]))
        return self._templates[place]

    def file(self, package: str, file: str, own: dict[str, Any]) -> dict[str, Any]:
        """The content of a package's prompt file, with replaced texts."""
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
        """Convert a message made of replaced texts back to the packages' own words. The values of placeholders stay.

        Overton passes the result to simulated models, because they recognise only the words of their study.
        """
        made = message
        for pattern, own in self._restoring:
            # A placeholder at the text's end matches the rest of a whole message, but nothing within a longer one.
            whole = pattern.fullmatch(made)
            made = own(whole) if whole else pattern.sub(own, made)
        if made == message:
            return next((own for words, own in self._whole if same_but_for_order(message, words)), message)
        if message[:1].strip():  # a stripped text stays stripped
            made = made.lstrip()
        return made.rstrip() if message[-1:].strip() else made

    @cached_property
    def _restoring(self) -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]:
        """For each replaced text, longest first, a pattern that finds it and a function that gives the package's own
        words."""
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
        """The replaced texts without placeholders, each with the package's own text. A judge may receive such a text
        with its labels in another order."""
        texts = ((self.texts[own.prompts.package, own.key], own) for own in self._own)
        return [(text.strip(), own.value.strip()) for text, own in texts if not own.prompts.cut(own.key, text)[1:]]

    def memory(self, function: Callable[P, R], most: int) -> Callable[P, R]:
        """The function with a cache of `most` results under these texts."""
        if function not in self._memories:
            self._memories[function] = lru_cache(maxsize=most)(function)
        return self._memories[function]


PUBLISHED = Replacements(())
"""No replacements: all texts are the packages' own."""
_FEWEST_RESTORED = 8
"""The smallest number of characters by which a text is recognised in a message. Shorter texts such as 'Yes' are not."""
_in_force: ContextVar[Replacements] = ContextVar("texts in force", default=PUBLISHED)
_listed: ContextVar[dict[str, OwnText] | None] = ContextVar("texts that are being listed", default=None)


def remembered(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache `most` results of a function that reads texts, separately for each set of texts in force."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            return _in_force.get().memory(function, most)(*given, **named)

        return call

    return decorate


def own_texts(listing: Callable[[], Mapping[str, str]]) -> dict[str, OwnText]:
    """The texts that `listing` (`Study.prompts`) takes from `Prompts`, by name, as their packages have them.

    Texts from elsewhere are left out, because they cannot be replaced.
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
    """A function that makes a text safe for a part of a prompt that one of these tags encloses, such as
    `<post>...</post>`.

    It inserts a space after '<' of such a tag. So the text can neither end its part of the prompt nor pose as another
    part.
    """
    pattern = re.compile(rf"<(?=/?\s*(?:{'|'.join(map(re.escape, tags))})\b)", re.IGNORECASE)
    return lambda text: pattern.sub("< ", text)


def numbered(lines: Iterable[str]) -> str:
    """The lines with their numbers from 1."""
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


_CLOSING_TAG = re.compile(r"</\s*([A-Za-z][\w-]*)\s*>")


def safe_inside(prompt: str) -> Callable[[str], str]:
    """A function that makes texts safe inside all tags that a prompt closes: see `enclosing`."""
    tags = sorted(set(_CLOSING_TAG.findall(prompt)))
    return enclosing(*tags) if tags else str


def _mismatch(name: str, given: Set[str], places: Set[str]) -> str:
    missing, unknown = sorted(places - given), sorted(given - places)
    reasons = [f"no value for {', '.join(missing)}"] if missing else []
    reasons += [f"no placeholder for {', '.join(unknown)}"] if unknown else []
    return f"the text {name} cannot be filled in: {' and '.join(reasons)}"


def mark_pattern(marks: Sequence[str]) -> re.Pattern[str]:
    """A pattern that finds a placeholder. One of its groups is the placeholder's name. Each mark is an example that
    contains the word 'name' once.

    Raises:
        ValueError: a mark lacks the word 'name', repeats it, or consists of it alone.
    """
    for mark in marks:
        if mark.count("name") != 1 or not mark.replace("name", "").strip():
            raise ValueError(
                f"{mark!r} does not mark a placeholder: write the word 'name' once, with the marks around it"
            )
    return re.compile("|".join(re.escape(mark).replace("name", r"(\w+)") for mark in marks))


_DEFAULT_PATTERN = mark_pattern([_MARK])


def cut(text: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Split a text at its placeholders: words and names of placeholders in turn, words first and last."""
    parts, end = [], 0
    for place in pattern.finditer(text):
        parts += [text[end : place.start()], place[place.lastindex or 0]]
        end = place.end()
    return (*parts, text[end:])


def _stripped(parts: Sequence[str]) -> list[str]:
    """The parts of a text, without white space at its start and end."""
    found = list(parts)
    found[0] = found[0].lstrip()
    found[-1] = found[-1].rstrip()
    return found


def _finding(parts: Sequence[str]) -> str:
    """A pattern that finds a text, with its placeholders as named groups. A placeholder that occurs again must match
    the same value."""
    words, *rest = parts
    found = re.escape(words)
    for place, words in zip(rest[::2], rest[1::2], strict=True):
        again = f"(?P<{place}>" in found
        found += (f"(?P={place})" if again else f"(?P<{place}>.*?)") + re.escape(words)
    return found


def _filled_by(parts: Sequence[str], match: re.Match[str]) -> str:
    """The text made of `parts`, with placeholders filled by the values that a pattern found."""
    return "".join(match[part] if index % 2 else part for index, part in enumerate(parts))


def _template_of(parts: tuple[str, ...]) -> _Template:
    return _Template(parts, frozenset(parts[1::2]))


def _flatten(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}", inner)
    else:
        yield prefix, value
