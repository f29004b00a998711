import pytest

from overton.calls import Settings
from overton.errors import InputError
from overton.models import parse_spec
from overton.models.arguments import read_arguments, takes

OPENAI = parse_spec("openai/gpt-4o")


def test_arguments_become_settings_and_connection_options():
    arguments = read_arguments(
        OPENAI,
        [
            ("temperature", "0.7"),
            ("top_p", "1"),
            ("max_tokens", "50"),
            ("reasoning_effort", "low"),
            ("seed", "7"),
            ("extra.logit_bias", '{"50256": -100}'),
            ("extra.service_tier", "flex"),
            ("base_url", "http://a:1/v1/"),
            ("base_url", "http://b:2/v1"),
            ("connections", "12"),
            ("timeout", "2.5"),
            ("key_env", "MY_KEY"),
            ("hold", "true"),
        ],
    )
    extra = {"logit_bias": {"50256": -100}, "service_tier": "flex"}
    assert arguments.settings == Settings(0.7, 1.0, 50, "low", 7, extra)
    assert arguments.base_urls == ("http://a:1/v1", "http://b:2/v1")
    assert (arguments.connections, arguments.timeout, arguments.key_env, arguments.hold) == (12, 2.5, "MY_KEY", True)


def test_nothing_given_leaves_all_to_the_endpoint():
    arguments = read_arguments(OPENAI, [])
    assert arguments.settings == Settings()
    assert (arguments.base_urls, arguments.connections, arguments.hold) == ((), None, None)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("temperature", "warm", "not a number"),
        ("temperature", "-0.1", "from 0 to 2"),
        ("temperature", "2.1", "from 0 to 2"),
        ("temperature", "nan", "not a number"),
        ("top_p", "0", "above 0 and at most 1"),
        ("max_tokens", "0", "from 1"),
        ("max_tokens", "1.5", "not a whole number"),
        ("seed", "-1", "not a whole number"),
        ("connections", "0", "from 1"),
        ("timeout", "0", "above 0"),
        ("timeout", "inf", "at most 86400"),
        ("hold", "yes", "neither true nor false"),
        ("base_url", "localhost:8000", "not a base URL"),
        ("base_url", "ftp://host/v1", "not a base URL"),
        ("base_url", "@", "no list is given"),
        ("base_url", "@http://host/v1?x", "has no"),
        ("alike", "all", "not one of weights, model"),
        ("temprature", "1", "did you mean 'temperature'"),
        ("threads", "2", "unknown for openai models"),
        ("extra.messages", "[]", "the study writes the messages"),
        ("extra.seed", "1", "use seed=N"),
        ("extra.stream", "true", "does not stream"),
        ("extra.", "1", "no field is given"),
    ],
)
def test_a_wrong_argument_is_named_with_its_key_and_reason(key, value, reason):
    with pytest.raises(InputError) as caught:
        read_arguments(OPENAI, [(key, value)])
    (problem,) = caught.value.problems
    assert problem.place == "--model-arg openai/gpt-4o"
    assert problem.key == key
    assert reason in problem.reason


def test_all_problems_are_reported_at_once():
    with pytest.raises(InputError) as caught:
        read_arguments(OPENAI, [("temperature", "x"), ("top_p", "x"), ("seed", "1"), ("seed", "2")])
    assert [problem.key for problem in caught.value.problems] == ["temperature", "top_p", "seed"]


def test_a_key_given_in_place_of_its_variable_is_not_repeated():
    with pytest.raises(InputError) as caught:
        read_arguments(OPENAI, [("key_env", "sk-proj-secret")])
    assert "sk-proj-secret" not in str(caught.value)


def test_credentials_in_a_base_url_are_refused_and_not_repeated():
    with pytest.raises(InputError, match="credentials") as caught:
        read_arguments(OPENAI, [("base_url", "http://me:hunter2@host/v1")])
    assert "hunter2" not in str(caught.value)


