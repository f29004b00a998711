"""Tasks for annotators: the question, the units for each annotator, and their labels, checked and merged.

`LabelTask` is a task for a sample of units. Its file is not for annotators, because it contains the judge's labels.
`AnnotatorLabels` is the file that one person's page saves, and `SavedLabels` has a stored task with all its labels.

This module reads and writes no files. The caller passes each file's location, which every message names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import ceil, isfinite
from typing import Literal

import msgspec

from overton.calls import Draw
from overton.errors import InputError, Problem, quoted

USUAL_QUESTION = "Which label fits?"
"""The question to annotators if a study does not define one."""

CANNOT_TELL = "cannot tell"
"""The label of a unit for which a person cannot choose another. Results count such units, and bound their effect in
both directions."""

LabelDesign = Literal["plain", "stratified", "whole"]
"""The sampling of units: 'plain' (all equally likely), 'stratified' (each of the judge's labels as equally often as
possible) or 'whole' (whole groups)."""


class LabelRequest(msgspec.Struct, frozen=True):
    """A request for one label.

    `id` is the study's name of the unit, `judged` the judge's label, and `group` the unit's group (a conversation, a
    thread of one model). `chance` is the probability with which the unit was sampled, in (0, 1].
    """

    id: str
    judged: str
    group: str
    chance: float


class LabelTask(msgspec.Struct, frozen=True):
    """A task for annotators, including the parts that they do not see.

    `name` is computed from all other fields. `what` is the kind of label, and `labels` the allowed labels with their
    definitions. `population` counts the units that the judge labelled, by label; `groups` is the number of groups.
    `rows` are the rows of all annotators. `people` has, for each page, the indices of its rows in the page's order.
    """

    name: str
    study: str
    what: str
    judge: str
    question: str
    labels: dict[str, str]
    seed: int
    design: LabelDesign
    population: dict[str, int]
    groups: int
    rows: tuple[LabelRequest, ...]
    people: tuple[tuple[int, ...], ...]


class AdjudicatedLabel(msgspec.Struct, frozen=True):
    """The label on which people agreed after they had differed on a row. `place` is the row's index, and `by` the
    person who reports the label."""

    place: int
    label: str
    by: str


class AnnotatorLabels(msgspec.Struct, frozen=True):
    """One person's labels: by the row's index, a label or `CANNOT_TELL`.

    `task` is the task's name and `page` the number of its page, from 1 (0: the page for adjudication). `seconds` is the
    time for which each row was displayed. `taken_back` are rows whose label was removed. `saved` is the time of saving,
    in seconds since 1970, 0 if unknown.
    """

    task: str
    page: int
    person: str
    labels: dict[int, str]
    remarks: dict[int, str] = {}
    seconds: dict[int, float] = {}
    taken_back: tuple[int, ...] = ()
    saved: float = 0.0


class SavedLabels(msgspec.Struct, frozen=True):
    """All stored data of one task: the task, each person's labels, and adjudicated labels."""

    task: LabelTask
    said: tuple[AnnotatorLabels, ...]
    settled: tuple[AdjudicatedLabel, ...] = ()

    def shares(self) -> dict[int, Mapping[str, float]]:
        """The weight of each human label of each labelled row, by the row's index. An adjudicated label has weight 1.
        Before adjudication, all persons' labels of a row have equal weights that sum to 1. `CANNOT_TELL` counts as a
        label."""
        votes: dict[int, list[str]] = {}
        for annotator in self.said:
            for place, label in annotator.labels.items():
                votes.setdefault(place, []).append(label)
        votes |= {adjudicated.place: [adjudicated.label] for adjudicated in self.settled}
        return {
            place: {label: some.count(label) / len(some) for label in some} for place, some in sorted(votes.items())
        }


def task_of(task: LabelTask) -> LabelTask:
    """The task, with the name that is computed from all other fields."""
    bare = msgspec.structs.replace(task, name="")
    digest = sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()[:12]
    return msgspec.structs.replace(task, name=f"t{digest}")


def has_changed(task: LabelTask) -> bool:
    """Whether a task was changed by accident after it was written."""
    return task_of(task).name != task.name


def draw(labels: Sequence[str | None], *, size: int = 500, seed: int = 0, stratified: bool = False) -> list[int]:
    """Sample `size` labelled units, and return their indices in random order. Sample all units if there are fewer than
    `size`.

    Units without a label (None) are never sampled. By default, all other units are equally likely. With `stratified`,
    labels are as equally frequent as possible, so that rare labels are checked as thoroughly as common labels.

    Raises:
        InputError: `size` is less than one, or no unit has a label.
    """
    if size < 1:
        raise InputError([Problem("--size", str(size), "must be 1 or more")])
    places: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        if label is not None:
            places.setdefault(label, []).append(place)
    if not places:
        raise InputError([Problem("sheet", "", "there is no labelled unit to sample")])
    if not stratified:
        return Draw(f"{seed}/sheet").sample(sorted(place for some in places.values() for place in some), size)
    shares = _count_by_label({label: len(some) for label, some in places.items()}, size)
    chosen = [
        place
        for label in sorted(places)
        for place in Draw(f"{seed}/sheet/{label}").sample(places[label], shares[label])
    ]
    return Draw(f"{seed}/sheet").shuffle(chosen)


