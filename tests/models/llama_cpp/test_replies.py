"""The embedded model, asked a few short questions, and files that are not models."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from overton.calls import Answerer, Form, Request, Settings, user
from overton.errors import AccessError, InputError, MissingExtra, OvertonError, RejectedError
from overton.models import llama_cpp
from overton.models.llama_cpp import EmbeddedModel, open_server
from overton.models.weights import ensure, find

gguf = pytest.importorskip("gguf")
pytest.importorskip("xllamacpp")

LETTERS = Form(choices=("position <<A>>", "position <<B>>"))
NASTY = Form(choices=('say "no"\n\\ done', "tab\there </script> ${x} [a|b]*", "für Élodie 🦙"))


@pytest.fixture(scope="session")
def weights() -> Path:
    try:
        return ensure("smollm2-135m")
    except OvertonError as error:
        if "fetch" in str(error):
            pytest.skip(f"the embedded model's weights cannot be had: {error}")
        raise


@pytest.fixture
async def model(weights: Path) -> AsyncIterator[EmbeddedModel]:
    model = EmbeddedModel(weights, name="embedded/smollm2-135m", threads=2, context=1024)
    yield model
    await model.close()


def question(text: str, *, seed: int | None = 1, form: Form | None = None, **settings: Any) -> Request:
    return Request((user(text),), Settings(**{"max_tokens": 12, **settings}), form=form, seed=seed)


def small_gguf(path: Path) -> Path:
    """A complete GGUF file, of a kind of model that llama.cpp does not know."""
    writer = gguf.GGUFWriter(path, "nonesuch")
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "c"])
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5])
    writer.add_context_length(128)
    writer.add_tensor("first", np.zeros((4, 32), np.float32))
    writer.add_tensor("second", np.zeros(64, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.embedded
async def test_answers_are_held_to_the_choices(model: EmbeddedModel) -> None:
    assert model.holds_form
    for form in (LETTERS, NASTY):
        replies = [
            await model.answer(question("Say something.", seed=seed, form=form, max_tokens=60)) for seed in range(3)
        ]
        assert {reply.text for reply in replies} <= set(form.choices)


@pytest.mark.embedded
async def test_answers_are_held_to_a_schema(model: EmbeddedModel) -> None:
    schema = {
        "type": "object",
        "properties": {"stance": {"type": "string", "enum": ["pro", "con"]}, "sure": {"type": "boolean"}},
        "required": ["stance", "sure"],
        "additionalProperties": False,
    }
    reply = await model.answer(question("Cats?", form=Form(schema=schema), max_tokens=60))
    answer = json.loads(reply.text)
    assert answer["stance"] in {"pro", "con"}
    assert isinstance(answer["sure"], bool)


@pytest.mark.embedded
async def test_answers_are_held_to_begin_with_an_opening(model: EmbeddedModel) -> None:
    openings = ("My verdict: YTA.\n\nThinking: ", "My verdict: NTA.\n\nThinking: ")
    reply = await model.answer(question("Who was wrong?", form=Form(openings=openings), max_tokens=40, temperature=1.0))
    assert reply.text.startswith(openings)
    assert reply.text not in openings


@pytest.mark.embedded
async def test_the_letters_probability_is_the_one_that_llama_draws_by(weights: Path, model: EmbeddedModel) -> None:
    """Compared with llama.cpp's own report of its draw, where a grammar lets nothing else through."""
    form = Form(choices=("position <<A>>", "position <<B>>"), weigh=("A", "B"))
    text = "Should shops take cash? Answer 'position <<A>>' for yes or 'position <<B>>' for no."
    server = open_server(weights, threads=1, context=512)
    for settings in ({}, {"temperature": 1.0}, {"temperature": 0.5, "top_p": 1.0}):
        asked = question(text, form=form, max_tokens=8, **settings)
        (spot,) = (await model.answer(asked)).spots
        told = server.handle_chat_completions({**model._body(asked), "post_sampling_probs": True})
        tokens = told["choices"][0]["logprobs"]["content"]
        drawn = next(one for one in tokens if one["token"] in "AB" and one["token"].strip())["top_probs"]
        found = {one.token: one.drawn for one in spot.alternatives if one.drawn}
        assert found == pytest.approx({one["token"]: one["prob"] for one in drawn}, abs=2e-3)


@pytest.mark.embedded
async def test_without_hold_answers_are_free(weights: Path) -> None:
    model = EmbeddedModel(weights, name="m", hold=False, context=512)
    assert not model.holds_form
    reply = await model.answer(question("Count from one to five.", form=LETTERS, temperature=0.0))
    await model.close()
    assert reply.text not in LETTERS.choices


@pytest.mark.embedded
async def test_an_answer_depends_on_its_request_and_seed_alone(weights: Path, model: EmbeddedModel) -> None:
    requests = [question(f"Tell me of number {n} and the city of Rome.", seed=7, temperature=1.0) for n in (1, 2, 2, 3)]
    together = await asyncio.gather(*(model.answer(request) for request in requests))
    one = EmbeddedModel(weights, name="m", threads=1, context=2048)
    backwards = [await one.answer(request) for request in reversed(requests)]
    await one.close()
    assert [reply.text for reply in together] == [reply.text for reply in reversed(backwards)]


