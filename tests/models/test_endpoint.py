from overton.calls import Reply
from overton.models.endpoint import without_key
from overton.untrusted import ApiKey


def test_only_a_long_key_is_hidden_in_replies():
    key = "sk-0123456789abcdef"
    echoed = Reply(f"x {key} y", finish=key, model=f"m-{key}")
    assert without_key(echoed, ApiKey(key)) == Reply("x [hidden] y", finish="[hidden]", model="m-[hidden]")
    assert without_key(Reply("EMPTY words"), ApiKey("EMPTY")) == Reply("EMPTY words")