def _count_by_label(available: Mapping[str, int], size: int) -> dict[str, int]:
    """The number of units to sample of each label, as equal as the available numbers allow."""
    shares: dict[str, int] = {}
    left = size
    for done, label in enumerate(sorted(available, key=lambda name: (available[name], name))):
        shares[label] = min(available[label], left // (len(available) - done))
        left -= shares[label]
    return shares


def choose_units(
    given: Sequence[str | None], groups: Sequence[str], *, size: int = 100, seed: int = 0, design: LabelDesign = "plain"
) -> list[tuple[int, float]]:
    """The indices of about `size` labelled units, each with the probability with which it was sampled, in (0, 1].

    `given` are the judge's labels. Units without a label (None) are never sampled. `groups` has the group of each unit.
    The designs 'plain' and 'stratified' sample as `draw` does, in random order. The design 'whole' samples whole
    groups, all equally likely. It takes every labelled row of a group, in the order of `given`. The number of groups is
    fixed in advance, such that the sampled groups have `size` rows on average.

    Raises:
        InputError: `size` is less than one, or no unit has a label.
    """
    if design == "whole":
        return _choose_whole_groups(given, groups, size, seed)
    places = draw(given, size=size, seed=seed, stratified=design == "stratified")
    if design == "plain":
        labelled = sum(label is not None for label in given)
        return [(place, len(places) / labelled) for place in places]
    available, taken = Counter(given), Counter(given[place] for place in places)
    return [(place, taken[given[place]] / available[given[place]]) for place in places]


def _choose_whole_groups(
    given: Sequence[str | None], groups: Sequence[str], size: int, seed: int
) -> list[tuple[int, float]]:
    draw(given, size=size, seed=seed)  # called only for its errors
    rows: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        if given[place] is not None:
            rows.setdefault(group, []).append(place)
    labelled = sum(map(len, rows.values()))
    count = min(len(rows), ceil(size * len(rows) / labelled))
    taken = Draw(f"{seed}/groups").sample(sorted(rows), count)
    return [(place, count / len(rows)) for group in taken for place in rows[group]]


def deal_units(
    groups: Sequence[str], *, people: int = 2, shared: int = 30, seed: int = 0, whole: bool = False
) -> tuple[tuple[int, ...], ...]:
    """Assign rows to people. The result has the indices of each person's rows, in a different random order for each
    person.

    `groups` has the group of each sampled row. The first `shared` rows go to everybody. Each further row goes to one
    person, and everybody gets about equally many. With `whole`, groups are kept together. The first groups go to
    everybody, until everybody has at least `shared` rows. Each further group goes to the person with the fewest rows so
    far. The rows of a group keep their order.

    Raises:
        InputError: there are no people, or `shared` is negative.
    """
    problems = [Problem("--people", str(people), "must be 1 or more")] if people < 1 else []
    problems += [Problem("--shared", str(shared), "must be 0 or more")] if shared < 0 else []
    if problems:
        raise InputError(problems)
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group if whole else str(place), []).append(place)
    everybody, others = _split_shared(members, shared)
    hands = [list(everybody) for _ in range(people)]
    rows = [0] * people
    for name in others:
        least = rows.index(min(rows))
        hands[least].append(name)
        rows[least] += len(members[name])
    ordered = (Draw(f"{seed}/page/{number}").shuffle(hand) for number, hand in enumerate(hands, 1))
    return tuple(tuple(place for name in hand for place in members[name]) for hand in ordered)


def _split_shared(members: Mapping[str, Sequence[int]], shared: int) -> tuple[list[str], list[str]]:
    """The names of the groups that everybody gets (the first groups, with at least `shared` rows), and of the other
    groups."""
    names, rows = list(members), 0
    for number, name in enumerate(names):
        if rows >= shared:
            return names[:number], names[number:]
        rows += len(members[name])
    return names, []


SETTLING = 0
"""The page on which people adjudicate rows on which they differ."""

_LONGEST_NAME = 200
_MOST_PROBLEMS = 20


def check_task(task: LabelTask, place: str) -> None:
    """Raise an error for a task that was changed after it was written, or that sampling cannot have produced.

    Raises:
        InputError: the task is wrong. The message names each wrong field.
    """
    problems = [Problem(place, key, reason) for key, reason in _task_faults(task)]
    if problems:
        raise InputError(problems[:_MOST_PROBLEMS])


