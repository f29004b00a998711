"""Reading issues from files, with all checks of issues, and the twelve bundled issues. The bundled issues were written
for Overton. Their towns, institutes, sources, figures and citations are invented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import msgspec

from overton.errors import quoted
from overton.studies.items import Items, starter_file, starter_subjects
from overton.studies.open_mindedness.items import (
    MARK,
    SIDES,
    Argument,
    Draft,
    Issue,
    Paraphrase,
    Position,
    Side,
    add_positions,
    draft_from_own,
    draft_from_procon,
    read_positions,
)
from overton.studies.open_mindedness.paraphrases.templates import TemplateMatch, recognise_all
from overton.studies.options import Option
from overton.studies.parsing import (
    ID_RULE,
    Notes,
    ParsedItems,
    Text,
    findings_of,
    is_id,
    note_repeated,
    object_lines,
    read_json,
    read_whole,
)

_MAX_ISSUES = 10_000
_LIST = re.compile(r"\s*\[\s*\{")
_MOST_DIGITS = 200  # ids are shorter


FOLDERS = ("data", "data_new")
"""The folders of issues in a clone of the authors' repository. `data_new` repeats some issues of `data` in the same
words. There, the authors corrected the pro and con marks of paraphrases by hand."""


class IssueRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options for reading issues."""

    positions: Annotated[
        Any,
        Option(
            "CSV with the columns issue, topic, pro and con; by default positions.csv in the folder or next to it",
            file=True,
            beside="positions.csv",
        ),
    ] = None
    relabel: Annotated[
        bool,
        Option("Correct a paraphrase's mark (pro or con) that contradicts its wording, instead of rejecting the file"),
    ] = False


def _parse(texts: Sequence[Text], reading: IssueRules, *, need_paraphrases: bool = True) -> ParsedItems[Issue]:
    """Read the issues of `texts`. They are sorted by id, and numbers in ids are ordered by value.

    A '.jsonl' file contains one `Issue` per line. Any other file contains one issue or a list of issues. An issue with
    an `id` is an `Issue`. Without an `id` it is in the ProCon layout, and the file's name becomes its id. The table of
    positions adds topics and positions that issues lack. If an issue still has no positions, they come from its
    paraphrases.

    These errors prevent a run:

    - a file that is not UTF-8 or not JSON, or a wrong type
    - an empty or repeated argument, or a side without arguments
    - a number of paraphrases other than six
    - an id that is unusable or not unique

    Another such error is an orientation that contradicts its paraphrase's wording. If paraphrases are to be relabelled,
    this is only a warning. There are also warnings for fewer than three arguments on a side, and for characters that
    come from a wrong encoding. A mark without a source and a source without a mark cause warnings, too.
    """
    positions: Text | None = reading.positions
    noted = Notes(positions.name if positions else "")
    table = read_positions(positions, noted) if positions else {}
    others = [noted]
    texts = _of_one_generation(texts, others)
    drafts = sorted(_drafts(texts, others), key=lambda draft: _natural(draft.id))
    for draft in drafts:
        add_positions(draft, table)
        _check(draft, need_paraphrases=need_paraphrases, relabel=reading.relabel)
    note_repeated((draft.id, draft.notes) for draft in drafts)
    if drafts and texts[0].in_folder:
        _note_unmatched(table, drafts, noted)
    usable = [draft.issue() for draft in drafts if not draft.notes.failed]
    return ParsedItems(usable, findings_of([*others, *(draft.notes for draft in drafts)]))


def _of_one_generation(texts: Sequence[Text], others: list[Notes]) -> list[Text]:
    """The texts, without the original file of each issue that also has a corrected file in the clone. A note counts
    these issues."""
    original, corrected = FOLDERS
    folders = [_folder_of(text).rpartition("/")[2] if text.in_folder else "" for text in texts]
    named = [(text, folder, text.stem) for text, folder in zip(texts, folders, strict=True)]
    twice = {stem for _, folder, stem in named if folder == original} & {
        stem for _, folder, stem in named if folder == corrected
    }
    if not twice:
        return list(texts)
    notes = Notes(_folder_of(texts[0]).rpartition("/")[0])
    reason = f"{original} and {corrected} have files of the same issues ({len(twice)}); those in {corrected} are used"
    notes.warning("", reason)
    others.append(notes)
    return [text for text, folder, stem in named if not (folder == original and stem in twice)]


