import pickle
from urllib.parse import quote

import pytest

from overton.models.endpoints import HIDDEN, Secret


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
    assert Secret("sk-0123456789abcdef").hide_in_body(b"x sk-0123456789abcdef y") == b"x [hidden] y"
    assert Secret("EMPTY").hide_in_body(b"EMPTY words") == b"EMPTY words"
