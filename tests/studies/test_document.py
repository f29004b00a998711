from __future__ import annotations

import json
from math import inf, nan
from typing import NamedTuple

import msgspec
import pytest
from jsonschema import Draft202012Validator, ValidationError

from overton.statistics import Estimate, not_computed
from overton.studies.document import Shape, document, plain, schema

HALF = Estimate(0.5, 0.4, 0.6, 12, "Wilson")
THIRD = Estimate(0.3, 0.2, 0.4, 12, "Wilson, corrected")


def number(of: Estimate) -> dict[str, object]:
    return plain(of)["plain"]  # type: ignore[no-any-return]


class Inner(msgspec.Struct):
    side: str | None
    share: Estimate


class Named(NamedTuple):
    name: str
    inner: Inner


class Labelled(msgspec.Struct):
    leads: str
    plain: Estimate
    corrected: Estimate | None

    SHAPE = Shape(leads=True)


class Whole(msgspec.Struct):
    """Everything that a shape can say."""

    inner: Inner | None
    labelled: Labelled
    by_name: dict[tuple[str, str], Estimate]
    named: tuple[Named, ...]
    pair: tuple[str, float]
    level: float = 0.95

    SHAPE = Shape(also={"count": "many"}, without=("pair",))

    @property
    def many(self) -> int:
        """How many names there are."""
        return len(self.named)


def whole(**changed: object) -> Whole:
    given: dict[str, object] = {
        "inner": Inner("pro", HALF),
        "labelled": Labelled("corrected", HALF, THIRD),
        "by_name": {("a", "b"): HALF},
        "named": (Named("x", Inner(None, HALF)),),
        "pair": ("a", nan),
    }
    return Whole(**{**given, **changed})  # type: ignore[arg-type]


def test_a_number_is_a_measure_whose_leading_variant_says_how_it_was_made() -> None:
    assert plain(HALF) == {
        "leads": "plain",
        "plain": {"estimate": 0.5, "interval": [0.4, 0.6], "n": 12, "method": "Wilson", "why": None},
    }


@pytest.mark.parametrize(
    ("estimate", "method", "why"),
    [
        (not_computed("no answers", n=3), "", "no answers"),
        (Estimate(nan, nan, nan, 0, ""), "", "the data do not determine it"),
        (Estimate(0.5, nan, nan, 1, "one of issues: no interval"), "", "one of issues: no interval"),
        (
            Estimate(1.0, nan, nan, 9, "Cohen: no interval from such uniform data"),
            "Cohen",
            "no interval from such uniform data",
        ),
        (Estimate(0.5, nan, nan, 3, "median of pairs"), "median of pairs", "no interval is made for it"),
        (Estimate(0.5, 0.1, inf, 3, "Wald"), "Wald", "the interval has no limit"),
    ],
)
def test_why_says_what_is_missing_and_method_how_the_rest_was_made(
    estimate: Estimate, method: str, why: str | None
) -> None:
    told = number(estimate)
    assert (told["method"], told["why"]) == (method, why)
    assert json.dumps(told, allow_nan=False)


def test_a_limit_that_is_not_determined_is_named_and_stays_a_number() -> None:
    assert "undetermined" not in number(HALF)
    told = number(Estimate(0.24, 0.1, 1.0, 10, "Student's t", within=(0.0, 1.0)))
    assert (told["interval"], told["undetermined"]) == ([0.1, 1.0], ["high"])


def test_a_shape_renames_leaves_out_and_makes_a_struct_one_measure() -> None:
    assert plain(whole()) == {
        "inner": {"side": "pro", "share": plain(HALF)},
        "labelled": {"leads": "corrected", "plain": number(HALF), "corrected": number(THIRD)},
        "by_name": {"a/b": plain(HALF)},
        "named": [{"name": "x", "inner": {"side": None, "share": plain(HALF)}}],
        "level": 0.95,
        "count": 1,
    }
    assert "corrected" not in plain(Labelled("plain", HALF, None))


def test_a_document_names_its_study_its_schema_and_the_level_of_its_intervals() -> None:
    made = document("mine", 3, Inner("pro", HALF))
    assert list(made)[:3] == ["study", "schema", "level"]
    assert (made["study"], made["schema"], made["level"]) == ("mine", 3, 0.95)
    assert "level" not in document("mine", 3, Inner("pro", not_computed("nothing")))
    assert "count" not in document("mine", 3, whole(), without=["count"])


@pytest.mark.parametrize("value", [whole(), whole(inner=None), whole(labelled=Labelled("plain", HALF, None))])
def test_the_schema_of_a_type_fits_its_values(value: Whole) -> None:
    derived = schema(Whole, "mine", 3)
    Draft202012Validator.check_schema(derived)
    Draft202012Validator(derived).validate(document("mine", 3, value))
    assert derived["description"] == "Everything that a shape can say."


@pytest.mark.parametrize("path", [("study",), ("level",), ("inner", "share", "plain", "why"), ("labelled", "leads")])
def test_a_document_that_lacks_a_key_violates_the_schema(path: tuple[str, ...]) -> None:
    made = document("mine", 3, whole())
    *before, last = path
    held = made
    for name in before:
        held = held[name]
    del held[last]
    with pytest.raises(ValidationError):
        Draft202012Validator(schema(Whole, "mine", 3)).validate(made)


def test_an_undeclared_key_violates_the_schema() -> None:
    made = document("mine", 3, whole())
    made["inner"]["new"] = 1
    with pytest.raises(ValidationError):
        Draft202012Validator(schema(Whole, "mine", 3)).validate(made)


def test_types_that_json_cannot_represent_have_no_schema() -> None:
    class Strange(msgspec.Struct):
        value: object

    with pytest.raises(TypeError, match="cannot be written as JSON"):
        schema(Strange, "mine", 1)
