"""The number of times that a call is tried, and the wait before each retry."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from overton.errors import AnswerError, UnavailableError

T = TypeVar("T")


class RetryPolicy:
    """The back-off policy for calls, for requests about batches, and for a provider's full batch queue.

    The wait after the k-th failure is `first` * 2**(k-1) seconds, but at most `longest` seconds. It is multiplied by a
    random factor in [0.5, 1), so that requests that failed together are not retried together. If an endpoint's
    Retry-After is longer, it replaces this wait. If the Retry-After is longer than `refuse_after` seconds, the run
    stops instead of waiting. If another server is available at once, there is no wait.

    A request is tried at most `attempts` times. If an endpoint refuses everything for lack of capacity, the engine
    sends one request at a time, after growing waits. The run stops once the endpoint has refused `refusals` requests in
    a row or the waits have reached `refuse_after` seconds in all.
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
        # 2.0**64 seconds exceed any `longest`, and much larger powers do not fit into a float.
        own: float = min(self.longest, self.first * 2.0 ** min(number - 1, 64)) * random.uniform(0.5, 1)
        return max(own, retry_after or 0.0)

    def wait(self, attempt: int, error: UnavailableError, *, refusing: bool = False) -> float | None:
        """Seconds to wait after a request's `attempt`-th failure; None if the request is given up.

        If the endpoint is `refusing` everything, a refusal does not count as a failure of the request. The endpoint's
        rate limiter then delays the next attempt.
        """
        if refusing and error.busy:
            return 0.0
        if attempt >= self.attempts:
            return None
        if error.elsewhere:
            return 0.0
        return self.gap(attempt, error.retry_after)

    def refuses(self, error: UnavailableError) -> bool:
        """Whether the endpoint asks for a longer wait than the policy allows, as when a daily quota is used up."""
        return not error.elsewhere and (error.retry_after or 0.0) > self.refuse_after


async def retried(attempt: Callable[[], Awaitable[T]], failed: Callable[[int, AnswerError], Awaitable[T | None]]) -> T:
    """Try until there is an outcome. After the n-th attempt has failed, `failed` is called with n and the error.
    `failed` raises an error, returns an outcome, or waits and then returns None to request another attempt."""
    number = 0
    while True:
        number += 1
        try:
            return await attempt()
        except AnswerError as error:
            if (found := await failed(number, error)) is not None:
                return found
