"""Issues from debate pages, such as ProCon's: a question with arguments for and against it.

Two page formats can be read: headings with paragraphs below them, and columns. An argument's side follows from the
names of HTML classes. If class names are missing, the side follows from headings, from numbered arguments, or from the
first row of a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from overton.studies.open_mindedness.items import SIDES, Side
from overton.studies.parsing import id_part

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = (*_HEADINGS, "p", "li", "blockquote", "td", "th")
_CONTAINERS = ("section", "div", "article", "td", "ul", "ol")
_SKIPPED = ("script", "style", "nav", "aside", "footer", "form", "button", "noscript", "template", "svg", "figure")
_SIDE_CLASS = re.compile(r"(?:.*[-_])?(pro|con)s?(?:[-_](?:column|col|side|arguments?|section|list|box|text))?")
_SIDE_HEADING = re.compile(
    r"\W*(pro|con)s?\b(?:\s*(?:\(.{1,60}\)|arguments?|\W|#?\d+\b).*)?", re.IGNORECASE | re.DOTALL
)
_NUMBERED = re.compile(r"\W*(pro|con)\s*#?\s*\d+\b[\s:.)-]*", re.IGNORECASE)
_QUOTES = re.compile(r"\W*(pro|con)s?\s+quotes?\b.*", re.IGNORECASE)
_SOURCES = re.compile(r"\W*(sources|references|footnotes|notes|citations)\W*", re.IGNORECASE)
_MARK = re.compile(r"\[?(\d{1,4})\]?[.):]?")
_SOURCE_START = re.compile(r"\W{0,2}(\d{1,4})[\].):]+\s*")
_ADDRESS = re.compile(r"\w+://(?:[^/?#@]*@)?(?P<host>[^/?#:]*)(?::\d*)?(?P<path>[^?#]*)")
_FEWEST_LETTERS = 40
"""Texts with fewer letters are not read as arguments."""
_PARTS = re.compile(r"(pros?|cons?|sources|(?:pro|con)s?-quotes|discussion-questions|.*-quiz|.*-survey)", re.IGNORECASE)
"""Last parts of addresses. Pages of one debate have the same address apart from such a last part."""


@dataclass
class Debate:
    """The contents of one debate's pages. `id` is made from the pages' address or file name."""

    id: str
    question: str = ""
    sides: dict[Side, list[str]] = field(default_factory=lambda: {side: [] for side in SIDES})
    sources: dict[str, str] = field(default_factory=dict)

    @property
    def lacking(self) -> list[str]:
        """The parts that an issue needs and the debate does not have yet, in words."""
        missing = [] if self.question else ["no question was found"]
        return [*missing, *(f"no arguments for {side} were found" for side in SIDES if not self.sides[side])]

    @property
    def empty(self) -> bool:
        """Whether the pages had neither arguments nor sources."""
        return not any((*self.sides.values(), self.sources))

    def add(self, other: Debate) -> None:
        """Add the contents of another page of the same debate."""
        self.question = self.question or other.question
        for side, texts in other.sides.items():
            self.sides[side] = list(dict.fromkeys([*self.sides[side], *texts]))
        self.sources = other.sources | self.sources

    def procon(self) -> dict[str, Any]:
        """The debate in the ProCon layout, without paraphrases."""
        by_number = dict(sorted(self.sources.items(), key=lambda entry: int(entry[0][1:-1])))
        return {"question": self.question, **{f"{side}s": self.sides[side] for side in SIDES}, "sources": by_number}


def read_debate(html: str, url: str = "", name: str = "") -> Debate:
    """Read the debate from a page with this address, or from a file of this name. The debate is `empty` if the page has
    no debate.

    Other pages of the same debate, which have the same id, may contain the missing parts.
    """
    from lxml import etree
    from lxml.html import document_fromstring

    try:
        root = document_fromstring(html.encode("utf-8", "replace"), parser=_parser())
    except etree.ParserError:
        return Debate(_id_of(url, name))
    address = url or next(iter(root.xpath("//link[@rel='canonical']/@href")), "")
    _prepare(root)
    found = Debate(_id_of(str(address), name), _question(root))
    found.sources = _sources(root)
    arguments = _arguments(root)
    for side in SIDES:
        found.sides[side] = list(dict.fromkeys(text for whose, text in arguments if whose == side))
    return found


def _is_long_enough(text: str) -> bool:
    return sum(character.isalpha() for character in text) >= _FEWEST_LETTERS


def _parser() -> Any:
    from lxml.html import HTMLParser

    return HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=False)


def _id_of(url: str, name: str) -> str:
    """The id NAME from an address such as '.../procon/NAME-debate', '.../NAME-debate/Pros' or 'NAME.procon.org'.
    Without such an address, the id comes from the file's name."""
    address = _ADDRESS.match(url)
    host, path = (address["host"].lower().removeprefix("www."), address["path"]) if address else ("", "")
    parts = [part for part in path.split("/") if part]
    while parts and _PARTS.fullmatch(parts[-1]):
        parts.pop()
    last = parts[-1] if parts else host.partition(".")[0] if host.count(".") > 1 else name
    return id_part(re.sub(r"(-debate)?(\.\w{3,5})?$", "", last)) or id_part(name)