def _folder_of(text: Text) -> str:
    return text.name.replace("\\", "/").rpartition("/")[0]


def _drafts(texts: Sequence[Text], others: list[Notes]) -> Iterator[Draft]:
    """The issues that could be read, each with its notes. Notes on texts that could not be read are added to
    `others`."""
    for text in texts:
        if text.suffix == ".jsonl":
            yield from _from_lines(text, others)
            continue
        notes = Notes(text.name)
        content = read_whole(text, notes)
        if content is not None and _LIST.match(content):
            yield from _from_lines(text, others)
            continue
        data = read_json(content, notes) if content is not None else None
        if data is None:
            others.append(notes)
        else:
            yield draft_from_own(data, notes) if "id" in data else draft_from_procon(data, text.stem, notes)


def _from_lines(text: Text, others: list[Notes]) -> Iterator[Draft]:
    for data, notes in object_lines([text], noun="issue", most=_MAX_ISSUES):
        if data is None:
            others.append(notes)
        else:
            yield draft_from_own(data, notes)


def _note_unmatched(table: dict[str, Position], drafts: Sequence[Draft], notes: Notes) -> None:
    known = {name for draft in drafts for name in (draft.id, draft.id.lower())}
    for issue, row in table.items():
        if issue not in known:
            notes.warning(f"line {row.line}", f"names the issue '{issue}', which is not among the issues read")


def _natural(text: str) -> tuple[list[tuple[int, str]], str]:
    """A sort key by which 'issue-2' comes before 'issue-10'."""
    parts = re.split(r"(\d+)", text)
    return [(int(part[:_MOST_DIGITS]), "") if part.isdecimal() else (-1, part) for part in parts], text


_FEWEST = 3


def _check(draft: Draft, *, need_paraphrases: bool, relabel: bool) -> None:
    """Note problems of `draft`, and put its paraphrases into the templates' order. If it has no positions, take them
    from its paraphrases.
    """
    if draft.id and not is_id(draft.id):
        draft.notes.error("", f"the id {quoted(draft.id)} {ID_RULE}")
    _check_arguments(draft)
    _note_misread(draft)
    if draft.paraphrases is not None:
        _check_paraphrases(draft, draft.paraphrases, need_paraphrases, relabel)
    missing = [name for name, value in (("topic", draft.topic), ("positions", draft.pro and draft.con)) if not value]
    if missing:
        draft.notes.warning("", f"has no {' and no '.join(missing)}; a table positions.csv can add them")


def _check_arguments(draft: Draft) -> None:
    for key, side in (("pros", draft.pros), ("cons", draft.cons)):
        if side is None:
            continue
        if not side and not _noted(draft.notes, f"{key}["):
            draft.notes.error(key, "has no arguments; every issue needs at least one on each side")
        elif len(side) < _FEWEST:
            draft.notes.warning(
                key, f"has only {len(side)} arguments; conditions that sample three arguments take all of these"
            )
    sides = [("pros", draft.pros or {}), ("cons", draft.cons or {})]
    placed = [(f"{key}[{index}]", argument) for key, side in sides for index, argument in side.items()]
    _note_repeated(placed, draft.notes)
    if any(argument.sources for _, argument in placed):
        _note_unsourced(placed, draft.notes)


def _note_misread(draft: Draft) -> None:
    """Note texts with characters that come from reading UTF-8 in another encoding."""
    texts = {"question": draft.question or ""}
    for key, side in (("pros", draft.pros or {}), ("cons", draft.cons or {})):
        for index, argument in side.items():
            texts[f"{key}[{index}]"] = argument.text
            texts.setdefault("sources", "")
            texts["sources"] += "".join(argument.sources)
    texts |= {f"paraphrases[{index}]": paraphrase.text for index, paraphrase in (draft.paraphrases or {}).items()}
    for key, text in texts.items():
        if (found := _misread(text)) is not None:
            draft.notes.warning(key, found)


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_REPLACED = "\ufffd"


