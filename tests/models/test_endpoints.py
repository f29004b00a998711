import pickle
from urllib.parse import quote

import pytest

from overton.calls import Reply
from overton.models.endpoints import Secret
from overton.untrusted import HIDDEN


def test_a_key_is_in_no_repr_and_no_pickle():
    secret = Secret("sk-0123456789")
    assert "0123" not in f"{secret!r} {secret} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize("echo", ["{}", "Bearer {}", '{{"key": "{}"}}', "two: {} {}"])
def test_a_key_is_hidden_from_errors(echo):
    key = "sk-abc/def+0123456789"
    hidden = Secret(key).hide(echo.format(key, key))
    assert "0123456789" not in hidden
    assert HIDDEN in hidden


def test_a_key_cut_short_or_escaped_is_hidden_too():
    key = 'sk-abc/def"+0123456789'
    assert "def" not in Secret(key).hide(f"got {key[:14]}... and {quote(key, safe='')}")


def test_texts_without_the_key_stay_as_they_are():
    assert Secret("sk-0123456789").hide("nothing here") == "nothing here"
    assert Secret(None).hide("nothing here") == "nothing here"
    assert not Secret(None)


def test_only_a_long_key_is_hidden_in_replies():
    key = "sk-0123456789abcdef"
    echoed = Reply(f"x {key} y", finish=key, model=f"m-{key}")
    assert Secret(key).hide_in_reply(echoed) == Reply("x [hidden] y", finish="[hidden]", model="m-[hidden]")
    assert Secret("EMPTY").hide_in_reply(Reply("EMPTY words")) == Reply("EMPTY words")
