"""Label Studio's files: export of tasks and labelling interface, and import of each person's labels from its JSON.

Label Studio's documentation describes the format (Label Studio task format; Choices, Text and TextArea tags). Tasks are
a list of objects with `data`, to which an export adds `annotations`, each with `result` and `completed_by`. This module
reads and writes no files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

import msgspec

from overton.errors import InputError, Problem, quoted
from overton.judging.label_tasks import CANNOT_TELL, AnnotatorLabels, LabelTask

_TASK, _ROW = "overton_task", "overton_row"
_LABEL, _REMARK = "label", "remark"


class _TaskData(msgspec.Struct, frozen=True):
    overton_task: str
    overton_row: int


class _ResultValue(msgspec.Struct, frozen=True):
    choices: list[str] = []
    text: str | list[str] = []


class _LabelStudioResult(msgspec.Struct, frozen=True):
    value: _ResultValue
    from_name: str = ""


class _Annotator(msgspec.Struct, frozen=True):
    id: int
    email: str = ""
    first_name: str = ""
    last_name: str = ""


class _Annotation(msgspec.Struct, frozen=True):
    result: list[_LabelStudioResult]
    completed_by: _Annotator | int | str | None = None
    was_cancelled: bool = False
    lead_time: float | None = None


class LabelStudioExport(msgspec.Struct, frozen=True):
    """One task of an export with its human labels. A task that was never opened has no `annotations`."""

    data: _TaskData
    annotations: list[_Annotation] = []


def tasks(task: LabelTask, texts: Sequence[Mapping[str, str]]) -> str:
    """The rows of a task as JSON for Label Studio: each row's texts and identifier. The judge's labels are left out.
    `texts` has the texts of each row, by heading. Every row gets all headings that occur in any row.

    Raises:
        ValueError: the numbers of texts and rows differ.
    """
    heads = _headings(texts)
    if len(texts) != len(task.rows):
        raise ValueError("texts of each row are needed")
    made = [
        {"data": {_TASK: task.name, _ROW: place, **{key: shown.get(head, "") for key, head in heads.items()}}}
        for place, shown in enumerate(texts)
    ]
    return msgspec.json.format(msgspec.json.encode(made), indent=1).decode()


def interface(task: LabelTask, texts: Sequence[Mapping[str, str]]) -> str:
    """The labelling interface (XML) for these tasks: all texts, one choice of the task's labels, a remark."""
    heads = _headings(texts)
    first = next(iter(heads), "text_1")
    lines = ["<View>", f"  <Header value={_quote_attribute(task.question)}/>"]
    for key, head in heads.items():
        lines += [f'  <Header size="5" value={_quote_attribute(head)}/>', f'  <Text name="{key}" value="${key}"/>']
    lines.append(f'  <Choices name="{_LABEL}" toName="{first}" choice="single" required="true">')
    labels = {**task.labels, CANNOT_TELL: "none of these can be said"}
    lines += [
        f"    <Choice value={quoteattr(name)} hint={_quote_attribute(meaning)}/>" for name, meaning in labels.items()
    ]
    lines += ["  </Choices>", f'  <TextArea name="{_REMARK}" toName="{first}" placeholder="Remark"/>', "</View>", ""]
    return "\n".join(lines)


def _headings(texts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The headings, by the name of the text's field in a task ('text_1')."""
    known = dict.fromkeys(head for shown in texts for head in shown)
    return {f"text_{number}": head for number, head in enumerate(known, 1)}


def _quote_attribute(text: str) -> str:
    """A text as an attribute's value. In Label Studio '$' starts the name of a task's field, but not before a space."""
    return quoteattr(" ".join(text.split()).replace("$", "$ "), {"\n": " "})


def said_by(task: LabelTask, export: Sequence[LabelStudioExport], place: str) -> list[AnnotatorLabels]:
    """Each person's labels, by label page. An export does not say on which page a row was labelled, so a row counts for
    the first page that contains it. Skipped rows do not count.

    Raises:
        InputError: the export has rows of another task, two labels of one row by one person, or a row without exactly
            one choice.
    """
    problems: list[Problem] = []
    found: dict[tuple[str, int], dict[int, tuple[str, str, float]]] = {}
    pages = {row: page for page in range(len(task.people), 0, -1) for row in task.people[page - 1]}
    for where, row, who, annotation in _read_annotations(task, export, place, problems):
        if row not in pages:
            problems.append(Problem(place, where, f"row {row} is on no page of this task"))
            continue
        said = (_single_choice(annotation), _join_remarks(annotation), annotation.lead_time or 0.0)
        known = found.setdefault((who, pages[row]), {}).setdefault(row, said)
        if known[0] != said[0]:
            reason = f"{quoted(who)} labelled row {row} twice, as {quoted(known[0])} and {quoted(said[0])}; delete one"
            problems.append(Problem(place, where, reason))
    if problems:
        raise InputError(problems[:20])
    return [_annotator_labels(task, page, who, rows) for (who, page), rows in sorted(found.items())]


def _read_annotations(
    task: LabelTask, export: Sequence[LabelStudioExport], place: str, problems: list[Problem]
) -> Iterator[tuple[str, int, str, _Annotation]]:
    """For each annotation with a label: its location, its row, the annotator's name, and the annotation."""
    for number, exported in enumerate(export):
        if exported.data.overton_task != task.name:
            reason = f"is {quoted(exported.data.overton_task)}, but the key is for {task.name}; name its key (--key)"
            problems.append(Problem(place, f"[{number}].data.{_TASK}", reason))
            continue
        for count, annotation in enumerate(exported.annotations):
            where = f"[{number}].annotations[{count}]"
            if annotation.was_cancelled:
                continue
            if _single_choice(annotation):
                yield where, exported.data.overton_row, _annotator_name(annotation.completed_by), annotation
            else:
                problems.append(Problem(place, where, "has no single choice: label it again, or skip it"))


def _single_choice(annotation: _Annotation) -> str:
    chosen = [choice for result in annotation.result if result.from_name == _LABEL for choice in result.value.choices]
    return chosen[0] if len(chosen) == 1 else ""


def _join_remarks(annotation: _Annotation) -> str:
    texts = [result.value.text for result in annotation.result if result.from_name == _REMARK]
    return "\n".join(line for text in texts for line in ([text] if isinstance(text, str) else text))


def _annotator_name(who: _Annotator | int | str | None) -> str:
    """The annotator's name, e-mail address or number in Label Studio."""
    if isinstance(who, _Annotator):
        return " ".join(filter(None, (who.first_name, who.last_name))) or who.email or f"user {who.id}"
    return f"user {who}" if isinstance(who, int) else who or "user"


def _annotator_labels(
    task: LabelTask, page: int, who: str, rows: Mapping[int, tuple[str, str, float]]
) -> AnnotatorLabels:
    parts: dict[str, Any] = {
        "labels": {row: label for row, (label, _, _) in sorted(rows.items())},
        "remarks": {row: remark for row, (_, remark, _) in sorted(rows.items()) if remark},
        "seconds": {row: seconds for row, (_, _, seconds) in sorted(rows.items()) if seconds},
    }
    return AnnotatorLabels(task.name, page, who, **parts)