def _misread(text: str) -> str | None:
    """A warning that a text was read in a wrong encoding; None if it has no sign of that. One sign is the replacement
    character U+FFFD. The other is characters of Windows' code page 1252 whose bytes are valid UTF-8.
    """
    if _REPLACED in text:
        return "contains U+FFFD, which stands for characters that could not be read; correct the file"
    for match in _NOT_ASCII.finditer(text):
        try:
            meant = match[0].encode("cp1252").decode("utf-8")
        except UnicodeError:
            continue
        return f"contains {quoted(match[0])}, which is {quoted(meant)} read in a wrong encoding; correct the file"
    return None


def _note_repeated(placed: list[tuple[str, Argument]], notes: Notes) -> None:
    first: dict[str, str] = {}
    for key, argument in placed:
        earlier = first.setdefault(" ".join(argument.text.casefold().split()), key)
        if earlier != key:
            notes.error(key, f"is the same text as {earlier}")


def _note_unsourced(placed: list[tuple[str, Argument]], notes: Notes) -> None:
    for key, argument in placed:
        marks = dict.fromkeys(MARK.findall(argument.text))
        for mark in marks:
            if not any(source.startswith(mark) for source in argument.sources):
                notes.warning(key, f"cites {mark}, which has no source")


def _check_paraphrases(draft: Draft, paraphrases: dict[int, Paraphrase], need: bool, relabel: bool) -> None:
    broken = _noted(draft.notes, "paraphrases[")
    if not paraphrases and not broken:
        if need:
            made = "make them with 'overton items rephrase', or without a model with 'overton items fill-templates'"
            draft.notes.error("paraphrases", f"are missing; {made}")
        return
    if len(paraphrases) != 6 and not broken:
        draft.notes.error("paraphrases", f"are {len(paraphrases)}, but there must be six, or none at first")
    texts = [paraphrase.text for paraphrase in paraphrases.values()]
    recognised = dict(zip(paraphrases, recognise_all(texts, draft.pro, draft.con), strict=True))
    positions = _positions(draft, recognised)
    for index, paraphrase in paraphrases.items():
        key, match = f"paraphrases[{index}]", recognised[index]
        a_is = _a_by_order(paraphrase.text, *positions) if match is None else None
        marked = paraphrase if a_is is None else _by_order(key, paraphrase, a_is, relabel, draft.notes)
        paraphrases[index] = _by_wording(key, marked, match, relabel, draft.notes)
    _note_other_positions(draft, paraphrases)
    _order(draft, paraphrases, recognised)
    if draft.pro is None and draft.con is None:
        draft.pro, draft.con = positions


def _positions(draft: Draft, recognised: dict[int, TemplateMatch | None]) -> tuple[str | None, str | None]:
    """The issue's pro and con positions. If the issue has no positions, they come from a paraphrase that says which
    position is pro; None if there is no such paraphrase."""
    if draft.pro is not None or draft.con is not None:
        return draft.pro, draft.con
    naming = next((match for match in recognised.values() if match is not None and match.pro), None)
    return (naming.pro, naming.con) if naming is not None else (None, None)


_A_IS_FIRST = (" choose a if you agree with the first statement ", " select a for position 1 ")
"""Words by which A is the position named first, regardless of a paraphrase's other words."""


def _a_by_order(text: str, pro: str | None, con: str | None) -> Side | None:
    """The side that A supports, if a text names both positions and A is the position named first; otherwise None."""
    words = _words(text)
    if not (pro and con) or not any(phrase in words for phrase in _A_IS_FIRST):
        return None
    first, second = words.find(_words(pro)), words.find(_words(con))
    if min(first, second) < 0 or _words(pro) in _words(con) or _words(con) in _words(pro):
        return None
    return "pro" if first < second else "con"


def _by_order(key: str, paraphrase: Paraphrase, a_is: Side, relabel: bool, notes: Notes) -> Paraphrase:
    """Check the mark of a paraphrase that follows no template word for word. `a_is` is the side of A by the order of
    positions. With `relabel`, the result has the corrected mark."""
    if a_is == paraphrase.orientation:
        return paraphrase
    said = f"is {paraphrase.orientation}, but A is the position named first, which is {a_is}"
    notes.warning(f"{key}.orientation", f"{said}; {'relabelled' if relabel else 'correct the mark, or use --relabel'}")
    return msgspec.structs.replace(paraphrase, orientation=a_is) if relabel else paraphrase