@pytest.mark.embedded
async def test_a_shared_head_is_read_once_and_changes_no_reply(weights: Path, model: EmbeddedModel) -> None:
    """To the last bit of its probabilities, whether its head was kept or read for it."""
    evidence = "Buses at night cost 4% of all fares. " * 12
    form = Form(choices=LETTERS.choices, weigh=("A", "B"))

    def asked(question: str, *, head: int) -> Request:
        return Request((user(evidence + question),), Settings(max_tokens=12), form, 1, head)

    server, read = open_server(weights, threads=1, context=1024), []

    class Counting:
        def handle_chat_completions(self, body: dict[str, Any]) -> Any:
            told = server.handle_chat_completions(body)
            read.append(told["timings"]["prompt_n"])
            return told

    model._server = Counting  # type: ignore[method-assign]
    questions = ("Should there be more? A or B?", "A for fewer, B for more?")
    one = EmbeddedModel(weights, name="m", threads=1, context=1024)
    alone = []
    for text in questions:
        await one.answer(asked(text, head=0))  # nothing of this is kept
        alone.append((await one.answer(asked(text, head=len(evidence)))).spots)
    await one.close()
    together = [(await model.answer(asked(text, head=len(evidence)))).spots for text in (*questions, questions[0])]
    assert together == [*alone, alone[0]]
    assert all(alone)
    whole, *_ = read
    assert sum(read[1:]) < whole


@pytest.mark.embedded
async def test_a_head_that_is_too_long_is_refused_as_the_request_is(model: EmbeddedModel) -> None:
    text = "Rome. " * 2000
    with pytest.raises(RejectedError, match="context=N"):
        await model.answer(Request((user(text + "Why?"),), Settings(), None, 1, len(text)))
    assert (await model.answer(question("Why?"))).text


@pytest.mark.embedded
async def test_other_seeds_give_other_answers_however_large(model: EmbeddedModel) -> None:
    seeds = (0, 1, 2**32 - 1, 2**63)
    texts = [(await model.answer(question("Invent a name.", seed=seed, temperature=1.5))).text for seed in seeds]
    assert len(set(texts[1:])) > 1
    assert texts[0] == texts[2]  # seeds are taken modulo 2**32 - 1


@pytest.mark.embedded
async def test_settings_and_extra_fields_reach_the_model(model: EmbeddedModel) -> None:
    reply = await model.answer(question("Write a long poem.", max_tokens=5))
    assert reply.finish == "length"
    assert reply.usage.output_tokens == 5
    assert reply.usage.input_tokens is not None
    assert reply.usage.input_tokens > 10
    stopped = await model.answer(question("Say: a b c d e f", max_tokens=40, temperature=0.0, extra={"stop": [" "]}))
    assert stopped.finish == "stop"
    assert " " not in stopped.text.strip()


@pytest.mark.embedded
async def test_a_prompt_longer_than_the_context_is_rejected_with_both_numbers(model: EmbeddedModel) -> None:
    with pytest.raises(RejectedError, match=r"the prompt has \d{4} tokens, but the context only 1024") as caught:
        await model.answer(question("word " * 1200))
    assert caught.value.kind == "too long"


@pytest.mark.embedded
async def test_a_request_that_cannot_be_is_rejected_for_good(model: EmbeddedModel) -> None:
    with pytest.raises(RejectedError, match="schema"):
        await model.answer(question("?", form=Form(schema={"type": "nonsense"})))
    with pytest.raises(RejectedError, match="temperature"):
        await model.answer(question("?", extra={"temperature": "hot"}))
    with pytest.raises(RejectedError, match="the study writes the messages"):
        await model.answer(question("?", extra={"messages": []}))


@pytest.mark.embedded
async def test_the_event_loop_lives_while_the_model_answers(model: EmbeddedModel) -> None:
    await model.answer(question("Hello"))  # loads it
    answer = asyncio.ensure_future(model.answer(question("word " * 120)))
    turns = 0
    while not answer.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert (await answer).usage.output_tokens
    assert turns > 10


@pytest.mark.embedded
async def test_server_is_unreachable_and_prints_nothing(
    model: EmbeddedModel, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama_cpp.tempfile, "tempdir", str(tmp_path))
    await model.answer(question("Hello"))
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")
    if sys.platform == "linux":
        assert listening_ports() == set()


def listening_ports() -> set[str]:
    """Local addresses (in hexadecimal digits) at which this process listens, by TCP."""
    opened = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            opened.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # the one that listed the folder
            continue
    rows = [
        row.split() for table in ("tcp", "tcp6") for row in Path(f"/proc/self/net/{table}").read_text().splitlines()
    ]
    return {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in opened}


