"""The labels that people saved, checked against the task and put together; none of their files is trusted.

Values in, values out: the caller knows where a file is and passes its place, which every message names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import isfinite

import msgspec

from overton.errors import InputError, Problem, quoted
from overton.judging.labelling import CANNOT_TELL, Labels, Said, Settled, Task, changed

__all__ = ["SETTLING", "check_labels", "check_task", "checked", "coders", "gathered", "open_places"]

SETTLING = 0
"""The page on which people settle what they differ on."""

_LONGEST_NAME = 200
_MOST_PROBLEMS = 20


def check_task(task: Task, place: str) -> None:
    """Refuse a task that differs from what was written, or that no draw can have made.

    Raises:
        InputError: it does; says how.
    """
    problems = [Problem(place, key, reason) for key, reason in _odd(task)]
    if problems:
        raise InputError(problems[:_MOST_PROBLEMS])


def _odd(task: Task) -> Iterator[tuple[str, str]]:
    if changed(task):
        yield (
            "name",
            "does not fit the rest, which was changed after it was written: restore the original, or draw again",
        )
        return
    if not task.labels or CANNOT_TELL in task.labels:
        yield "labels", f"must not be empty, and not include {CANNOT_TELL!r}"
    if len({row.id for row in task.rows}) < len(task.rows):
        yield "rows", "have an id twice"
    for place, row in enumerate(task.rows):
        if not 0 < row.chance <= 1:
            yield f"rows[{place}].chance", f"is {row.chance!r}; a chance is above 0 and at most 1"
        if row.judged not in task.labels:
            yield f"rows[{place}].judged", f"is {quoted(row.judged)}, which is none of the task's labels"
    for page, places in enumerate(task.people, 1):
        if len(set(places)) < len(places) or any(not 0 <= place < len(task.rows) for place in places):
            yield f"people[{page - 1}]", "asks for a row twice, or for one that does not exist"


def check_labels(labels: Labels, place: str) -> None:
    """Refuse stored labels that people cannot have given.

    Raises:
        InputError: every key that is wrong.
    """
    check_task(labels.task, place)
    problems = []
    for number, said in enumerate(labels.said):
        problems += [Problem(place, f"said[{number}].{key}", reason) for key, reason in _wrong(labels.task, said)]
        if said.page == SETTLING:
            problems.append(Problem(place, f"said[{number}].page", "is the page to settle, whose labels are `settled`"))
    labelled = {row for one in labels.said for row in one.labels}
    for number, one in enumerate(labels.settled):
        if one.place not in labelled or one.label not in (*labels.task.labels, CANNOT_TELL):
            problems.append(Problem(place, f"settled[{number}]", "is for a row that nobody labelled, or is no label"))
    if len({(one.page, one.person) for one in labels.said}) < len(labels.said):
        problems.append(Problem(place, "said", "has a person's page twice"))
    if len({one.place for one in labels.settled}) < len(labels.settled):
        problems.append(Problem(place, "settled", "has a row twice"))
    if problems:
        raise InputError(problems[:_MOST_PROBLEMS])


def checked(task: Task, said: Said, place: str) -> Said:
    """What one person said, if it belongs to this task and has nothing that its page did not ask for.

    Raises:
        InputError: every key that is wrong, and what to do.
    """
    problems = [Problem(place, key, reason) for key, reason in _wrong(task, said)]
    if problems:
        raise InputError(problems[:_MOST_PROBLEMS])
    return msgspec.structs.replace(said, person=said.person.strip())


def _wrong(task: Task, said: Said) -> Iterator[tuple[str, str]]:
    if said.task != task.name:
        yield "task", f"is {quoted(said.task)}, and the key that of {task.name}: name the key of these labels (--key)"
        return
    if not 0 < len(said.person.strip()) <= _LONGEST_NAME:
        yield "person", f"must be a name of at most {_LONGEST_NAME} characters: write it into the file"
    if not 0 <= said.page <= len(task.people):
        yield "page", f"is {said.page}; the task has pages 1 to {len(task.people)} (and {SETTLING}, to settle)"
        return
    places = range(len(task.rows)) if said.page == SETTLING else task.people[said.page - 1]
    asked = frozenset(places)
    for row, label in said.labels.items():
        if row not in asked:
            yield f"labels.{row}", f"page {said.page} did not ask for that row: take it out"
        elif label != CANNOT_TELL and label not in task.labels:
            yield f"labels.{row}", f"is {quoted(label)}; it must be one of {', '.join([*task.labels, CANNOT_TELL])}"
    for name, rows in (("remarks", said.remarks), ("seconds", said.seconds)):
        yield from ((f"{name}.{row}", "is for a row that was not asked for") for row in rows if row not in asked)
    yield from ((f"taken_back.{row}", "is for a row that was not asked for") for row in set(said.taken_back) - asked)
    yield from ((f"taken_back.{row}", "has a label, too") for row in said.taken_back if row in said.labels)
    if not (isfinite(said.saved) and said.saved >= 0):
        yield "saved", f"is {said.saved!r}; it must be 0 or more"
    for row, seconds in said.seconds.items():
        if not (isfinite(seconds) and seconds >= 0):
            yield f"seconds.{row}", f"is {seconds!r}; it must be 0 or more"


def gathered(task: Task, new: Sequence[tuple[str, Said]], before: Labels | None = None) -> Labels:
    """All labels of a task: those known `before`, and those of `new` files, each with its place, already `checked`.

    A person's labels of one page are merged: the file that was saved last prevails (if that is not known, the new
    file), what it leaves out stays as it was, and what it takes back is removed. The same goes for settled labels.

    Raises:
        InputError: two files say different things about one page by one person, and which is newer is not known; two
            settle a row differently; or a row is settled that nobody labelled.
    """
    pages: dict[tuple[int, str], tuple[str, Said]] = {}
    for place, said in new:
        known = pages.get((said.page, said.person))
        pages[said.page, said.person] = (place, said) if known is None else (place, _joined(known, place, said))
    kept = {(one.page, one.person): one for one in before.said} if before else {}
    for key, (_, said) in pages.items():
        if said.page != SETTLING:
            kept[key] = _over(kept[key], said) if key in kept else said
    people = tuple(kept[key] for key in sorted(kept))
    settled = {one.place: one for one in before.settled} if before else {}
    files = [one for one in pages.values() if one[1].page == SETTLING]
    labelled = {row for one in people for row in one.labels}
    back = {row for _, said in files for row in said.taken_back}
    settled = {row: one for row, one in settled.items() if row in labelled - back} | _settled(files, labelled)
    return Labels(task, people, tuple(settled[place] for place in sorted(settled)))


def _joined(known: tuple[str, Said], place: str, said: Said) -> Said:
    """Two files of one page by one person, of which one continues the other."""
    where, other = known
    unlike = [row for row, label in said.labels.items() if other.labels.get(row, label) != label]
    if unlike and not (said.saved and other.saved):
        what = f"row {unlike[0]} is {quoted(said.labels[unlike[0]])} here, {quoted(other.labels[unlike[0]])} in {where}"
        reason = f"{what}: both are page {said.page} by {quoted(said.person)}; name one of them"
        raise InputError([Problem(place, f"labels.{unlike[0]}", reason)])
    return _over(other, said)


def _over(before: Said, now: Said) -> Said:
    """What a person said before, and now on the same page; the other way round if the times say so."""
    if 0 < now.saved < before.saved:
        before, now = now, before
    labels = {row: label for row, label in before.labels.items() if row not in now.taken_back} | now.labels
    return msgspec.structs.replace(
        now,
        labels=dict(sorted(labels.items())),
        taken_back=tuple(sorted({*before.taken_back, *now.taken_back} - labels.keys())),
        remarks=dict(sorted((before.remarks | now.remarks).items())),
        seconds=dict(sorted((before.seconds | now.seconds).items())),
    )


def _settled(files: Iterable[tuple[str, Said]], labelled: Collection[int]) -> dict[int, Settled]:
    found: dict[int, Settled] = {}
    for place, said in files:
        for row, label in said.labels.items():
            if row not in labelled:
                raise InputError([Problem(place, f"labels.{row}", "settles a row that nobody labelled: take it out")])
            known = found.setdefault(row, Settled(row, label, said.person))
            if known.label != label:
                reason = f"settles as {quoted(label)} what {quoted(known.by)} settles as {quoted(known.label)}"
                raise InputError([Problem(place, f"labels.{row}", f"{reason}: name one of the files")])
    return found


def coders(labels: Labels) -> list[tuple[str, Mapping[int, str]]]:
    """What each person said, by row. Pages of one person are joined; if they say two things about a row, each is under
    the person's name with the page's number."""
    by_person: dict[str, list[Said]] = {}
    for one in labels.said:
        by_person.setdefault(one.person, []).append(one)
    return [coder for name, pages in by_person.items() for coder in _coders(name, pages)]


def _coders(name: str, pages: Sequence[Said]) -> list[tuple[str, Mapping[int, str]]]:
    given = [(row, label) for one in pages for row, label in one.labels.items()]
    whole = dict(given)
    if any(whole[row] != label for row, label in given):
        return [(f"{name} (page {one.page})", one.labels) for one in pages]
    return [(name, whole)]


def open_places(labels: Labels) -> list[int]:
    """The rows on which people differ without having settled it."""
    settled = {one.place for one in labels.settled}
    votes: dict[int, set[str]] = {}
    for one in labels.said:
        for place, label in one.labels.items():
            votes.setdefault(place, set()).add(label)
    return sorted(place for place, said in votes.items() if len(said) > 1 and place not in settled)
