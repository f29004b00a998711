"""What an error of Inspect's means for a sample."""

from __future__ import annotations

from overton.calls import Failure
from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError
from overton.models.inspect import cause_of, said

__all__ = ["trouble_of"]

_REJECTED = {400, 413, 422}
"""Statuses that are about this one request: malformed, too long, filtered."""


def trouble_of(error: Exception, name: str) -> Failure | AnswerError:
    """What an error of a model's means: this one call has failed for good, or the sample cannot go on.

    Inspect has retried what is worth it before it raises. What is left is a request that will never be answered, an
    endpoint that gave no answer in all attempts, or one that lets nobody in.
    """
    cause = cause_of(error)
    if isinstance(cause, RejectedError):
        return Failure(cause.kind, str(cause))
    message = f"{name}: {said(cause)}"
    if isinstance(cause, AnswerError):
        return type(cause)(cause.kind, message)
    status = getattr(cause, "status_code", None)
    if status in {401, 403}:
        return AccessError("no permission", message)
    if status == 404:
        return AccessError("unknown model", message)
    if status in _REJECTED or (status is None and type(cause).__name__ == "ModelGenerateError"):
        return Failure("rejected", message)
    if cause is not error:
        message = f"{message} (in all attempts that --max-retries and --timeout allow)"
    return UnavailableError("no answer", message)
