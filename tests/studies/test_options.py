"""Options as they are declared: which values they take, in which words, and the messages about all other values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.studies.options import (
    NoOptions,
    Option,
    changed,
    fields_of,
    fields_of_call,
    options_of,
    values_of,
)
from overton.studies.registry import asking_names, study_named


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of each kind."""

    count: Annotated[int, Option("How many", least=1, most=12_000, extends=True)] = 3
    share: Annotated[float, Option("Which part", above=0, most=1)] = 0.5
    any: Annotated[int, Option("Any whole number")] = 0
    heats: Annotated[
        tuple[float | None, ...], Option("How hot", least=0, most=2, none="own", flag="--heat", extends=True)
    ] = (0.0,)
    kind: Annotated[Literal["loud", "soft"], Option("Which kind")] = "loud"
    colours: Annotated[tuple[str, ...], Option("Which colours", known=("red", "blue"), flag="--colour")] = ("red",)
    orders: Annotated[tuple[tuple[int, ...], ...], Option("Who first", flag="--order")] = ()
    seats: Annotated[tuple[str, ...], Option("Who sits there", repeats=True)] = ()
    most: Annotated[int | None, Option("At most", least=2)] = None
    plain: Annotated[bool, Option("Plainly")] = False
    table: Annotated[Any, Option("A file", file=True)] = None


class Needing(msgspec.Struct, frozen=True):
    """Has one without a default."""

    needed: Annotated[int, Option("Needed", extends=True)]
    other: Annotated[int, Option("Other", extends=True)] = 1


FIELDS = {field.name: field for field in fields_of(Options)}


def told(given_: dict[str, Any], kind: Any = Options) -> list[str]:
    with pytest.raises(InputError) as caught:
        options_of(kind, given_)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ({}, {}),
        ({"count": "7", "share": "0.25", "any": "-9007199254740993"}, {"count": 7, "share": 0.25, "any": -(2**53) - 1}),
        ({"count": "3.0", "any": "1e3", "most": 2.0}, {"count": 3, "any": 1000, "most": 2}),
        ({"heats": ["own", "0.5"]}, {"heats": (None, 0.5)}),
        ({"heats": [None, 1]}, {"heats": (None, 1.0)}),
        ({"heats": "own"}, {"heats": (None,)}),
        ({"colours": "blue"}, {"colours": ("blue",)}),
        ({"orders": ["2-1-3", (1, 2)]}, {"orders": ((2, 1, 3), (1, 2))}),
        ({"orders": "2-1"}, {"orders": ((2, 1),)}),
        ({"seats": ["a", "a"]}, {"seats": ("a", "a")}),
        ({"plain": "yes"}, {"plain": True}),
        ({"plain": "False"}, {"plain": False}),
        ({"count": None, "heats": None, "kind": None}, {}),
    ],
)
def test_words_and_values_are_read_alike(words: dict[str, Any], values: dict[str, Any]) -> None:
    assert options_of(Options, words) == Options(**values)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"count": 0}, "option count: 0: must be between 1 and 12,000"),
        ({"count": "12001"}, "option count: 12001: must be between 1 and 12,000"),
        ({"count": "many"}, "option count: many: must be a whole number"),
        ({"count": 1.5}, "option count: 1.5: must be a whole number"),
        ({"count": True}, "option count: True: must be a whole number"),
        ({"count": [1]}, "option count: [1]: must be a whole number"),
        ({"any": 10**400}, f"option any: {10**400}: must be a whole number"),
        ({"any": 2**63}, f"option any: {2**63}: must be a whole number"),
        ({"any": "inf"}, "option any: inf: must be a whole number"),
        ({"share": 0}, "option share: 0.0: must be above 0 and at most 1"),
        ({"share": "nan"}, "option share: nan: must be a number"),
        ({"most": 1}, "option most: 1: must be 2 or more"),
        ({"heats": "hot"}, "option heats: hot: must be a number, or own"),
        ({"heats": 2.5}, "option heats: 2.5: must be between 0 and 2"),
        ({"heats": []}, "option heats: name at least one"),
        ({"heats": [0, "0.0"]}, "option heats: 0: is given twice"),
        ({"heats": ["own", None]}, "option heats: own: is given twice"),
        ({"kind": "mild"}, "option kind: mild: must be one of loud, soft"),
        ({"kind": ["loud"]}, "option kind: ['loud']: must be a word"),
        ({"colours": ["green"]}, "option colours: green: must be one of red, blue"),
        ({"colours": [None]}, "option colours: None: must be a word"),
        ({"orders": "2-b"}, "option orders: 2-b: must be numbers joined by '-', such as 2-1-3"),
        ({"orders": "²-1"}, "option orders: ²-1: must be numbers joined by '-', such as 2-1-3"),
        ({"orders": ["1-2", (1, 2)]}, "option orders: 1-2: is given twice"),
        ({"plain": "maybe"}, "option plain: maybe: must be true or false"),
        ({"plane": True}, f"option plane: no such option; known are {', '.join(FIELDS)}; did you mean 'plain'?"),
    ],
)
def test_impossible_values_are_reported_with_their_place(given_: dict[str, Any], said: str) -> None:
    assert told(given_) == [said]


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    wrong = {"count": 0, "colours": ["green", "red", "red"], "stranger": 1, "kind": "mild"}
    assert [one.split(":")[0:2] for one in told(wrong)] == [
        ["option stranger", " no such option; known are " + ", ".join(FIELDS)],
        ["option count", " 0"],
        ["option kind", " mild"],
        ["option colours", " green"],
        ["option colours", " red"],
    ]


