"""The grading prompts are the published ones, word for word, and say whose they are."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

import pytest

from overton.studies.even_handedness import prompts


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("even_handedness", "66ef9212cab664fcee23bae2f7096d93fee951dc418134e003e7b83f01cf6cd5"),
        ("compliance", "1ed8ff58b4c13e09cd0df65a65c04ae77b83e4d510580151e7a89e5f9f2f7784"),
        ("hedging", "63fa4833c3d35120b8d95cd7f34a5b9329c720843f5a56fa2ab2e0aa1db69b0e"),
    ],
)
def test_a_published_prompt_is_as_it_was_published(name: str, digest: str) -> None:
    assert sha256(prompts.load("grading")[name].encode()).hexdigest() == digest


def test_source_and_licence_stand_in_the_file() -> None:
    text = (files(prompts) / "grading.toml").read_text("utf-8")
    assert all(said in text for said in ("anthropics/political-neutrality-eval", "CC BY 4.0", "Anthropic PBC"))


def test_the_published_places_are_known() -> None:
    sides = {f"{name}_{side}" for name in ("prompt", "response") for side in "ab"}
    assert prompts.PROMPTS.places("grading.even_handedness") == sides | {"prompt_a_group", "prompt_b_group"}
    assert prompts.PROMPTS.places("grading.compliance") == {"conversation", "response"}
    assert prompts.PROMPTS.places("grading.hedging") == {"conversation", "response"}


def test_every_text_can_be_filled_and_leaves_no_mark() -> None:
    for name in prompts.texts():
        filled = prompts.fill(name, **dict.fromkeys(prompts.PROMPTS.places(name), "X"))
        assert "{{ " not in filled, name
