"""Calls to Inspect's models: in parallel, once if shared."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.engine.models import model_of

from overton.calls import Form, Question, Settings, user
from overton.engine import RateLimiter, Seat
from overton.errors import AccessError, CallFailed, RejectedError, UnavailableError
from overton.inspect.ask import EvalContext, InspectAsk, RetrievalSources, SharedOutcomes
from overton.inspect.log_format import CallData
from overton.inspect.seats import FORM, EvalModel, form_in, pairs_of
from overton.models import open_model


class Model:
    """Answers after a while with the prompt, or raises the error set for a message."""

    def __init__(self, **errors: Exception) -> None:
        self.errors = errors
        self.asked: list[str] = []
        self.ended: list[str] = []
        self.configs: list[Any] = []

    async def generate(self, messages: list[Any], config: Any, cache: Any) -> Any:
        from inspect_ai.model import ModelOutput

        text = messages[-1].text
        self.asked.append(text)
        self.configs.append(config)
        await anyio.sleep(0 if text in self.errors else 0.01)
        self.ended.append(text)
        if text in self.errors:
            raise self.errors[text]
        return ModelOutput.from_content("m", f"heard {text}")


def table(model: Model, **more: Any) -> EvalContext:
    answerer = EvalModel("inspect/m", "inspect/m", role="subject", model=model, **more)
    seat = Seat(model_of(answerer), Settings(max_tokens=7), RateLimiter(1))
    return EvalContext({"subject": seat}, "inspect/m", RetrievalSources(), cache=False)


def asking(table: EvalContext, calls: list[CallData] | None = None) -> InspectAsk:
    return InspectAsk(table, "t", "subject", ([] if calls is None else calls).append)


def questions(*words: str) -> list[Question]:
    return [Question("subject", (user(word),)) for word in words]


def test_replies_come_in_the_order_of_the_questions() -> None:
    async def main() -> list[str]:
        return [reply.text for reply in await asking(table(Model())).all(questions("a", "b", "c"))]

    assert anyio.run(main) == ["heard a", "heard b", "heard c"]


def test_all_end_before_the_gravest_error_is_raised() -> None:
    model, calls = Model(b=RejectedError("too long", "no"), c=AccessError("no permission", "no key")), []

    async def main() -> None:
        with pytest.raises(AccessError, match="subject: inspect/m: no key"):
            await asking(table(model), calls).all(questions("a", "b", "c", "d"))

    anyio.run(main)
    assert sorted(model.ended) == ["a", "b", "c", "d"]
    assert sorted(call.number for call in calls) == [0, 1, 3]  # what has an outcome is kept


def test_a_rejected_request_has_failed_permanently() -> None:
    calls: list[CallData] = []

    async def main() -> None:
        with pytest.raises(CallFailed, match="too long: no"):
            await asking(table(Model(a=RejectedError("too long", "no"))), calls)("subject", (user("a"),))

    anyio.run(main)
    assert [(call.reply, call.failure.kind) for call in calls if call.failure] == [(None, "too long")]


def test_a_shared_call_is_made_once_however_many_wait() -> None:
    model, shared_table = Model(), None
    shared_table = table(model)
    kept: list[CallData] = []

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                ask = asking(shared_table, kept)
                group.start_soon(lambda ask=ask: ask("subject", (user("a"),), shared=True))

    anyio.run(main)
    assert model.asked == ["a"]
    assert len({call.slot for call in kept}) == 1
    assert len(kept) == 5  # each sample has its own answers


def test_where_the_one_that_asks_is_cut_off_another_asks() -> None:
    made: list[str] = []

    async def main() -> str:
        shared: Any = SharedOutcomes()

        async def make(name: str) -> Any:
            made.append(name)
            await anyio.sleep(0.01)
            return name

        async def first() -> None:
            with anyio.move_on_after(0.001):
                await shared.once(b"s", lambda: make("first"))

        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await anyio.lowlevel.checkpoint()
            return str(await shared.once(b"s", lambda: make("second")))

    assert anyio.run(main) == "second"
    assert made[-1] == "second"


def test_a_study_may_ask_with_asyncio() -> None:
    async def main() -> list[str]:
        ask = asking(table(Model()))
        one, other = await asyncio.gather(ask("subject", (user("a"),), speaker="x"), ask("subject", (user("b"),)))
        return [one.text, other.text, *[reply.text for reply in await ask.all(questions("c"))]]

    assert anyio.run(main) == ["heard a", "heard b", "heard c"]


@pytest.mark.parametrize("hold", [True, False])
def test_a_form_is_sent_to_models_that_accept_it(hold: bool) -> None:
    model, form = Model(), Form(choices=("A", "B"))
    anyio.run(lambda: asking(table(model, holds_form=hold, extra_body={"x": 1}))("subject", (user("a"),), form=form))
    body = model.configs[0].extra_body
    assert body["x"] == 1
    assert (FORM in body, form_in(body)) == ((True, form) if hold else (False, None))


def test_a_calls_own_settings_are_sent() -> None:
    model = Model()
    anyio.run(lambda: asking(table(model))("subject", (user("a"),), settings=Settings(temperature=0.25)))
    assert (model.configs[0].temperature, model.configs[0].max_tokens) == (0.25, 7)


def test_settings_as_pairs_make_the_same_settings() -> None:
    settings = Settings(0.5, 0.9, 77, "high", 5, {"top_k": 3, "stop_seqs": ["x"], "word": "w"})
    assert open_model("inspect/mockllm/model", pairs_of(settings)).settings == settings


@pytest.mark.parametrize(
    "error", [RejectedError("rejected", "seed is not supported"), AccessError("no probabilities", "none were sent")]
)
def test_one_call_shows_that_a_model_lacks_a_needed_feature(error: Exception) -> None:
    words = [f"q{number}" for number in range(20)]
    model = Model(**dict.fromkeys(words, error))

    async def main() -> None:
        shared_table = table(model)
        shared_table.seats["subject"].settings = Settings(max_tokens=7, seed=3)
        for _ in range(2):
            with pytest.raises(AccessError, match=str(error)):
                await asking(shared_table).all(questions(*words))

    anyio.run(main)
    assert len(model.asked) == 1


def test_calls_after_the_first_of_a_kind_go_side_by_side() -> None:
    words = [f"q{number}" for number in range(20)]
    model, most = Model(), 0

    async def main() -> None:
        nonlocal most
        shared_table = table(model)
        shared_table.seats["subject"].settings = Settings(max_tokens=7, seed=3)
        async with anyio.create_task_group() as group:
            group.start_soon(asking(shared_table).all, questions(*words))
            while len(model.ended) < len(words):
                most = max(most, len(model.asked) - len(model.ended))
                assert len(model.asked) <= 1 or model.ended
                await anyio.sleep(0.001)

    anyio.run(main)
    assert most > 10


def test_each_call_without_an_answer_lets_one_more_go() -> None:
    words = [f"q{number}" for number in range(20)]
    model = Model(**dict.fromkeys(words, UnavailableError("timeout", "too slow")))

    async def main() -> None:
        shared_table = table(model)
        shared_table.seats["subject"].settings = Settings(max_tokens=7, seed=3)
        with pytest.raises(UnavailableError):
            await asking(shared_table).all(questions(*words))

    anyio.run(main)
    assert len(model.asked) == 20
