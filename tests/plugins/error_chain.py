"""An error and those that led to it: whoever logs one, or debugs, sees all of them."""

from __future__ import annotations

from collections.abc import Iterator


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, then its cause or context, and so on: also those that a traceback leaves out."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
