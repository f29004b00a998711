"""The choices that shape a run over a table of texts, and how its numbers are computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from overton.errors import InputError, Problem
from overton.studies.measurement import How
from overton.studies.options import Option, StudyOptions, option_place
from overton.studies.self_agreement import RETEST, Retest
from overton.studies.texts.question_files import TableQuestion, faults_of, read_question


class TableOptions(StudyOptions, frozen=True, forbid_unknown_fields=True):
    """The question about each text, which follows from how the table is read, so that a run keeps it."""

    question: Annotated[TableQuestion, Option("The question to the judge", file=True, follows=True)]
    retest: Retest = RETEST

    def problems(self) -> Iterator[Problem]:
        """Faults of a question that a run folder names."""
        for key, reason in faults_of(self.question):
            yield Problem(option_place("question"), key, reason)

    @classmethod
    def complete(cls, given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The options given, with the question read.

        Raises:
            InputError: the question has faults, or there are several judges.
        """
        if len(named.get("judge", ())) > 1:
            reason = "one judge labels a table: name one, and ask others with overton judge again"
            raise InputError([Problem("role judge", ", ".join(named["judge"]), reason)])
        question = given.get("question")
        return given if question is None else {**given, "question": read_question(question)}


class TableHow(How, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the shares of labels are computed."""

    population: Annotated[
        Literal["like-these", "these"],
        Option("Texts that corrected shares of labels describe: texts like these, or exactly these"),
    ] = "like-these"

    @property
    def describes_these(self) -> bool:
        """Whether corrected shares describe exactly these texts."""
        return self.population == "these"
