import pickle
from urllib.parse import quote

import pytest

from overton.calls import Reply
from overton.models.endpoint import ApiKey
from overton.untrusted import HIDDEN


def test_a_key_is_in_no_repr_and_no_pickle():
    secret = ApiKey("sk-0123456789")
    assert "0123" not in f"{secret!r} {secret} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize("echo", ["{}", "Bearer {}", '{{"key": "{}"}}', "two: {} {}"])
def test_a_key_is_hidden_from_errors(echo):
    key = "sk-abc/def+0123456789"
    hidden = ApiKey(key).hide(echo.format(key, key))
    assert "0123456789" not in hidden
    assert HIDDEN in hidden


def test_a_key_cut_short_or_escaped_is_hidden_too():
    key = 'sk-abc/def"+0123456789'
    assert "def" not in ApiKey(key).hide(f"got {key[:14]}... and {quote(key, safe='')}")


def test_texts_without_the_key_stay_as_they_are():
    assert ApiKey("sk-0123456789").hide("nothing here") == "nothing here"
    assert ApiKey(None).hide("nothing here") == "nothing here"
    assert not ApiKey(None)


def test_only_a_long_key_is_hidden_in_replies():
    key = "sk-0123456789abcdef"
    echoed = Reply(f"x {key} y", finish=key, model=f"m-{key}")
    assert ApiKey(key).hide_in_reply(echoed) == Reply("x [hidden] y", finish="[hidden]", model="m-[hidden]")
    assert ApiKey("EMPTY").hide_in_reply(Reply("EMPTY words")) == Reply("EMPTY words")
