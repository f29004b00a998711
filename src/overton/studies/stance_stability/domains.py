"""The paper's domains (appendix A.1, table 2)."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import msgspec

from overton.errors import Problem, quoted
from overton.studies.items import Items
from overton.studies.noting import Notes, unreadable
from overton.studies.parsing import Parsed, Text, findings_of

__all__ = ["DOMAINS", "PUBLISHED", "Domain", "PublishedDomain", "slug"]


class PublishedDomain(msgspec.Struct, frozen=True):
    """A row of table 2: the domain and how many topics and questions the paper has of it."""

    name: str
    topics: int
    questions: int


class Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A domain to make topics of; `id` is unique and made of letters, digits and '-'."""

    id: str
    name: str

    @classmethod
    def named(cls, name: str) -> Domain:
        """The domain with an id made of its name."""
        return cls(slug(name), " ".join(name.split()))


def slug(text: str, longest: int = 60) -> str:
    """A text as part of an id: lower case, words with '-' between them, whole words as far as they fit.

    Letters lose their accents; of a text without any Latin letter or digit nothing is left but 'x'.
    """
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    whole = "-".join(re.findall(r"[a-z0-9]+", plain.lower()))
    cut = whole if len(whole) <= longest else whole[: longest + 1].rpartition("-")[0] or whole[:longest]
    return cut or "x"


_TABLE = tomllib.loads(files(__package__).joinpath("domains.toml").read_text(encoding="utf-8"))["domain"]

PUBLISHED: tuple[PublishedDomain, ...] = tuple(msgspec.convert(row, PublishedDomain) for row in _TABLE)
"""The twelve domains in the paper's order."""


def _parse(texts: Sequence[Text], reading: Any) -> Parsed[Domain]:
    """A domain of every line, by its name."""
    notes: list[Notes] = []
    domains: dict[str, Domain] = {}
    for text in texts:
        for number, line in text.lines():
            noted = Notes(text.name, f"line {number}")
            notes.append(noted)
            if isinstance(line, Problem):
                noted.problem(line)
            elif (reason := unreadable(line)) is not None:
                noted.error("", reason)
            elif (domain := Domain.named(line)).id in domains:
                noted.error("", f"{quoted(domain.name)} is named twice")
            else:
                domains[domain.id] = domain
    return Parsed(list(domains.values()), findings_of(notes))


def _published() -> list[Domain]:
    return [Domain.named(domain.name) for domain in PUBLISHED]


DOMAINS = Items(
    Domain,
    "domain",
    "text file of domains that topics are about, a name a line",
    _parse,
    suffixes=(".txt",),
    starter=_published,
    named=Domain.named,
)
"""What topics are made of."""
