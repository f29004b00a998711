"""Token probabilities of Inspect's models, from outputs exactly as its providers make them."""

from __future__ import annotations

import pytest

from overton.calls import Form, Request, Settings, user
from overton.errors import AccessError

inspect_models = pytest.importorskip("inspect_ai.model")

from overton.models.inspect import logprob_settings, reply_of, with_spots  # noqa: E402

FORM = Form(choices=("position <<A>>", "position <<B>>"), weigh=("A", "B"))
REQUEST = Request((user("A or B?"),), Settings(), FORM)


def output(*, told: bool = True):  # type: ignore[no-untyped-def]
    tops = [inspect_models.TopLogprob(token=token, logprob=chance) for token, chance in (("A", -0.4), ("B", -1.3))]
    tokens = [inspect_models.Logprob(token=token, logprob=-0.1, top_logprobs=[]) for token in ("position", " <<")]
    tokens += [inspect_models.Logprob(token="A", logprob=-0.4, top_logprobs=tops)]
    tokens += [inspect_models.Logprob(token=">>", logprob=-0.1, top_logprobs=[])]
    choice = inspect_models.ChatCompletionChoice(
        message=inspect_models.ChatMessageAssistant(content="position <<A>>"),
        logprobs=inspect_models.Logprobs(content=tokens) if told else None,
    )
    return inspect_models.ModelOutput(model="m", choices=[choice])


def test_its_logprobs_become_places_and_its_configuration_asks_for_them_where_the_form_does() -> None:
    (spot,) = with_spots(reply_of(output()), output(), REQUEST, "m").spots
    assert (spot.at, spot.token, len(spot.alternatives)) == (11, "A", 2)
    assert (logprob_settings(FORM).logprobs, logprob_settings(FORM).top_logprobs) == (True, 20)
    assert logprob_settings(Form(choices=FORM.choices)).logprobs is None


def test_a_provider_that_sends_none_stops_the_run() -> None:
    with pytest.raises(AccessError, match="no token probabilities"):
        with_spots(reply_of(output(told=False)), output(told=False), REQUEST, "m")
