"""Exceptions for endpoints' errors, made from status, headers and body. Their messages say what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError, Unreadable
from overton.untrusted import ApiKey, decode_json, retry_after

_MESSAGE_LIMIT = 500
_MAX_READ_CHARS = 32 * _MESSAGE_LIMIT
_MOST_LAYERS = 4
_decode = msgspec.json.Decoder().decode
_SERVER_FAULT_STATUSES = {408, 409, 425}
_BUSY_STATUSES = {503, 529}  # 529 is Anthropic's 'overloaded'
_MAYBE_BILLED_STATUSES = {408, 504, 524}  # a gateway gave up waiting; the model behind it may have answered
_NO_CREDIT_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
_NO_CREDIT_TEXT = re.compile(r"credit balance is too low|insufficient (balance|credits?)", re.IGNORECASE)
_UNKNOWN_MODEL_CODES = {"model_not_found", "invalid_model"}
_UNKNOWN_MODEL_TEXT = re.compile(
    r"model\b.{0,120}\b(does not exist|not exist|not found)|not a valid model|(invalid|unknown) model\b", re.IGNORECASE
)
_FILTERED_CODES = {"content_filter", "content_policy_violation", "moderation_blocked"}
_FILTERED_TEXT = re.compile(r"flagged|moderation|content policy|usage guidelines|usage policy", re.IGNORECASE)
_TOO_LONG_CODES = {"context_length_exceeded", "request_too_large", "string_above_max_length"}
_TOO_LARGE_TEXT = re.compile(r"^request too large\b", re.IGNORECASE)
_TOO_LONG_TEXT = re.compile(r"context (length|window|size)|prompt is too long|too many tokens", re.IGNORECASE)


@dataclass(frozen=True)
class ErrorContext:
    """The facts about a model that its errors mention: the spec as written, the provider's name of the model, the host,
    and where the key comes from."""

    name: str
    model: str
    host: str
    key: ApiKey


@dataclass(frozen=True)
class ErrorBody:
    """The content of an error body: its message ('' if none), its codes and types in lower case, and the number of
    seconds to wait before a retry."""

    message: str = ""
    codes: frozenset[str] = frozenset()
    retry_after: float | None = None


def error_for(status: int, headers: Mapping[str, str], body: bytes, target: ErrorContext) -> AnswerError:
    """The error for a reply whose status is not 200."""
    complaint = read_complaint(body, target.key)
    if 300 <= status < 400:
        return AccessError("redirect", _redirect_message(status, target))
    said = f" ({status}{': ' + complaint.message if complaint.message else ''})"
    return _access_error(status, complaint, target, said) or _request_error(status, headers, complaint, target, said)


def _redirect_message(status: int, target: ErrorContext) -> str:
    return (
        f"{target.name}: {target.host} redirects to another address ({status}). Overton does not follow redirects,"
        " because the other address would receive your key; give the final address with base_url"
    )


def _access_error(status: int, complaint: ErrorBody, target: ErrorContext, said: str) -> AnswerError | None:
    about_the_model = status in {400, 422} and _UNKNOWN_MODEL_TEXT.search(complaint.message)
    if status == 402 or complaint.codes & _NO_CREDIT_CODES or _NO_CREDIT_TEXT.search(complaint.message):
        return AccessError("no credit", f"{target.name}: the account at {target.host} has no credit left{said}")
    if complaint.codes & _UNKNOWN_MODEL_CODES or status == 404 or about_the_model:
        known = f"{target.host} does not know the model '{target.model}' (or the base URL is wrong)"
        return AccessError("unknown model", f"{target.name}: {known}{said}")
    if status == 401:
        return AccessError("bad key", f"{target.name}: {_key_advice(target)}{said}")
    if status == 403 and not _is_filtered(complaint):
        advice = f"{target.host} does not permit this; check that the key in {target.key.variable} may use this model"
        return AccessError("no permission", f"{target.name}: {advice}{said}")
    if status == 405:
        return AccessError("wrong address", f"{target.name}: {target.host} refuses this request: check base_url{said}")
    return None


def _key_advice(target: ErrorContext) -> str:
    if target.key:
        return f"{target.host} does not accept the key in {target.key.variable}: set it to a valid one"
    return f"{target.host} requires a key: set {target.key.variable}"


def _request_error(
    status: int, headers: Mapping[str, str], complaint: ErrorBody, target: ErrorContext, said: str
) -> UnavailableError | RejectedError:
    wait = retry_after(headers)
    wait = complaint.retry_after if wait is None else wait
    if status == 429 and _TOO_LARGE_TEXT.search(complaint.message):  # can never succeed
        return RejectedError("too long", f"{target.name}: the request was rejected{said}")
    if status == 429:
        return UnavailableError("rate limit", f"{target.name}: too many requests{said}", retry_after=wait)
    if status >= 500 or status in _SERVER_FAULT_STATUSES:
        billed = status in _MAYBE_BILLED_STATUSES
        message = f"{target.name}: {target.host} failed{said}"
        return UnavailableError(
            "server error", message, retry_after=wait, maybe_billed=billed, busy=status in _BUSY_STATUSES
        )
    return RejectedError(_rejection_kind(status, complaint), f"{target.name}: the request was rejected{said}")


def _rejection_kind(status: int, complaint: ErrorBody) -> str:
    if status == 413 or complaint.codes & _TOO_LONG_CODES or _TOO_LONG_TEXT.search(complaint.message):
        return "too long"
    return "filtered" if _is_filtered(complaint) else "rejected"


def _is_filtered(complaint: ErrorBody) -> bool:
    return bool(complaint.codes & _FILTERED_CODES or _FILTERED_TEXT.search(complaint.message))


def read_complaint(body: bytes, key: ApiKey) -> ErrorBody:
    """The content of an error body in any of the usual forms. It is empty for HTML and other unknown forms.

    The message is made safe to print: the key is hidden, control characters are removed, and at most 500 characters
    remain.
    """
    try:
        content = decode_json(body, _decode)
    except Unreadable:
        text = body[: 4 * _MESSAGE_LIMIT].decode(errors="replace")
        return ErrorBody("" if text.lstrip().startswith("<") else _make_printable(text, key))
    layers = _layers(content)
    message = next((text for layer in layers if (text := _message(layer))), "")
    codes = (layer.get(name) for layer in layers for name in ("code", "type", "status"))
    said = frozenset(str(code).lower() for code in codes if isinstance(code, str | int))
    return ErrorBody(_make_printable(message, key), said, _google_delay(layers))


def _layers(content: Any) -> list[dict[str, Any]]:
    """The objects that may have a message, innermost first: {"error": {...}}, [{"error": {...}}], {"detail": "..."}."""
    if isinstance(content, list) and content:
        content = content[0]
    found = []
    for _ in range(_MOST_LAYERS):
        layer = {"message": content} if isinstance(content, str) else content
        if not isinstance(layer, dict):
            break
        found.append(layer)
        content = layer.get("error")
    return found[::-1]


def _message(layer: dict[str, Any]) -> str:
    for key in ("message", "detail"):
        value = layer.get(key)
        if value and not isinstance(value, str):
            value = _encode_value(value)
        if value:
            return str(value)
    return ""


def _encode_value(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, OverflowError):  # the JSON is nested too deeply, or a number is too large
        return ""


def _google_delay(layers: list[dict[str, Any]]) -> float | None:
    """The seconds in Google's RetryInfo, which Google sends in place of a Retry-After header."""
    for layer in layers:
        details = layer.get("details")
        for detail in details if isinstance(details, list) else []:
            delay = detail.get("retryDelay") if isinstance(detail, dict) else None
            if isinstance(delay, str) and re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,9})?s", delay):
                return float(delay[:-1])
    return None


def _make_printable(text: str, key: ApiKey) -> str:
    hidden = key.hide(text[:_MAX_READ_CHARS])
    shown = " ".join("".join(c if c.isprintable() else " " for c in hidden).split())
    return shown if len(shown) <= _MESSAGE_LIMIT else shown[: _MESSAGE_LIMIT - 3] + "..."
