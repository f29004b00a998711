"""Embedders: wordllama from its package, offline."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from overton.calls import Price, Request, Settings, user
from overton.errors import InputError, MissingExtra, RejectedError
from overton.models import embedders, open_model
from overton.models.embedders import SentenceTransformersEmbedder, WordLlamaEmbedder


def asked(content: str) -> Request:
    return Request((user(content),), Settings())


async def vectors(embedder: Any, *texts: str) -> list[list[float]]:
    reply = await embedder.answer(asked(json.dumps(texts)))
    return list(json.loads(reply.text))


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.fixture
def embedder() -> WordLlamaEmbedder:
    pytest.importorskip("wordllama")
    return WordLlamaEmbedder()


async def test_paraphrases_lie_closer_than_other_opinions(embedder: WordLlamaEmbedder) -> None:
    free, gratis, rude = await vectors(
        embedder, "Buses should be free.", "Bus rides ought to cost nothing.", "Your sister was rude to the waiter."
    )
    assert len(free) == 256
    assert cosine(free, free) == pytest.approx(1, abs=1e-4)
    assert cosine(free, gratis) > cosine(free, rude) + 0.2


async def test_text_has_the_same_vector_next_to_other_texts(embedder: WordLlamaEmbedder) -> None:
    (alone,) = await vectors(embedder, "Buses should be free.")
    beside = await vectors(embedder, "x " * 500, "Buses should be free.", "")
    assert beside[1] == pytest.approx(alone, abs=2e-6)
    assert set(beside[2]) == {0.0}


async def test_no_text_has_no_vector(embedder: WordLlamaEmbedder) -> None:
    assert await vectors(embedder) == []


async def test_nothing_is_fetched(embedder: WordLlamaEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert len(await vectors(embedder, "Buses")) == 1


def test_it_is_known_by_the_hash_of_its_weights(embedder: WordLlamaEmbedder) -> None:
    assert embedder.name == "wordllama/l2_supercat"
    assert embedder.identity.startswith("sha256:")
    assert embedder.identity == WordLlamaEmbedder().identity
    assert embedder.holds_form


def test_weights_that_are_not_in_the_package_are_refused() -> None:
    with pytest.raises(InputError, match="available are l2_supercat"):
        WordLlamaEmbedder("l3_supercat")


@pytest.mark.parametrize("content", ["Buses", '"Buses"', "[1]", "{}", ""])
async def test_a_request_of_another_form_is_rejected(embedder: WordLlamaEmbedder, content: str) -> None:
    with pytest.raises(RejectedError, match="JSON array of texts"):
        await embedder.answer(asked(content))


async def test_too_much_is_rejected(embedder: WordLlamaEmbedder) -> None:
    for texts in (["x"] * (embedders.MOST_TEXTS + 1), ["x" * (embedders.LONGEST_TEXT + 1)]):
        with pytest.raises(RejectedError, match="at most"):
            await embedder.answer(asked(json.dumps(texts)))


def test_embedders_name_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"overton\[clustering\]"):
        WordLlamaEmbedder()
    with pytest.raises(MissingExtra, match=r"overton\[sentence-transformers\]"):
        SentenceTransformersEmbedder("all-MiniLM-L6-v2")


def test_an_embedder_is_opened_by_its_name_and_takes_no_settings() -> None:
    pytest.importorskip("wordllama")
    model = open_model("wordllama/l2_supercat")
    assert isinstance(model.answerer, WordLlamaEmbedder)
    assert (model.answerer.name, model.connections, model.price) == ("wordllama/l2_supercat", 1, Price(0.0, 0.0))
    with pytest.raises(InputError, match="embedders have no settings"):
        open_model("wordllama/l2_supercat", [("temperature", "0")])


def test_a_missing_package_of_embeddings_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda name: None)
    for spec, extra in (("wordllama/l2_supercat", "clustering"), ("sentence-transformers/x", "sentence-transformers")):
        with pytest.raises(MissingExtra, match=rf"overton\[{extra}\]"):
            open_model(spec)
