"""A file of a package index over HTTPS, for Pythons that have no pip, by the simple API in JSON or HTML (PEP 691, 503).

Which index: the one that pip or uv are set to. None is named here, so that nobody's mirror or proxy is passed by.
"""

from __future__ import annotations

import base64
import configparser
import json
import os
import re
import ssl
import sys
import urllib.request
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from overton.errors import OvertonError

__all__ = ["configured_indexes", "download", "without_login"]

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
_CHUNK = 1 << 20
_TIMEOUT = 60.0


def configured_indexes() -> list[str]:
    """The addresses of package indexes in pip's and uv's environment variables, then in pip's configuration files.

    In the order in which they are asked; only http and https ones; none twice.
    """
    words = [word for variable in _VARIABLES for word in os.environ.get(variable, "").split()]
    # uv writes an index as NAME=URL or URL
    urls = [re.sub(r"^[\w.-]+=(?=https?://)", "", word) for word in words] + list(_in_files())
    return list(dict.fromkeys(url for url in urls if urlsplit(url).scheme in {"http", "https"}))


def without_login(text: str) -> str:
    """The text with user names and passwords taken out of its URLs, for messages."""
    return re.sub(r"(?<=://)[^/@\s]*@", "", text)


def download(index: str, project: str, filename: str, target: Path, say: Callable[[str], None]) -> None:
    """Write the file of a project on an index to `target`.

    Raises:
        OvertonError: the index does not answer, or does not have the file.
    """
    page_url = f"{index.rstrip('/')}/{re.sub(r'[-_.]+', '-', project).lower()}/"
    try:
        url = _file_url(page_url, filename)
        with _open(_with_login_of(page_url, url)) as reply, target.open("wb") as file:
            _copy(reply, file, filename, say)
    except (OSError, HTTPException, ValueError) as error:
        place = without_login(page_url)
        raise OvertonError(f"{filename} cannot be fetched from {place}: {without_login(str(error))}") from None


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


def _json_links(page: bytes) -> list[str]:
    document: Any = json.loads(page)
    try:
        return [str(file["url"]) for file in document["files"]]
    except (KeyError, TypeError):
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
    """The file's URL, with the index's user name and password where it is on the very same server."""
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
    """Index addresses in pip's configuration files, those of the environment before the user's before the system's."""
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