def _task_faults(task: LabelTask) -> Iterator[tuple[str, str]]:
    if has_changed(task):
        yield (
            "name",
            "does not match the rest, which was changed after it was written; restore the original, or sample again",
        )
        return
    if not task.labels or CANNOT_TELL in task.labels:
        yield "labels", f"must not be empty, and not include {CANNOT_TELL!r}"
    if len({row.id for row in task.rows}) < len(task.rows):
        yield "rows", "contain an id twice"
    for place, row in enumerate(task.rows):
        if not 0 < row.chance <= 1:
            yield f"rows[{place}].chance", f"is {row.chance!r}; a chance is above 0 and at most 1"
        if row.judged not in task.labels:
            yield f"rows[{place}].judged", f"is {quoted(row.judged)}, which is not one of the task's labels"
    for page, places in enumerate(task.people, 1):
        if len(set(places)) < len(places) or any(not 0 <= place < len(task.rows) for place in places):
            yield f"people[{page - 1}]", "has a row twice, or a row that does not exist"


def check_labels(labels: SavedLabels, place: str) -> None:
    """Raise an error for stored labels that people cannot have given.

    Raises:
        InputError: the labels are wrong. The message names each wrong key.
    """
    check_task(labels.task, place)
    problems = []
    for number, said in enumerate(labels.said):
        problems += [
            Problem(place, f"said[{number}].{key}", reason) for key, reason in _label_faults(labels.task, said)
        ]
        if said.page == SETTLING:
            problems.append(
                Problem(place, f"said[{number}].page", "is the page for adjudication; its labels belong in `settled`")
            )
    labelled = {row for annotator in labels.said for row in annotator.labels}
    for number, adjudicated in enumerate(labels.settled):
        if adjudicated.place not in labelled or adjudicated.label not in (*labels.task.labels, CANNOT_TELL):
            problems.append(Problem(place, f"settled[{number}]", "is for an unlabelled row, or is not a label"))
    if len({(annotator.page, annotator.person) for annotator in labels.said}) < len(labels.said):
        problems.append(Problem(place, "said", "has a person's page twice"))
    if len({adjudicated.place for adjudicated in labels.settled}) < len(labels.settled):
        problems.append(Problem(place, "settled", "has a row twice"))
    if problems:
        raise InputError(problems[:_MOST_PROBLEMS])


def check_page(task: LabelTask, said: AnnotatorLabels, place: str) -> AnnotatorLabels:
    """Return one person's labels if they belong to this task and contain only rows of their page.

    Raises:
        InputError: the labels have wrong keys. The message names each wrong key and the remedy.
    """
    problems = [Problem(place, key, reason) for key, reason in _label_faults(task, said)]
    if problems:
        raise InputError(problems[:_MOST_PROBLEMS])
    return msgspec.structs.replace(said, person=said.person.strip())


def _label_faults(task: LabelTask, said: AnnotatorLabels) -> Iterator[tuple[str, str]]:
    if said.task != task.name:
        yield "task", f"is {quoted(said.task)}, but the key is for {task.name}; name the key of these labels (--key)"
        return
    if not 0 < len(said.person.strip()) <= _LONGEST_NAME:
        yield "person", f"must be a name of at most {_LONGEST_NAME} characters: write it into the file"
    if not 0 <= said.page <= len(task.people):
        yield "page", f"is {said.page}; the task has pages 1 to {len(task.people)} (and {SETTLING}, for adjudication)"
        return
    places = range(len(task.rows)) if said.page == SETTLING else task.people[said.page - 1]
    asked = frozenset(places)
    for row, label in said.labels.items():
        if row not in asked:
            yield f"labels.{row}", f"page {said.page} does not have that row; remove it from the file"
        elif label != CANNOT_TELL and label not in task.labels:
            yield f"labels.{row}", f"is {quoted(label)}; it must be one of {', '.join([*task.labels, CANNOT_TELL])}"
    for name, rows in (("remarks", said.remarks), ("seconds", said.seconds)):
        yield from ((f"{name}.{row}", "is for a row that this page does not have") for row in rows if row not in asked)
    yield from (
        (f"taken_back.{row}", "is for a row that this page does not have") for row in set(said.taken_back) - asked
    )
    yield from ((f"taken_back.{row}", "has a label, too") for row in said.taken_back if row in said.labels)
    if not (isfinite(said.saved) and said.saved >= 0):
        yield "saved", f"is {said.saved!r}; it must be 0 or more"
    for row, seconds in said.seconds.items():
        if not (isfinite(seconds) and seconds >= 0):
            yield f"seconds.{row}", f"is {seconds!r}; it must be 0 or more"


