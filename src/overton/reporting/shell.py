"""The frame of all our pages: one HTML file that loads nothing, runs no script but its own, and shows text as text."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from overton.untrusted import visible

__all__ = ["asset", "filled"]


def filled(template: str, style: str, script: str, **values: Any) -> str:
    """The page that a template makes of `values`, `style`, `script`, and the `policy` that allows only those two.

    Every string among the values is made visible, then escaped; `Markup` is inserted as it is.
    """
    return _template(template).render(
        **values, script=Markup(script), style=Markup(style), policy=_policy(script, style)
    )


@cache
def asset(name: str) -> str:
    """A file shared by all pages, or one of the report's."""
    return files("overton.reporting").joinpath("page", name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _template(text: str) -> Template:
    # `finalize` makes every expression's text visible before it is escaped; our own markup passes unchanged.
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    return environment.from_string(text)