def test_options_without_choices_take_no_value() -> None:
    assert told({"any": 1}, NoOptions) == ["option any: no such option; known are none"]


def test_one_without_a_default_is_needed() -> None:
    assert told({}, Needing) == ["option needed: is needed"]
    assert options_of(Needing, {"needed": "4"}) == Needing(4)


def test_a_field_gives_its_flag_default_and_values() -> None:
    assert [FIELDS[name].flag for name in ("count", "heats", "most")] == ["--count", "--heat", "--most"]
    assert FIELDS["kind"].described() == "Which kind: loud, soft; loud by default."
    assert FIELDS["heats"].described() == "How hot; repeatable; 0 by default."
    assert FIELDS["most"].described() == "At most."
    (long,) = fields_of(msgspec.defstruct("Long", [("size", Annotated[int, Option("Size")], 40_000)]))
    assert long.described() == "Size; 40,000 by default."


def test_undeclared_fields_and_unwritable_values_are_mistakes() -> None:
    with pytest.raises(TypeError, match="'bare' declares no Option"):
        fields_of(msgspec.defstruct("Bare", [("bare", int, 1)]))
    with pytest.raises(TypeError, match="'odd' has a type"):
        fields_of(msgspec.defstruct("Odd", [("odd", Annotated[dict[str, int], Option("Odd")], None)]))


class TestChanged:
    def test_several_are_added_to_and_one_is_replaced(self) -> None:
        assert changed(Options(), {"heats": ["own", 0.0], "count": 5}) == Options(heats=(0.0, None), count=5)

    def test_options_that_are_not_given_stay(self) -> None:
        assert changed(Options(kind="soft"), {"count": None}) == Options(kind="soft")
        assert changed(Needing(7), {"other": 2}) == Needing(7, 2)

    def test_fixed_and_unknown_options_are_refused(self) -> None:
        with pytest.raises(InputError, match="option kind: is fixed; count, heats can be extended"):
            changed(Options(), {"kind": "soft"})
        with pytest.raises(InputError, match="option sort: no such option"):
            changed(Options(), {"sort": "soft"})
        with pytest.raises(InputError, match="option count: 0"):
            changed(Options(), {"count": 0})


def test_the_options_of_a_call_are_those_of_its_parameters() -> None:
    def call(
        path: Annotated[Sequence[str], Option("Paths", file=True, argument=True)],
        *,
        first: Annotated[str | None, Option("First", flag="--from")] = None,
        top: Annotated[int, Option("Top", least=1)] = 10,
        seed: int = 0,
    ) -> None:
        """Takes options."""

    path, first, top = fields_of_call(call)
    assert (path.name, path.needed, path.several, first.flag, first.optional) == ("path", True, True, "--from", True)
    assert values_of((path, first, top), {"path": ["x"], "top": "4"}) == {"path": ["x"], "top": 4}
    with pytest.raises(InputError, match="option path: is needed"):
        values_of((path, first, top), {})


VALUES = {
    "count": st.integers(1, 12_000),
    "share": st.floats(0, 1, exclude_min=True),
    "any": st.integers(-(2**63) + 1, 2**63 - 1),
    "heats": st.none() | st.floats(0, 2),
    "kind": st.sampled_from(["loud", "soft"]),
    "colours": st.sampled_from(["red", "blue"]),
    "orders": st.lists(st.integers(0, 99), min_size=1).map(tuple),
    "seats": st.text(min_size=1),
    "most": st.integers(2, 2**40),
    "plain": st.booleans(),
}


@given(st.sampled_from(sorted(VALUES)).flatmap(lambda name: st.tuples(st.just(name), VALUES[name])))
def test_a_value_is_read_back_from_its_word(one: tuple[str, Any]) -> None:
    name, value = one
    field = FIELDS[name]
    word = field.word(value)
    read = getattr(options_of(Options, {name: word}), name)
    (again,) = read if field.several else (read,)
    assert again == value
    assert field.word(again) == word


@pytest.mark.parametrize("study", asking_names())
def test_the_defaults_of_every_study_can_be_given_in_words(study: str) -> None:
    kind = study_named(study).options
    default = kind()
    for field in fields_of(kind):
        value = getattr(default, field.name)
        if value is None or value == () or field.option.file:  # what is read from a file is in no words
            continue
        words = [field.word(one) for one in value] if field.several else field.word(value)
        assert getattr(options_of(kind, {field.name: words}), field.name) == value