@pytest.mark.embedded
async def test_model_answers_with_a_long_temporary_path(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(llama_cpp.tempfile, "tempdir", str(deep))
    model = EmbeddedModel(weights, name="m", threads=1, context=512)
    assert (await model.answer(question("Hello", form=LETTERS))).text in LETTERS.choices
    await model.close()


@pytest.mark.embedded
async def test_ctrl_c_stays_pythons(model: EmbeddedModel) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        await model.answer(question("Hello"))
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


@pytest.mark.embedded
def test_a_server_that_is_freed_at_once_does_not_hang(weights: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from overton.models.llama_cpp import open_server\n"
        "for _ in range(3): open_server(pathlib.Path(sys.argv[1]), threads=1, context=256)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(weights)], timeout=120, check=True)


@pytest.mark.embedded
async def test_close_ends_the_copies_and_a_later_question_loads_again(model: EmbeddedModel) -> None:
    others = set(threading.enumerate())  # an earlier test's model of this name may be open still

    def copies() -> int:
        started = set(threading.enumerate()) - others
        return sum(thread.name.startswith(f"overton {model.name}") for thread in started)

    first = await asyncio.gather(*(model.answer(question("Hello")) for _ in range(2)))
    assert copies() == 2
    await model.close()
    assert copies() == 0
    assert await model.answer(question("Hello")) == first[0]
    await model.close()
    await model.close()


def cut_copy(weights: Path, path: Path) -> Path:
    shutil.copy(weights, path)
    os.truncate(path, weights.stat().st_size - 500)
    return path


@pytest.mark.embedded
async def test_weights_cut_within_the_last_tensor_stop_the_run(weights: Path, tmp_path: Path) -> None:
    model = EmbeddedModel(cut_copy(weights, tmp_path / "cut.gguf"), name="gguf:cut")
    with pytest.raises(AccessError, match=r"llama\.cpp cannot load .*cut\.gguf"):
        await model.answer(question("Hello"))
    await model.close()


async def test_a_model_that_llama_cpp_does_not_know_stops_the_run(tmp_path: Path) -> None:
    model = EmbeddedModel(small_gguf(tmp_path / "odd.gguf"), name="gguf:odd")
    with pytest.raises(AccessError, match=r"gguf:odd: llama\.cpp cannot load .*odd\.gguf") as caught:
        await model.answer(question("Hello"))
    assert caught.value.kind == "unusable model"
    await model.close()


def test_the_identity_is_the_files_hash_unless_another_is_given(tmp_path: Path) -> None:
    path = small_gguf(tmp_path / "model.gguf")
    assert EmbeddedModel(path, name="m").identity == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    given = find("smollm2-135m").identity
    assert EmbeddedModel(path, name="m", identity=given).identity == given


def test_a_small_model_is_loaded_once_a_core_up_to_four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = small_gguf(tmp_path / "model.gguf")
    assert [EmbeddedModel(path, name="m", threads=n).copies for n in (1, 2, 4, 9)] == [1, 2, 4, 4]
    assert [EmbeddedModel(path, name="m", threads=n).connections for n in (1, 2, 4, 9)] == [1, 4, 8, 8]
    monkeypatch.setattr(llama_cpp, "_SMALL_BYTES", 10)
    assert EmbeddedModel(path, name="m", threads=9).connections == 1


def test_every_cut_through_a_header_is_bad_input(tmp_path: Path) -> None:
    whole = small_gguf(tmp_path / "whole.gguf").read_bytes()
    cut = tmp_path / "cut.gguf"
    for length in range(len(whole) - 64 * 4):
        cut.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"cut\.gguf: not a GGUF model that can be run: "):
            EmbeddedModel(cut, name="m")
    EmbeddedModel(tmp_path / "whole.gguf", name="m")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x80\x02}q\x00.", "it does not start with 'GGUF'"),
        (b"GGUF\x01\0\0\0" + bytes(16), "its GGUF version is 1"),
        (b"GGUF\0\0\0\x03" + bytes(16), "its GGUF version is 50331648"),
        (b"GGUF\x03\0\0\0" + b"\xff" * 16, "its metadata claims 18,446,744,073,709,551,615"),
        (b"GGUF\x03\0\0\0" + bytes(8) + b"\x01" + bytes(15) + b"\x63\0\0\0", "a value of unknown kind 99"),
        (
            b"GGUF\x03\0\0\0" + bytes(8) + b"\x01" + bytes(15) + b"\x09\0\0\0\x09\0\0\0" + bytes(8),
            "an array of kind 9",
        ),
    ],
    ids=["empty", "pickle", "version 1", "big-endian", "endless", "unknown kind", "nested array"],
)
def test_files_that_are_not_gguf_are_refused_with_the_reason(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "file.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=reason):
        EmbeddedModel(path, name="m")


def test_a_missing_file_or_a_folder_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.gguf: there is no such file"):
        EmbeddedModel(tmp_path / "none.gguf", name="m")
    with pytest.raises(InputError, match=r"Is a directory|Permission denied"):
        EmbeddedModel(tmp_path, name="m")


def test_without_xllamacpp_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'overton\[embedded\]'"):
        EmbeddedModel(tmp_path / "any.gguf", name="m")


async def test_it_is_an_answerer(tmp_path: Path) -> None:
    model: Answerer = EmbeddedModel(small_gguf(tmp_path / "model.gguf"), name="gguf:model", hold=False)
    assert (model.name, model.holds_form) == ("gguf:model", False)
    await model.close()
