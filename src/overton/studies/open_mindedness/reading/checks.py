"""What an issue must be to be asked about, whatever layout it came in."""

from __future__ import annotations

import re

from overton.errors import quoted
from overton.studies.noting import ID_RULE, Notes, is_id
from overton.studies.open_mindedness.items import Argument, Paraphrase
from overton.studies.open_mindedness.reading.draft import Draft
from overton.studies.open_mindedness.reading.procon import MARK
from overton.studies.open_mindedness.templates import Recognised, recognise_all

__all__ = ["check"]

_FEWEST = 3


def check(draft: Draft, *, need_paraphrases: bool) -> None:
    """Note what is wrong with `draft`; put its paraphrases into the templates' order, and where nothing gives its
    positions, take them from the paraphrases.
    """
    if draft.id and not is_id(draft.id):
        draft.notes.error("", f"the id {quoted(draft.id)} {ID_RULE}")
    _check_arguments(draft)
    if draft.paraphrases is not None:
        _check_paraphrases(draft, draft.paraphrases, need_paraphrases)
    missing = [name for name, value in (("topic", draft.topic), ("positions", draft.pro and draft.con)) if not value]
    if missing:
        draft.notes.warning("", f"has no {' and no '.join(missing)}; a table positions.csv can add them")


def _check_arguments(draft: Draft) -> None:
    for key, side in (("pros", draft.pros), ("cons", draft.cons)):
        if side is None:
            continue
        if not side and not _noted(draft.notes, f"{key}["):
            draft.notes.error(key, "holds no arguments; every issue needs one on each side at least")
        elif len(side) < _FEWEST:
            draft.notes.warning(key, f"holds {len(side)}: conditions that sample three take all there are")
    sides = [("pros", draft.pros or {}), ("cons", draft.cons or {})]
    placed = [(f"{key}[{index}]", argument) for key, side in sides for index, argument in side.items()]
    _note_repeated(placed, draft.notes)
    if any(argument.sources for _, argument in placed):
        _note_unsourced(placed, draft.notes)


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


def _check_paraphrases(draft: Draft, paraphrases: dict[int, Paraphrase], need: bool) -> None:
    broken = _noted(draft.notes, "paraphrases[")
    if not paraphrases and not broken:
        if need:
            draft.notes.error("paraphrases", "are missing; make them with 'overton items rephrase'")
        return
    if len(paraphrases) != 6 and not broken:
        draft.notes.error("paraphrases", f"are {len(paraphrases)}; there must be six, or none yet")
    texts = [paraphrase.text for paraphrase in paraphrases.values()]
    recognised = dict(zip(paraphrases, recognise_all(texts, draft.pro, draft.con), strict=True))
    for index, paraphrase in paraphrases.items():
        _note_wording(f"paraphrases[{index}]", paraphrase, recognised[index], draft.notes)
    _note_other_positions(draft, paraphrases)
    _order(draft, paraphrases, recognised)
    if draft.pro is None and draft.con is None:
        naming = next((one for one in recognised.values() if one is not None and one.pro), None)
        draft.pro, draft.con = (naming.pro, naming.con) if naming is not None else (None, None)


def _note_wording(key: str, paraphrase: Paraphrase, recognised: Recognised | None, notes: Notes) -> None:
    if recognised is None:
        notes.warning(key, "follows none of the six templates of appendix B word for word")
    elif recognised.a_is not in (None, paraphrase.orientation):
        notes.warning(
            f"{key}.orientation",
            f"is {paraphrase.orientation}, but by the wording A is the {recognised.a_is} side; the mark is kept as it "
            "is (appendix C's example marks template 4 con, while its wording in appendix B makes A the pro side)",
        )
    elif recognised.reworded:
        notes.warning(
            key, "exchanges A and B against appendix B's template, as appendix C's example of template 4 does"
        )


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


def _order(draft: Draft, paraphrases: dict[int, Paraphrase], recognised: dict[int, Recognised | None]) -> None:
    """Put the paraphrases into the templates' order, where each follows a template of its own."""
    templates = {
        one.with_orientation(paraphrases[index].orientation).template: index
        for index, one in recognised.items()
        if one is not None
    }
    in_order = [templates[number] for number in range(1, 7) if number in templates]
    if len(in_order) == 6 == len(paraphrases):
        if in_order != sorted(in_order):
            draft.notes.warning(
                "paraphrases", f"do not stand in the order of appendix B's templates; read as {in_order}"
            )
        draft.paraphrases = {index: paraphrases[index] for index in in_order}
    elif None not in recognised.values() and len(paraphrases) == 6:
        missing = ", ".join(str(number) for number in range(1, 7) if number not in templates)
        draft.notes.warning("paraphrases", f"none follows template {missing}; the others stand for more than one")


def _words(text: str) -> str:
    return " " + " ".join(re.findall(r"\w+", text.casefold())) + " "


def _noted(notes: Notes, key: str) -> bool:
    """Whether an error was noted about a key that begins like this."""
    return any(finding.severity == "error" and key in finding.key for finding in notes.findings)
