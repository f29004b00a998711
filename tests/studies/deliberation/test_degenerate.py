"""Agents that do not take part have no rate, inertia or conformity, and the report's first words say so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

import msgspec
import polars as pl
import pytest

from overton.calls import Message, Reply, Request, Settings
from overton.studies.deliberation import STUDY
from overton.studies.deliberation.items import VERDICTS, Dilemma
from overton.studies.deliberation.layouts import sections
from overton.studies.deliberation.measures import analyze
from overton.studies.deliberation.options import DeliberationHow, Options
from overton.studies.deliberation.protocol import conduct, trials
from overton.studies.frame import Analysis
from overton.studies.results import Results
from overton.studies.sections import Callout, Section, Table, summary
from overton.studies.simulated import KINDS, Degenerate, Kind, NoParameters

from .conftest import stated

Says = Callable[[Sequence[Message], int], Reply]


def of_kind(kind: Kind) -> Says:
    answerer = Degenerate(parameters=NoParameters(kind))
    return lambda said, number: answerer.reply(Request(tuple(said), Settings(max_tokens=60), seed=number))


def always(verdict: str) -> Says:
    return lambda said, number: Reply(stated(verdict, f"This is reason {number} of many that I could give here."))


def by_dilemma(said: Sequence[Message], number: int) -> Reply:
    """A verdict that follows the dilemma."""
    place = int(said[1].content.partition("number ")[2].partition(" ")[0])
    return Reply(stated(VERDICTS[place % 5], f"Reason {number}, which nobody has given in these words before."))


def records(agents: Mapping[str, Says], dilemmas: int = 12, rounds: int = 3) -> pl.DataFrame:
    """Records of synchronous deliberations between these agents."""
    items = [
        Dilemma(f"d{k:02}", f"Was I wrong in number {k} of them?", f"I did thing {k} and somebody was cross about it.")
        for k in range(dilemmas)
    ]
    names, counted = list(agents), iter(range(10**6))

    async def ask(role: str, messages: Sequence[Message], *, speaker: str, **other: object) -> Reply:
        return agents[names[int(speaker.rpartition("/")[2]) - 1]](messages, next(counted))

    async def conducted() -> list[dict[str, object]]:
        rows = []
        for trial in trials(items, Options(agents=tuple(names), rounds=rounds), 1):
            rows += [msgspec.structs.asdict(one) for one in await conduct(trial, ask)]  # type: ignore[arg-type]
        return rows

    return pl.DataFrame(asyncio.run(conducted()), infer_schema_length=None)


def shown(table: pl.DataFrame, analysis: Analysis) -> Sequence[Section]:
    assert STUDY.measuring is not None
    return STUDY.measuring.shown(Results(table), analysis, DeliberationHow()).sections


def said(table: pl.DataFrame, analysis: Analysis) -> list[str]:
    sections = summary(shown(table, analysis))
    return [one.text for section in sections for one in section.exhibits if isinstance(one, Callout)]


@pytest.mark.parametrize("kind", KINDS)
def test_who_gives_no_readable_verdict_has_no_rate_inertia_or_conformity(kind: Kind) -> None:
    table = records({"broken": of_kind(kind), "whole": by_dilemma})
    analysis = analyze(table)

    assert isnan(analysis.estimate("changed", model="broken").value)
    assert analysis.estimate("changed", model="whole").value == 0
    assert isnan(analysis.estimate("consensus").value)
    assert all(row.estimate is None for row in analysis.rows_of("inertia", "goal", model="broken"))
    (previous,) = analysis.rows_of("conformity_previous", "goal", variant="plain")
    assert previous.estimate is None
    assert said(table, analysis)[0].startswith("broken: none of its 36 verdicts could be read.")


@pytest.mark.parametrize("kind", KINDS)
def test_two_of_them_agree_on_nothing(kind: Kind) -> None:
    analysis = analyze(records({"one": of_kind(kind), "two": of_kind(kind)}, dilemmas=5, rounds=2))

    assert isnan(analysis.estimate("consensus").value)
    assert analysis.counts["fits"][0]["not_computed"]


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        ("silent", {"empty"}),
        ("looping", {"cut", "loop", "duplicate"}),
        ("echoing", {"echo", "duplicate"}),
        ("babbling", set()),
        ("refusing", {"duplicate"}),
    ],
)
def test_faults_of_form_are_counted_by_format_and_named_at_the_head(kind: Kind, faults: set[str]) -> None:
    table = records({"broken": of_kind(kind), "whole": by_dilemma}, dilemmas=2)
    analysis = analyze(table)
    broken, whole = analysis.faults

    assert (broken.condition, broken.replies) == ("synchronous", 6)
    assert {name for name, count in broken.faults.items() if count} <= faults
    assert bool(broken.faulty) == bool(faults)
    assert whole.faulty == 0
    assert any("broken: " in line and "messages are malformed" in line for line in said(table, analysis)) == bool(
        faults
    )


def test_a_verdict_that_is_the_same_on_every_dilemma_is_warned_of() -> None:
    table = records({"stuck": always("YTA"), "whole": by_dilemma})
    analysis = analyze(table)

    assert said(table, analysis)[0].startswith("stuck: its first verdict does not depend on the dilemma. It is YTA")
    assert not any(line.startswith("whole") for line in analysis.warnings)


def test_few_dilemmas_do_not_tell_that_a_verdict_does_not_depend_on_them() -> None:
    assert analyze(records({"stuck": always("YTA"), "whole": by_dilemma}, dilemmas=6)).warnings == ()


def test_only_an_explanation_that_comes_again_is_a_duplicate() -> None:
    bare = records({"a": lambda said, number: Reply("My current verdict: NTA."), "b": always("YTA")}, dilemmas=1)
    again = records({"a": lambda said, number: Reply(stated("NTA", "It was his own roof.")), "b": always("YTA")})

    assert bare.filter(pl.col("model") == "a")["faults"].list.len().sum() == 0
    repeated = again.filter(pl.col("model") == "a").sort("dilemma", "round").head(3)["faults"].to_list()
    assert repeated == [[], ["duplicate"], ["duplicate"]]


def test_headlines_without_faults_take_faulty_verdicts_as_unreadable() -> None:
    def cut(said: Sequence[Message], number: int) -> Reply:
        changed = VERDICTS[(len(said) // 2) % 5]
        return Reply(
            stated(changed, f"Reason number {number} and no more"), finish="length" if len(said) > 2 else "stop"
        )

    analysis = analyze(records({"a": cut, "b": by_dilemma}))

    assert analysis.estimate("changed", model="a").value > 0.5
    assert analysis.estimate("changed", model="a", variant="without_faults").value == 0
    reached = [analysis.estimate("consensus", variant=variant).value for variant in ("plain", "without_faults")]
    assert reached[1] < reached[0]
    assert analysis.rows_of("inertia", "goal", model="a", variant="without_faults")


@pytest.mark.parametrize(("conformity", "of"), [("shared", [""]), ("by model", [", a", ", b"])])
def test_inertia_and_conformity_stand_beside_themselves_without_faults(conformity: Any, of: list[str]) -> None:
    table = records({"a": always("NTA"), "b": by_dilemma}, dilemmas=6)
    faults = pl.Series([["cut"] if number % 5 == 0 else [] for number in range(table.height)])
    made = sections(analyze(table.with_columns(faults=faults), conformity=conformity))
    tables = {one.title: one for section in made for one in section.exhibits if isinstance(one, Table)}

    rows = tables["Inertia and conformity, with and without malformed messages"].rows
    names = [str(row[0]).removesuffix(", goal correctness") for row in rows]
    assert names[:2] == ["Inertia, a", "Inertia, b"]
    assert names[2:] == [f"Conformity to {kind}{one}" for kind in ("earlier rounds", "the same round") for one in of]


def test_numbers_without_malformed_messages_are_absent_if_no_message_is_malformed() -> None:
    table = records({"a": always("NTA"), "b": by_dilemma}, dilemmas=2)
    analysis = analyze(table)

    assert analysis.faults
    assert not [row for row in analysis.rows if row.variant == "without_faults"]
    assert not any(one.key == "faults" for one in shown(table, analysis))
