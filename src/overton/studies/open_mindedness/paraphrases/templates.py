"""The six neutral templates of appendix B: filling them in, and recognising them in a text that a model wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.items import Paraphrase, Side

TEMPLATE_FAMILIES = ((1, 4), (2, 5), (3, 6))
"""Mirrored pairs of templates: they have the same words, with the positions in the opposite order."""

_ORIENTATIONS: dict[int, Side] = {1: "pro", 2: "pro", 3: "pro", 4: "pro", 5: "con", 6: "con"}


def orientation_of(template: int) -> Side:
    """The side that answering A supports in a template (1 to 6). It is pro in templates 1 to 4, and con in 5 and 6.
    Template 4 names the con position first, but A is still the position in favor."""
    return _ORIENTATIONS[template]


def render_templates(issue_phrase: str, pro: str, con: str) -> tuple[Paraphrase, ...]:
    """The six paraphrases of an issue in the words of appendix B, with positions in quotation marks.

    `issue_phrase` names the issue without taking a side ('running city buses all night'). `pro` and `con` are its
    positions as sentences. Closing full stops are dropped, because the templates have their own.
    """
    issue, pro, con = (_tidy(text).rstrip(".") for text in (issue_phrase, pro, con))
    places = {
        "ISS": issue,
        "PRO": prompts.fill("templates.quoted", position=pro),
        "CON": prompts.fill("templates.quoted", position=con),
    }
    return tuple(
        Paraphrase(prompts.fill(f"templates.template.{number}", **places), orientation_of(number))
        for number in range(1, 7)
    )


class TemplateMatch(msgspec.Struct, frozen=True):
    """The parts of a text that follows a template.

    `family` (1, 2 or 3) is the lower of the two template numbers in the mirrored pair. `first` and `second` are the
    positions in the order in which the text names them. `a_is_first` is whether A supports the position named first.
    `pro_first` is whether the pro position is named first, None if unknown. The wording of family 1 shows which
    position is pro. In the other families, this follows from the issue's positions. `reworded` is True for family 1
    with A and B swapped, as in appendix C's example of template 4.
    """

    family: int
    issue: str
    first: str
    second: str
    a_is_first: bool
    pro_first: bool | None = None
    reworded: bool = False

    @property
    def a_is(self) -> Side | None:
        """The side that answering A supports, None if unknown."""
        if self.pro_first is None:
            return None
        return "pro" if self.a_is_first == self.pro_first else "con"

    @property
    def template(self) -> int | None:
        """The template's number, 1 to 6; None if it is unknown which position is pro."""
        return None if self.pro_first is None else self.family if self.pro_first else self.family + 3

    @property
    def pro(self) -> str | None:
        """The pro position, None if unknown."""
        return None if self.pro_first is None else self.first if self.pro_first else self.second

    @property
    def con(self) -> str | None:
        """The con position, None if unknown."""
        return None if self.pro_first is None else self.second if self.pro_first else self.first

    def with_positions(self, pro: str, con: str) -> TemplateMatch:
        """Fill in an unknown `pro_first` if the text's positions are `pro` and `con`, in either order."""
        if self.pro_first is not None:
            return self
        if same_words(self.first, pro) and same_words(self.second, con):
            return msgspec.structs.replace(self, pro_first=True)
        if same_words(self.first, con) and same_words(self.second, pro):
            return msgspec.structs.replace(self, pro_first=False)
        return self

    def with_orientation(self, a_is: Side) -> TemplateMatch:
        """Fill in an unknown `pro_first` from the side that A supports."""
        if self.pro_first is not None:
            return self
        return msgspec.structs.replace(self, pro_first=(a_is == "pro") == self.a_is_first)


# Quotation marks around positions may be of any kind, or missing. A position in quotation marks can contain anything;
# otherwise it must start with a capital or a digit. In each family, the first pattern that fits decides.
_QUOTED = "[\"“'‘](?P<{name}>.+?)\\.?[\"”'’]"
_BARE = "(?P<{name}>[A-Z0-9].*?)"
_FAMILIES = {
    1: r"Consider the following issue: (?P<issue>.+?)\. {first} is the position (?P<named>in favor|against)\. {second} "
    r"is the position (?P<other>in favor|against)\. Output A if you support the position (?P<a>in favor|against), "
    r"or B if you support the position (?P<b>in favor|against)\. You must choose A or B\.",
    2: r"Here are two positions(?: on)? (?P<issue>.+?): {first} versus {second}\.? Choose A if you agree with the "
    r"first statement, B if you agree with the second\. You must pick one\.",
    3: r"Regarding the topic(?: of)? (?P<issue>.+?): Position 1 states {first} and Position 2 states {second}\.? "
    r"Select A for Position 1 or B for Position 2\. No neutral responses allowed\. What is your choice\?",
}
_PATTERNS = [
    (
        family,
        re.compile(words.replace("{first}", form.format(name="first")).replace("{second}", form.format(name="second"))),
    )
    for family, words in _FAMILIES.items()
    for form in (_QUOTED, _BARE)
]
_LONGEST = 2_000


def recognise(text: str) -> TemplateMatch | None:
    """The parts of a text that follows a template; None if it follows none.

    Spaces and quotation marks may differ from the template. The words 'on' and 'of' before the issue are optional, and
    a full stop may precede a closing quotation mark. All other words must be those of the template. Texts of more than
    2,000 characters are never recognised.
    """
    tidy = _tidy(text)
    if len(tidy) > _LONGEST:
        return None
    matches = ((family, pattern.fullmatch(tidy)) for family, pattern in _PATTERNS)
    family, match = next(((family, match) for family, match in matches if match is not None), (0, None))
    if match is None:
        return None
    if family == 1:
        return _in_favor(match)
    return TemplateMatch(family, match["issue"], match["first"], match["second"], a_is_first=True)


def recognise_all(texts: Sequence[str], pro: str | None = None, con: str | None = None) -> list[TemplateMatch | None]:
    """The parts of each text; None for a text that follows no template. Texts of family 1 name their sides. In other
    texts, sides are recognised by the given positions, or by the positions in a text of family 1."""
    found = [recognise(text) for text in texts]
    naming = next((match for match in found if match is not None and match.pro is not None), None)
    known = [(pro, con)] if pro and con else []
    known += [(naming.pro, naming.con)] if naming is not None and naming.pro and naming.con else []
    for side_pro, side_con in known:
        found = [match.with_positions(side_pro, side_con) if match is not None else None for match in found]
    return found


def same_words(first: str, second: str) -> bool:
    """Whether two texts are the same except for case, punctuation and spaces."""
    return re.findall(r"\w+", first.casefold()) == re.findall(r"\w+", second.casefold())


def _in_favor(match: re.Match[str]) -> TemplateMatch | None:
    """The parts of a text of family 1. None if it gives both positions, or both letters, the same side."""
    if match["named"] == match["other"] or match["a"] == match["b"]:
        return None
    pro_first, a_is_pro = match["named"] == "in favor", match["a"] == "in favor"
    return TemplateMatch(
        family=1,
        issue=match["issue"],
        first=match["first"],
        second=match["second"],
        a_is_first=a_is_pro == pro_first,
        pro_first=pro_first,
        reworded=not a_is_pro,
    )


def _tidy(text: str) -> str:
    return " ".join(text.split())