def _prepare(root: Any) -> None:
    """Remove scripts, menus and similar elements, and write references to sources as marks such as '[3]'."""
    from lxml import etree

    etree.strip_elements(root, *_SKIPPED, with_tail=False)
    for link in list(_outermost(root, lambda element: element.tag in ("a", "sup"))):
        number = _MARK.fullmatch(" ".join(link.text_content().split()))
        if number and (link.tag == "sup" or (link.get("href") or "").partition("#")[2][-1:].isdigit()):
            for child in list(link):
                link.remove(child)
            link.text = f"[{number[1]}]"


def _outermost(root: Any, wanted: Callable[[Any], bool]) -> Iterator[Any]:
    """The wanted elements below `root`, in order. Wanted elements inside another wanted element are left out.

    As in every loop of this module, each element is visited once, so deep nesting costs no extra time.
    """
    inside = set()
    for element in root.iter():
        if element.getparent() in inside:
            inside.add(element)
        elif element is not root and wanted(element):
            inside.add(element)
            yield element


def _holding(elements: Iterable[Any]) -> set[Any]:
    """All elements that contain one of these elements."""
    found = set()
    for element in elements:
        parent = element.getparent()
        while parent is not None and parent not in found:
            found.add(parent)
            parent = parent.getparent()
    return found


def _text(element: Any) -> str:
    return " ".join(element.text_content().replace("\xa0", " ").split())


def _tidy(text: str) -> str:
    """The text with a space before each citation mark, and without spaces before punctuation."""
    text = re.sub(r"\s*(\[\d{1,4}\])", r" \1", text)
    return re.sub(r"\s+([.,;:!?](?:\s|$))", r"\1", text).strip()


def _question(root: Any) -> str:
    """The debate's question: the page's own line for the question, otherwise the first heading or title that asks
    something. '' if there is none."""
    named = (
        _text(found) for found in _outermost(root, lambda element: "topic-identifier" in (element.get("class") or ""))
    )
    headings = (_text(found) for found in _outermost(root, lambda element: element.tag in ("h1", "h2")))
    titles = [
        *root.xpath("//meta[@property='og:title']/@content"),
        *(_text(found) for found in root.xpath("//head/title")),
    ]
    for text in (*named, *headings, *titles):
        asked = " ".join(str(text).split()).partition("?")
        if asked[1] and len(asked[0]) <= 300:
            return f"{asked[0]}?"
    return ""


def _sources(root: Any) -> dict[str, str]:
    """Sources by mark. They are the entries of the list below a heading 'Sources' or, without a list, the paragraphs
    below it that begin with numbers."""
    is_awaited, is_below, paragraphs = False, False, []
    for element in _outermost(root, lambda element: element.tag in (*_HEADINGS, "ol", "ul", "p")):
        if element.tag in _HEADINGS:
            is_below = _SOURCES.fullmatch(_text(element)) is not None
            is_awaited |= is_below
        elif element.tag == "p":
            paragraphs += [element] if is_below else []
        elif is_awaited:
            entries = _outermost(element, lambda element: element.tag == "li")
            if found := _numbered(entries, counted=element.tag == "ol"):
                return found
            is_awaited = False
    return _numbered(paragraphs, counted=False)


