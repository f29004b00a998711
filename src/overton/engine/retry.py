"""How often one call is tried, and how long a retry waits."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from overton.errors import AnswerError, UnavailableError

T = TypeVar("T")


class RetryPolicy:
    """The one back-off policy, for calls, for requests about batches, and for a provider's full batch queue.

    After the k-th failure the wait is `first` * 2**(k-1) seconds, at most `longest`, times a random factor in [0.5, 1),
    so that requests which failed together do not return together. An endpoint's own Retry-After replaces it if it is
    longer; one over `refuse_after` seconds is not waited for: the run stops. If another server is available at once
    there is no wait.

    A request is tried at most `attempts` times. An endpoint that refuses everything for lack of capacity is tried with
    one request at a time, after growing waits, until it has refused `refusals` of them or these waits have reached
    `refuse_after` seconds: then the run stops.
    """

    def __init__(
        self,
        attempts: int = 8,
        first: float = 0.5,
        longest: float = 60.0,
        refuse_after: float = 900.0,
        refusals: int = 20,
    ) -> None:
        self.attempts = attempts
        self.first = first
        self.longest = longest
        self.refuse_after = refuse_after
        self.refusals = refusals

    def gap(self, number: int, retry_after: float | None = None) -> float:
        """Seconds to wait after the `number`-th failure in a row."""
        # 2.0**64 seconds are above any `longest`; larger powers need not fit into a float.
        own: float = min(self.longest, self.first * 2.0 ** min(number - 1, 64)) * random.uniform(0.5, 1)
        return max(own, retry_after or 0.0)

    def wait(self, attempt: int, error: UnavailableError, *, refusing: bool = False) -> float | None:
        """Seconds to wait after a request's `attempt`-th failure; None if it is given up.

        If the endpoint is `refusing` everything, a refusal is not the request's own failure, and the endpoint's rate
        limiter holds back the next attempt.
        """
        if refusing and error.busy:
            return 0.0
        if attempt >= self.attempts:
            return None
        if error.elsewhere:
            return 0.0
        return self.gap(attempt, error.retry_after)

    def refuses(self, error: UnavailableError) -> bool:
        """True if the endpoint asks for more patience than this (a used-up daily quota, say)."""
        return not error.elsewhere and (error.retry_after or 0.0) > self.refuse_after


async def retried(attempt: Callable[[], Awaitable[T]], failed: Callable[[int, AnswerError], Awaitable[T | None]]) -> T:
    """Try until there is an outcome. After the n-th attempt has failed, `failed` gets n and the error: it waits and
    returns None for another attempt, returns an outcome in its place, or raises."""
    number = 0
    while True:
        number += 1
        try:
            return await attempt()
        except AnswerError as error:
            if (found := await failed(number, error)) is not None:
                return found
