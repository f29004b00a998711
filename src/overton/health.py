"""The state of an installation: its optional parts, API keys, browser and model weights, and the models and features
that the machine can run."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import msgspec

from overton.items import shared_words
from overton.models.providers import ANTHROPIC, CHAT_PROVIDERS, SERVER
from overton.models.weights import cache_folder, known
from overton.studies.registry import StudyEntry, listed, unusable_names
from overton.version import __version__

__all__ = ["CachedWeights", "Extra", "Health", "Key", "doctor"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "firefox")
_SEARCH_KEYS = {"serper": ("SERPER_API_KEY",), "brave": ("BRAVE_API_KEY",)}
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)[^;]*(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<name>[\w-]+)['\"]")
_DEVELOPER_EXTRAS = ("dev", "bench", "testing")
_MIN_MEMORY_BYTES = 1.5e9
"""The memory in bytes that the smallest embedded model needs, including copies and everything else."""
_MAX_WEIGHTS_SHARE = 0.6
"""The maximum fraction of a machine's memory that weights should take."""


class Extra(msgspec.Struct, frozen=True):
    """An optional part: its packages with their installed versions, None for a missing package."""

    name: str
    packages: dict[str, str | None]

    @property
    def whole(self) -> bool:
        """Whether all packages of the part are installed."""
        return all(self.packages.values())


class Key(msgspec.Struct, frozen=True):
    """An environment variable for an API key, its provider, and whether it is set. The key's value is never read or
    shown."""

    variable: str
    provider: str
    set: bool


class CachedWeights(msgspec.Struct, frozen=True):
    """Model weights that Overton knows by name, and whether they are in the cache."""

    name: str
    cached: bool


class Health(msgspec.Struct, frozen=True):
    """The state of an installation. `memory` is in bytes, None if the system does not report it. `problems` lists what
    should work but does not. The list `can` has everything that this machine can run now. The list `could` has what it
    cannot run yet, with the missing requirement.
    """

    overton: str
    python: str
    platform: str
    cores: int
    memory: int | None
    packages: dict[str, str | None]
    extras: list[Extra]
    keys: list[Key]
    browser: str | None
    cache: str
    weights: list[CachedWeights]
    studies: list[str]
    can: list[str]
    could: list[str]
    problems: list[str]


def doctor() -> Health:
    """Inspect the installation and its settings. Send no request, download nothing, and read no API key's value."""
    packages, extras = _installed_packages()
    folder = cache_folder()
    weights = [
        CachedWeights(model.name, (folder / "weights" / f"{model.name}.q8_0.gguf").is_file()) for model in known()
    ]
    keys, memory = [*_keys()], _memory_bytes()
    can, could = _list_abilities(extras, keys, weights, memory)
    studies = listed()
    return Health(
        overton=__version__,
        python=platform.python_version(),
        platform=platform.platform(terse=True),
        cores=os.cpu_count() or 1,
        memory=memory,
        packages=packages,
        extras=extras,
        keys=keys,
        browser=next((found for name in _BROWSERS if (found := shutil.which(name))), None),
        cache=str(folder),
        weights=weights,
        studies=[study.name for study in studies if not study.problem],
        can=can,
        could=could,
        problems=[*_find_problems(packages, extras, folder, studies)],
    )


def _installed_packages() -> tuple[dict[str, str | None], list[Extra]]:
    """The packages that Overton needs, and the packages of its optional parts, according to Overton's metadata."""
    try:
        named = requires("overton") or []
    except PackageNotFoundError:  # Overton runs from its sources
        named = []
    needed: dict[str, str | None] = {}
    optional: dict[str, dict[str, str | None]] = {}
    for requirement in named:
        if (read := _REQUIREMENT.match(requirement)) is None:
            continue
        marker = read["marker"] or ""
        extra = _EXTRA.search(marker)
        if extra is not None:
            optional.setdefault(extra["name"], {})[read["name"]] = _installed_version(read["name"])
        elif not (sys.platform == "win32" and "win32" in marker):
            needed[read["name"]] = _installed_version(read["name"])
    return needed, [Extra(name, packages) for name, packages in optional.items() if name not in _DEVELOPER_EXTRAS]


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _keys() -> Iterator[Key]:
    seen: set[str] = set()
    for provider in (*CHAT_PROVIDERS.values(), ANTHROPIC, SERVER):
        for variable in provider.key_envs:
            if variable not in seen:
                seen.add(variable)
                yield Key(variable, provider.name, bool(os.environ.get(variable)))
    for engine, variables in _SEARCH_KEYS.items():
        yield from (
            Key(variable, engine, bool(os.environ.get(variable))) for variable in variables if variable not in seen
        )


def _memory_bytes() -> int | None:
    if not hasattr(os, "sysconf"):
        return None
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _list_abilities(
    extras: list[Extra], keys: list[Key], weights: list[CachedWeights], memory: int | None
) -> tuple[list[str], list[str]]:
    """Everything that can be run now, and everything that could be run after one more command."""
    whole = {extra.name for extra in extras if extra.whole}
    can, could = ["simulated models, in every study"], list[str]()
    for weight in weights:
        if "embedded" not in whole:
            could.append(f"embedded/{weight.name}: pip install 'overton[embedded]'")
        elif memory is not None and memory < _MIN_MEMORY_BYTES:
            could.append(f"embedded/{weight.name}: needs 1.5 GB of memory")
        else:
            fetched = (
                ""
                if weight.cached
                else f" (its weights are downloaded on first use, or by overton models pull {weight.name})"
            )
            can.append(f"embedded/{weight.name}{fetched}")
    if "embedded" in whole and memory is not None:
        can.append(f"GGUF files of up to about {_MAX_WEIGHTS_SHARE * memory / 1e9:.0f} GB, as gguf:/path/to/file")
    hosted = list(dict.fromkeys(key.provider for key in keys if key.set))
    can += [f"{provider}: its key is set" for provider in hosted]
    if not hosted:
        could.append("hosted models: set one of the variables above")
    extras_ = {
        "retrieval": "searching and reading pages, including the starter pages",
        "inspect": "studies as tasks of Inspect AI, and its providers",
        "clustering": "clustering by embeddings",
        "spreadsheets": "items in spreadsheets (.xlsx)",
        "ray": "GGUF files on several machines, as ray/gguf:/path/to/file",
    }
    for name, what in extras_.items():
        if name in whole:
            can.append(what)
        else:
            could.append(f"{what}: pip install 'overton[{name}]'")
    return can, could


def _find_problems(
    packages: dict[str, str | None], extras: list[Extra], cache: Path, studies: Sequence[StudyEntry]
) -> Iterator[str]:
    for name in (name for name, found in packages.items() if found is None):
        yield f"the package {name} is missing: pip install overton"
    for extra in extras:
        missing = [name for name, found in extra.packages.items() if found is None]
        own = [
            name for name in extra.packages if not any(name in other.packages for other in extras if other is not extra)
        ]
        if missing and any(extra.packages[name] for name in own):
            yield f"the part {extra.name} lacks {', '.join(missing)}: pip install 'overton[{extra.name}]'"
    yield from (f"the study {study.name} cannot be used: {study.problem}" for study in studies if study.problem)
    yield from unusable_names()
    yield from shared_words()
    around = next((folder for folder in (cache, *cache.parents) if folder.exists()), None)
    if around is None or not os.access(around, os.W_OK):
        yield f"the cache {cache} is not writable: set OVERTON_CACHE to a folder that is"