def _numbered(entries: Iterable[Any], *, counted: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for place, entry in enumerate(entries, 1):
        text = _text(entry)
        start = _SOURCE_START.match(text)
        own = re.search(r"-(\d{1,4})$", entry.get("id") or "")
        number = start[1] if start else own[1] if own else str(place) if counted else ""
        if number and (said := text[start.end() :] if start else text):
            found.setdefault(f"[{number}]", said)
    return found


def _arguments(root: Any) -> list[tuple[Side, str]]:
    """The page's arguments with their sides. Three methods are tried in turn: class names of sections, tables with
    named columns, and headings. The first method that finds arguments of both sides is used. If all fail, the method
    that finds most arguments is used."""
    each = (_in_sections(root), _in_tables(root), _below_headings(root))
    ways = [[(side, text) for side, text in found if _is_long_enough(text)] for found in each]
    whole = [found for found in ways if {side for side, _ in found} == {*SIDES}]
    return whole[0] if whole else max(ways, key=len)


def _side_of_class(element: Any) -> Side | None:
    for word in (element.get("class") or "").lower().split():
        if (match := _SIDE_CLASS.fullmatch(word)) is not None:
            return "pro" if match[1] == "pro" else "con"
    return None


def _in_sections(root: Any) -> list[tuple[Side, str]]:
    """The arguments in elements whose class names a side. Of nested elements of this kind, only the innermost are
    used."""
    marked = [element for element in root.iter(*_CONTAINERS) if _side_of_class(element)]
    outer = _holding(marked)
    inner = [element for element in marked if element not in outer]
    return [(side, text) for element in inner if (side := _side_of_class(element)) for text in _split(element)]


def _in_tables(root: Any) -> list[tuple[Side, str]]:
    """The arguments in the columns of tables whose first row names both sides. Of nested tables of this kind, only the
    outermost are used."""
    found: list[tuple[Side, str]] = []
    for table in _outermost(root, lambda element: element.tag == "table" and {*SIDES} <= {*_heads(element)}):
        heads = _heads(table)
        for row in _rows(table)[1:]:
            for side, cell in zip(heads, row.iterchildren("td"), strict=False):
                found += [(side, text) for text in _split(cell)] if side else []
    return found


def _rows(table: Any) -> list[Any]:
    return table.xpath("./tr | ./thead/tr | ./tbody/tr")  # type: ignore[no-any-return]


def _heads(table: Any) -> list[Side | None]:
    cells = [cell for row in _rows(table)[:1] for cell in row.iterchildren("td", "th")]
    return [_side_of_heading(_text(cell)) for cell in cells]


def _side_of_heading(text: str) -> Side | None:
    if len(text) > 300 or _QUOTES.fullmatch(text) or (match := _SIDE_HEADING.fullmatch(text)) is None:
        return None
    return "pro" if match[1].lower() == "pro" else "con"


def _below_headings(root: Any) -> list[tuple[Side, str]]:
    """The arguments below headings that name a side ('Pros', 'Con arguments', 'Pro 1: ...'). A new heading, list entry
    or numbered paragraph ('Pro 1') starts a new argument."""
    found: list[tuple[Side, str]] = []
    side: Side | None = None
    level, parts = 0, list[str]()

    def close() -> None:
        if side and parts:
            found.append((side, "\n\n".join(parts)))
        parts.clear()

    for element in _blocks(root):
        text = _text(element)
        if element.tag in _HEADINGS:
            close()
            named, depth = _side_of_heading(text), int(element.tag[1])
            if named:
                side, level = named, depth
            elif depth <= level or _SOURCES.fullmatch(text):
                side, level = None, 0
        elif side and text and element.tag not in ("td", "th"):
            if _NUMBERED.match(text) or (element.tag == "li" and not parts):
                close()
            parts.append(_unnumbered(text))
            if element.tag == "li":
                close()
    close()
    return found


def _blocks(root: Any) -> Iterator[Any]:
    """Each list entry without headings or table cells as a whole, and the innermost blocks everywhere else."""
    every = list(root.iter(*_BLOCKS))
    outer = _holding(every)
    divided = _holding(block for block in every if block.tag not in ("p", "li", "blockquote"))
    yield from _outermost(
        root, lambda element: element.tag in _BLOCKS and element not in (divided if element.tag == "li" else outer)
    )


def _unnumbered(text: str) -> str:
    """The text without a leading number such as 'Pro 1:'."""
    number = _NUMBERED.match(text)
    return _tidy(text[number.end() :] if number else text)


def _split(element: Any) -> list[str]:
    """The arguments of an element that belongs to one side. Headings and numbered paragraphs ('Pro 1') separate
    arguments. In a part that is a list, each entry is an argument."""
    blocks = list(_blocks(element))
    if not blocks:
        return [_tidy(_text(element))]
    parts: list[list[tuple[str, str]]] = [[]]
    for block in blocks:
        text = _text(block)
        if block.tag in _HEADINGS or _NUMBERED.match(text):
            parts.append([])
        if block.tag not in _HEADINGS and (said := _unnumbered(text)):
            parts[-1].append((block.tag, said))
    found: list[str] = []
    for part in parts:
        texts = [text for _, text in part]
        found += texts if all(tag == "li" for tag, _ in part) else ["\n\n".join(texts)]
    return found