def test_a_server_s_own_address_shares_the_load_with_the_others():
    arguments = read_arguments(parse_spec("http://a:1/v1#m"), [("base_url", "http://b:1/v1")])
    assert arguments.base_urls == ("http://a:1/v1", "http://b:1/v1")


def test_anthropic_takes_temperatures_to_one_and_no_seed():
    spec = parse_spec("anthropic/claude-sonnet-4-5")
    with pytest.raises(InputError) as caught:
        read_arguments(spec, [("temperature", "1.5"), ("seed", "3"), ("hold", "true")])
    assert [problem.key for problem in caught.value.problems] == ["temperature", "seed", "hold"]


def test_inspect_takes_one_base_url():
    with pytest.raises(InputError, match="one base URL"):
        read_arguments(parse_spec("inspect/openai/gpt-4o"), [("base_url", "http://a"), ("base_url", "http://b")])


def test_embedded_models_take_options_of_their_own():
    spec = parse_spec("embedded/smollm2-135m")
    arguments = read_arguments(spec, [("hold", "FALSE"), ("threads", "2"), ("context", "2048"), ("seed", "1")])
    assert (arguments.hold, arguments.threads, arguments.context, arguments.settings.seed) == (False, 2, 2048, 1)
    with pytest.raises(InputError, match="base_url"):
        read_arguments(spec, [("base_url", "http://a")])


def test_a_simulated_model_s_parameters_pass_as_strings():
    spec = parse_spec("simulated/open-minded")
    arguments = read_arguments(spec, [("lean", "0.5"), ("seed", "3"), ("connections", "8")])
    assert arguments.parameters == {"lean": "0.5", "seed": "3"}
    assert arguments.connections == 8
    with pytest.raises(InputError, match="given twice"):
        read_arguments(spec, [("lean", "0.5"), ("lean", "0.6")])


ON_RAY = parse_spec("ray/gguf:/models/m.gguf")


def test_replica_resources_are_read_and_do_not_become_model_settings():
    arguments = read_arguments(
        ON_RAY,
        [
            ("replicas", "8"),
            ("cpus", "0.5"),
            ("gpus", "1"),
            ("connections", "4"),
            ("temperature", "0"),
            ("ray.memory", "8000000000"),
            ("ray.resources", '{"big": 1}'),
            ("ray.scheduling_strategy", "SPREAD"),
        ],
    )
    assert arguments.settings == Settings(temperature=0.0)
    assert (arguments.replicas, arguments.cpus, arguments.gpus, arguments.connections) == (8, 0.5, 1.0, 4)
    assert arguments.ray == {"memory": 8_000_000_000, "resources": {"big": 1.0}, "scheduling_strategy": "SPREAD"}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("replicas", "0", "whole number from 1"),
        ("cpus", "-1", "number of cores from 0"),
        ("ray.resources", "[1]", "not a JSON object of numbers"),
        ("ray.label_selector", '{"zone": 1}', "not a JSON object of words"),
        ("ray.scheduling_strategy", "ANY", "not one of DEFAULT, SPREAD"),
        ("ray.runtime_env", '{"py_executable": "sh -c true"}', "not a Ray option for placing a replica"),
        ("ray.max_restarts", "3", "not a Ray option for placing a replica"),
    ],
)
def test_options_that_ray_must_not_get_are_refused(key, value, reason):
    with pytest.raises(InputError, match=reason):
        read_arguments(ON_RAY, [(key, value)])


def test_a_model_in_this_process_has_no_replicas():
    with pytest.raises(InputError, match="unknown for gguf models"):
        read_arguments(parse_spec("gguf:/models/m.gguf"), [("replicas", "8")])


def test_whether_a_model_so_reached_takes_an_argument():
    here = parse_spec("gguf:/models/m.gguf")
    assert [takes(ON_RAY, key) for key in ("replicas", "ray.memory", "context", "extra.x", "base_url")] == [
        True
    ] * 4 + [False]
    assert [takes(here, key) for key in ("replicas", "ray.memory", "context", "extra.x", "base_url")] == [
        False,
        False,
        True,
        True,
        False,
    ]