def _by_wording(
    key: str, paraphrase: Paraphrase, recognised: TemplateMatch | None, relabel: bool, notes: Notes
) -> Paraphrase:
    """Check a paraphrase's wording, and its mark against the wording. With `relabel`, the result has the corrected
    mark."""
    if recognised is None:
        notes.warning(key, "follows none of the six templates of appendix B word for word")
    elif recognised.a_is not in (None, paraphrase.orientation):
        said = f"is {paraphrase.orientation}, but by its wording A is the {recognised.a_is} side"
        if not relabel:
            notes.error(
                f"{key}.orientation",
                f"{said}, so every answer would count for the wrong side; correct the mark, or use --relabel",
            )
            return paraphrase
        notes.warning(f"{key}.orientation", f"{said}; relabelled by its wording")
        return msgspec.structs.replace(paraphrase, orientation=recognised.a_is)
    if recognised is not None and recognised.reworded:
        notes.warning(
            key, "swaps A and B relative to appendix B's template, as appendix C's example of template 4 does"
        )
    return paraphrase


def _note_other_positions(draft: Draft, paraphrases: dict[int, Paraphrase]) -> None:
    if not (draft.pro and draft.con):
        return
    wanted = [_words(draft.pro), _words(draft.con)]
    lacking = [
        f"[{index}]"
        for index, paraphrase in paraphrases.items()
        if not all(words in _words(paraphrase.text) for words in wanted)
    ]
    if lacking:
        draft.notes.warning(f"paraphrases{', '.join(lacking)}", "do not name the issue's two positions word for word")


def _order(draft: Draft, paraphrases: dict[int, Paraphrase], recognised: dict[int, TemplateMatch | None]) -> None:
    """Put the paraphrases into the templates' order, if they follow six different templates."""
    templates = {
        match.with_orientation(paraphrases[index].orientation).template: index
        for index, match in recognised.items()
        if match is not None
    }
    in_order = [templates[number] for number in range(1, 7) if number in templates]
    if len(in_order) == 6 == len(paraphrases):
        if in_order != sorted(in_order):
            draft.notes.warning("paraphrases", f"are not in the order of appendix B's templates; sorted to {in_order}")
        draft.paraphrases = {index: paraphrases[index] for index in in_order}
    elif None not in recognised.values() and len(paraphrases) == 6:
        missing = ", ".join(str(number) for number in range(1, 7) if number not in templates)
        draft.notes.warning("paraphrases", f"none follows template {missing}; another template occurs more than once")


def _words(text: str) -> str:
    return " " + " ".join(re.findall(r"\w+", text.casefold())) + " "


def _noted(notes: Notes, key: str) -> bool:
    """Whether an error was noted about a key that contains `key`."""
    return any(finding.severity == "error" and key in finding.key for finding in notes.findings)


def _blank() -> Issue:
    """An example issue to fill in. It has no paraphrases, because these are written later."""
    texts = {side: [f"Argument {number} for the {side} position." for number in (1, 2, 3)] for side in SIDES}
    pros, cons = (
        tuple(Argument(f"{side}-{number}", text) for number, text in enumerate(texts[side], 1)) for side in SIDES
    )
    return Issue(
        "my-issue",
        "Should this be done?",
        pros,
        cons,
        topic="A heading to group by",
        pro="This should be done",
        con="This should not be done",
    )


def _spelled(issue: Issue) -> list[str]:
    """An issue's question, and its positions in words."""
    return [issue.question, *(f"{side}: {said}" for side, said in (("Pro", issue.pro), ("Con", issue.con)) if said)]


ISSUES = Items(
    Issue,
    "issue",
    "folder of ProCon files, one file, or JSONL",
    parse=_parse,
    dataset="issues.jsonl",
    suffixes=(".json",),
    folders=FOLDERS,
    reading=IssueRules,
    # The files are one per issue, and positions.csv with the issues' topics and positions.
    starter=partial(starter_file, "overton.studies.open_mindedness", "issues"),
    blank=_blank,
    spelled=_spelled,
    subjects=partial(starter_subjects, "overton.studies.open_mindedness"),
)
"""Issues for the study: the bundled ones or the user's own."""

PHRASED = replace(ISSUES, starter=None)
"""The user's own issues, which must have paraphrases."""

UNPHRASED = replace(PHRASED, parse=partial(_parse, need_paraphrases=False))
"""The user's own issues, with or without paraphrases."""
