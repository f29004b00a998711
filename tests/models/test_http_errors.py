import msgspec
import pytest

from overton.errors import AccessError, RejectedError, UnavailableError
from overton.models.http_errors import ErrorContext, error_for, read_complaint
from overton.untrusted import ApiKey

TARGET = ErrorContext("openai/gpt-4o", "gpt-4o", "api.openai.com", ApiKey("sk-0123456789abcdef", "OPENAI_API_KEY"))


def fault(status, content=b"", **headers):
    body = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return error_for(status, headers, body, TARGET)


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 524, 529])
def test_faults_of_the_server_are_worth_asking_again(status):
    error = fault(status, {"error": {"message": "overloaded"}})
    assert isinstance(error, UnavailableError)
    assert error.kind == "server error"
    assert error.maybe_billed == (status in (408, 504, 524))
    assert "overloaded" in str(error)


def test_a_rate_limit_carries_the_wish_to_wait():
    error = fault(429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, **{"retry-after": "3"})
    assert isinstance(error, UnavailableError)
    assert (error.kind, error.retry_after, error.maybe_billed) == ("rate limit", 3.0, False)


@pytest.mark.parametrize(("status", "busy"), [(429, True), (503, True), (529, True), (500, False), (502, False)])
def test_lack_of_capacity_is_distinguished_from_other_failures(status, busy):
    error = fault(status, {"error": {"message": "overloaded"}})
    assert isinstance(error, UnavailableError)
    assert error.busy == busy


def test_a_request_that_is_too_large_for_a_rate_limit_is_rejected():
    said = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000"
    error = fault(429, {"error": {"message": said, "code": "rate_limit_exceeded"}})
    assert isinstance(error, RejectedError)
    assert error.kind == "too long"


def test_google_s_wish_to_wait_is_in_the_body():
    error = fault(429, [{"error": {"code": 429, "message": "quota", "details": [{"retryDelay": "34s"}, {"a": 1}]}}])
    assert isinstance(error, UnavailableError)
    assert error.retry_after == 34.0


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, "no credit"),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, "no credit"),
        (400, {"type": "error", "error": {"message": "Your credit balance is too low to ..."}}, "no credit"),
        (401, {"error": {"message": "Incorrect API key"}}, "bad key"),
        (403, {"error": {"message": "Country not supported"}}, "no permission"),
        (404, {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}, "unknown model"),
        (404, b"404 page not found", "unknown model"),
        (400, {"object": "error", "message": "Invalid model: x", "type": "invalid_model"}, "unknown model"),
        (400, {"error": {"message": "x is not a valid model ID", "code": 400}}, "unknown model"),
        (400, {"error": {"message": "Model Not Exist"}}, "unknown model"),
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}, "unknown model"),
        (405, {"detail": "Method Not Allowed"}, "wrong address"),
        (301, b"", "redirect"),
        (307, b"", "redirect"),
    ],
)
def test_errors_that_no_request_can_pass_stop_the_run(status, content, kind):
    error = fault(status, content)
    assert isinstance(error, AccessError)
    assert error.kind == kind


def test_access_errors_name_the_setting_to_change():
    assert "OPENAI_API_KEY" in str(fault(401))
    assert "OPENAI_API_KEY" in str(fault(403))
    assert "'gpt-4o'" in str(fault(404))
    assert "api.openai.com" in str(fault(404))
    assert "base_url" in str(fault(302))


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (400, {"error": {"message": "temperature does not support 0.5 with this model"}}, "rejected"),
        (
            400,
            {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model."}},
            "rejected",
        ),
        (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}, "too long"),
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens."}}, "too long"),
        (413, {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}, "too long"),
        (400, {"error": {"message": "filtered", "code": "content_filter"}}, "filtered"),
        (403, {"error": {"code": 403, "message": "requires moderation, your input was flagged"}}, "filtered"),
        (422, {"detail": [{"loc": ["body", "top_p"], "msg": "extra fields"}]}, "rejected"),
        (418, b"teapot", "rejected"),
    ],
)
def test_errors_of_one_request_are_rejections(status, content, kind):
    error = fault(status, content)
    assert isinstance(error, RejectedError)
    assert error.kind == kind


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"error": {"message": "m"}}, "m"),
        ({"error": "m"}, "m"),
        ({"message": "m"}, "m"),
        ({"detail": "m"}, "m"),
        ([{"error": {"message": "m"}}], "m"),
        ("m", "m"),
        ({"detail": [{"msg": "m"}]}, '[{"msg":"m"}]'),
        ({"error": {"message": None}}, ""),
        ({}, ""),
        ([], ""),
        (7, ""),
        (None, ""),
    ],
)
def test_the_message_is_found_in_every_usual_form(content, message):
    assert read_complaint(msgspec.json.encode(content), ApiKey(None)).message == message


def test_a_message_is_safe_to_print():
    hostile = "a\x1b[31mred\nline\u202e" + "x" * 2000
    shown = read_complaint(msgspec.json.encode({"message": hostile}), ApiKey(None)).message
    assert shown.isprintable()
    assert len(shown) == 500


def test_html_page_gives_an_empty_message():
    assert read_complaint(b"  <html><body>Bad gateway</body></html>", ApiKey(None)).message == ""


def test_a_key_at_the_edge_of_the_cut_is_hidden_first():
    error = fault(400, {"error": {"message": "x" * 490 + " " + TARGET.key.reveal()}})
    assert "sk-01" not in str(error)
