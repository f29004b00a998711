"""The first call of a kind to a model is sent alone if the endpoint may lack a feature. If the feature is missing, only
one call fails instead of dozens.

The first call is a normal call of the run, so no extra call is made. Other calls of this kind wait until the first call
has been answered. `FEATURES` lists the features that an endpoint may lack.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from overton.calls import Failure, Reply, Request
from overton.errors import AccessError, RejectedError

PROBABILITIES, COST = "token probabilities", "cost"


class Sender(NamedTuple):
    """The properties of a model that decide which features its calls need. They say whether decoding is constrained to
    a reply format, whether the model serves as a judge, and whether a limit on cost applies."""

    holds_form: bool
    judges: bool
    has_cost_limit: bool


class Feature(NamedTuple):
    """Something that a call needs and its endpoint may lack.

    `is_needed` says whether a call needs the feature. `words` matches the messages of rejections that concern the
    feature; None if there are no such rejections. `advice` tells the user how to do without the feature.
    """

    name: str
    is_needed: Callable[[Sender, Request], bool]
    words: re.Pattern[str] | None = None
    advice: str = ""


def _compile_words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_FORM_WORDS = _compile_words(
    r"response_format|structured[ _]?outputs?|json[ _]?schema|\bschema\b|guided|grammar|\bregex\b"
)

FEATURES = (
    Feature(
        PROBABILITIES,
        lambda sender, request: request.form is not None and bool(request.form.weigh),
        _compile_words(r"log[ _]?probs?\b|logprobabilit|token probabilit"),
        "Use --shares sampled",
    ),
    Feature(
        "seeds",
        lambda sender, request: request.seed is not None,
        _compile_words(r"\b(random_)?seeds?\b"),
        "Leave out its argument seed",
    ),
    Feature(
        "JSON schemas",
        lambda sender, request: sender.holds_form and request.form is not None and request.form.schema is not None,
        _FORM_WORDS,
        "Leave out its argument hold",
    ),
    Feature(
        "grammars",
        lambda sender, request: (
            sender.holds_form and request.form is not None and bool(request.form.choices or request.form.openings)
        ),
        _FORM_WORDS,
        "Leave out its argument hold",
    ),
    Feature("judging", lambda sender, request: sender.judges),
    # A model may bill more than its calls' limits allow. The first bill shows whether this model does.
    Feature(COST, lambda sender, request: sender.has_cost_limit),
)
"""All features that an endpoint may lack. To add a feature, add a line here."""

_MODEL_PREFIX = re.compile(r"^.*[/#](?=[^/#]+$)")
"""The provider or address that precedes a model's name."""
_FEATURE_BY_NAME = {feature.name: feature for feature in FEATURES}


def features_of(sender: Sender, request: Request) -> frozenset[str]:
    """The names of the features that a call needs."""
    return frozenset([feature.name for feature in FEATURES if feature.is_needed(sender, request)])


def unsupported(features: Iterable[str], error: RejectedError, model: str) -> AccessError | None:
    """Return the error for a first call that was rejected because the model's endpoint lacks a feature. `model` is the
    model's name.

    Return None if the message mentions no feature, because the rejection may then concern only this call.
    """
    said = str(error)
    for name in (model, _MODEL_PREFIX.sub("", model)):
        said = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "", said)
    for feature in (_FEATURE_BY_NAME[name] for name in sorted(features)) if error.kind == "rejected" else ():
        if feature.words is not None and feature.words.search(said):
            reason = f"the first call with {feature.name} was refused, so no other is made. {feature.advice}"
            return AccessError("unsupported", f"{error}: {reason}", maybe_billed=error.maybe_billed)
    return None


@dataclass(frozen=True)
class FirstTurn:
    """A call's turn to go first, with its model. A reply would prove that the endpoint has all `features` (often none).

    If the turn `is_patient`, other calls wait until the turn has ended. All waiting calls may then be sent, whatever
    the outcome was.
    """

    model: str = ""
    features: frozenset[str] = frozenset()
    is_patient: bool = False


_NO_TURN = FirstTurn()


class FirstCalls:
    """The features that each model is known to have in this session, and the calls that are sent first to find this
    out.

    Each attempt that ends without a reply lets one more call of its kind be sent at once. So an endpoint that is down
    or overloaded is noticed almost as fast as without this check.
    """

    def __init__(self) -> None:
        self._changed: asyncio.Event | None = None
        self._known: dict[str, set[str]] = {}
        self._under_way: Counter[tuple[str, str]] = Counter()
        self._unanswered: Counter[tuple[str, str]] = Counter()
        self._released = False

    def are_known(self, model: str, features: Collection[str]) -> bool:
        """Whether the model has answered calls that needed each of these features."""
        return not features or ((known := self._known.get(model)) is not None and known.issuperset(features))

    def is_free(self, model: str, features: Collection[str]) -> bool:
        """Whether a call that needs these features may be sent now."""
        return all(
            self._under_way[model, name] <= self._unanswered[model, name]
            for name in self._unknown_features(model, features)
        )

    async def turn(self, model: str, features: Collection[str], *, is_patient: bool = False) -> FirstTurn:
        """Wait until the features are known, or until it is this call's turn to go first. The caller has to end the
        turn."""
        while not self._released and (unknown := self._unknown_features(model, features)):
            if self.is_free(model, features):
                self._under_way.update((model, name) for name in unknown)
                return FirstTurn(model, unknown, is_patient)
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        return _NO_TURN

    def unanswered(self, turn: FirstTurn) -> None:
        """Note that an attempt ended without a reply, so that one more call may be sent."""
        if turn.features and not turn.is_patient:
            self._unanswered.update((turn.model, name) for name in turn.features)
            self._wake()

    def end(self, turn: FirstTurn, found: Reply | Failure | None) -> None:
        """End a turn with the call's outcome, None if the call was cancelled."""
        if not turn.features:
            return
        self._under_way.subtract((turn.model, name) for name in turn.features)
        if isinstance(found, Reply) or (turn.is_patient and found is not None):
            self._known.setdefault(turn.model, set()).update(turn.features)
        self._wake()

    def release(self) -> None:
        """Release all waiting calls, which will send nothing because the run is stopping."""
        self._released = True
        self._wake()

    def _unknown_features(self, model: str, features: Collection[str]) -> frozenset[str]:
        return frozenset(features) - self._known.get(model, frozenset())

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None