def gather_labels(
    task: LabelTask, new: Sequence[tuple[str, AnnotatorLabels]], before: SavedLabels | None = None
) -> SavedLabels:
    """Merge all labels of a task: the stored labels (`before`), and the labels of new files (`new`). Each new file
    comes with its location, and its labels are already checked.

    A person's labels of one page are merged. The file that was saved last takes precedence (or the new file if a time
    is unknown). Labels that the preferred file leaves out stay, and labels that it takes back are removed. Adjudicated
    labels are merged in the same way.

    Raises:
        InputError: two files differ about one page by one person and it is unknown which is newer, two files adjudicate
            a row differently, or a file adjudicates an unlabelled row.
    """
    pages: dict[tuple[int, str], tuple[str, AnnotatorLabels]] = {}
    for place, said in new:
        known = pages.get((said.page, said.person))
        pages[said.page, said.person] = (place, said) if known is None else (place, _merge_files(known, place, said))
    kept = {(annotator.page, annotator.person): annotator for annotator in before.said} if before else {}
    for key, (_, said) in pages.items():
        if said.page != SETTLING:
            kept[key] = _merge_labels(kept[key], said) if key in kept else said
    people = tuple(kept[key] for key in sorted(kept))
    settled = {adjudicated.place: adjudicated for adjudicated in before.settled} if before else {}
    files = [page for page in pages.values() if page[1].page == SETTLING]
    labelled = {row for person in people for row in person.labels}
    back = {row for _, said in files for row in said.taken_back}
    settled = {row: adjudicated for row, adjudicated in settled.items() if row in labelled - back} | _gather_settled(
        files, labelled
    )
    return SavedLabels(task, people, tuple(settled[place] for place in sorted(settled)))


def _merge_files(known: tuple[str, AnnotatorLabels], place: str, said: AnnotatorLabels) -> AnnotatorLabels:
    """Merge two files of one page by one person."""
    where, other = known
    unlike = [row for row, label in said.labels.items() if other.labels.get(row, label) != label]
    if unlike and not (said.saved and other.saved):
        what = f"row {unlike[0]} is {quoted(said.labels[unlike[0]])} here, {quoted(other.labels[unlike[0]])} in {where}"
        reason = f"{what}, and both files are page {said.page} by {quoted(said.person)}; name only one of these files"
        raise InputError([Problem(place, f"labels.{unlike[0]}", reason)])
    return _merge_labels(other, said)


def _merge_labels(before: AnnotatorLabels, now: AnnotatorLabels) -> AnnotatorLabels:
    """Merge two sets of a person's labels of a page. `now` takes precedence, unless `before` was saved later."""
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


def _gather_settled(
    files: Iterable[tuple[str, AnnotatorLabels]], labelled: Collection[int]
) -> dict[int, AdjudicatedLabel]:
    found: dict[int, AdjudicatedLabel] = {}
    for place, said in files:
        for row, label in said.labels.items():
            if row not in labelled:
                raise InputError(
                    [Problem(place, f"labels.{row}", ("adjudicates a row without labels; remove it from the file"))]
                )
            known = found.setdefault(row, AdjudicatedLabel(row, label, said.person))
            if known.label != label:
                reason = f"adjudicates a row as {quoted(label)}, but {quoted(known.by)} adjudicates it as"
                reason += f" {quoted(known.label)}"
                raise InputError([Problem(place, f"labels.{row}", f"{reason}: name one of the files")])
    return found


def coders_of(labels: SavedLabels) -> list[tuple[str, Mapping[int, str]]]:
    """Each person's labels, by row. Pages of one person are joined. If a person gave a row two different labels, both
    appear under the person's name with the page's number."""
    by_person: dict[str, list[AnnotatorLabels]] = {}
    for annotator in labels.said:
        by_person.setdefault(annotator.person, []).append(annotator)
    return [coder for name, pages in by_person.items() for coder in _coders_of_person(name, pages)]


def _coders_of_person(name: str, pages: Sequence[AnnotatorLabels]) -> list[tuple[str, Mapping[int, str]]]:
    given = [(row, label) for page in pages for row, label in page.labels.items()]
    whole = dict(given)
    if any(whole[row] != label for row, label in given):
        return [(f"{name} (page {page.page})", page.labels) for page in pages]
    return [(name, whole)]


def open_places(labels: SavedLabels) -> list[int]:
    """The rows on which people differ and which are not yet adjudicated."""
    settled = {adjudicated.place for adjudicated in labels.settled}
    votes: dict[int, set[str]] = {}
    for annotator in labels.said:
        for place, label in annotator.labels.items():
            votes.setdefault(place, set()).add(label)
    return sorted(place for place, said in votes.items() if len(said) > 1 and place not in settled)
