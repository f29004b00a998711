import subprocess
import sys

import pytest

from overton.calls import Price, Reply, Settings
from overton.errors import AccessError, InputError
from overton.models import check_model, known_models, open_model, prices_as_of


class Simulated:
    name = identity = "simulated/open-minded"
    holds_form = False

    def __init__(self, name, parameters):
        self.made_with = (name, parameters)

    async def answer(self, request):
        return Reply("position <<A>>")

    async def close(self):
        pass


def test_a_model_is_opened_with_all_that_is_known_of_it():
    model = open_model("openai/gpt-4o-2024-08-06", [("temperature", "0.3"), ("connections", "8")])
    assert model.answerer.name == model.answerer.identity == "openai/gpt-4o-2024-08-06"
    assert model.settings == Settings(temperature=0.3)
    assert model.price is not None
    assert (model.connections, model.price.input, model.price.output) == (8, 2.5, 10.0)
    assert (model.family, model.series, model.reasons) == ("openai", "openai 4o", False)


def test_arguments_win_over_default_settings():
    default = Settings(temperature=1.0, max_tokens=100, extra={"a": 1, "b": 1})
    model = open_model("openai/gpt-4o", [("temperature", "0"), ("extra.b", "2")], default_settings=default)
    assert model.settings == Settings(temperature=0.0, max_tokens=100, extra={"a": 1, "b": 2})


def test_a_model_over_http_takes_64_connections_by_default():
    assert open_model("openai/gpt-4o").connections == 64
    assert open_model("simulated/open-minded", simulated=Simulated).connections == 256


def test_a_simulated_model_is_made_by_the_factory_given():
    model = open_model("simulated/open-minded", [("lean", "0.2")], simulated=Simulated)
    assert model.answerer.made_with == ("open-minded", {"lean": "0.2"})
    assert (model.price, model.family) == (Price(0.0, 0.0), "simulated")


def test_a_simulated_model_needs_a_study():
    with pytest.raises(InputError, match="within a study"):
        open_model("simulated/open-minded")


def test_a_plan_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    price = open_model("openai/gpt-4o", need_key=False).price
    assert price is not None
    assert (price.input, price.output) == (2.5, 10.0)


def test_local_servers_need_no_key(monkeypatch):
    monkeypatch.delenv("OVERTON_API_KEY")
    for spec in ("ollama/llama3.1:8b", "vllm/m", "http://127.0.0.1:1/v1#m"):
        assert open_model(spec).price is None


def test_a_variable_named_for_the_key_must_hold_one(monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(InputError, match="set NOT_SET"):
        open_model("ollama/llama3.1:8b", [("key_env", "NOT_SET")])


def test_either_of_a_provider_s_variables_may_hold_the_key(monkeypatch):
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    with pytest.raises(InputError, match="GEMINI_API_KEY or GOOGLE_API_KEY"):
        open_model("google/gemini-2.0-flash")
    monkeypatch.setenv("GOOGLE_API_KEY", "key")
    assert open_model("google/gemini-2.0-flash").family == "gemini"


def test_a_base_url_in_the_environment_is_checked_and_not_repeated(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hunter2@host/v1")
    with pytest.raises(InputError, match="OPENAI_BASE_URL") as caught:
        open_model("openai/gpt-4o")
    assert "hunter2" not in str(caught.value)


async def test_the_base_url_comes_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/proxy/v1")
    model = open_model("openai/gpt-4o")
    await check_model(model)
    await model.answerer.close()
    assert server.seen[0].path == "/proxy/v1/chat/completions"


async def test_checking_a_model_asks_once_with_its_settings(server):
    model = open_model("openai/gpt-4o", [("base_url", server.url), ("max_tokens", "16"), ("seed", "3")])
    reply = await check_model(model)
    await model.answerer.close()
    assert reply.text == "fine"
    assert [(seen.body["max_tokens"], seen.body["seed"]) for seen in server.seen] == [(16, 3)]


async def test_checking_a_model_shows_its_error_as_it_is(server):
    server.script = [server.replies({"error": {"message": "no such model", "code": "model_not_found"}}, 404)]
    model = open_model("openai/gpt-9", [("base_url", server.url)])
    with pytest.raises(AccessError, match="'gpt-9'"):
        await check_model(model)
    await model.answerer.close()


def test_known_models_list_keys_extras_and_prices():
    rows = {row.spec: row for row in known_models(["open-minded"])}
    assert rows["openai/gpt-4o"].needs == "OPENAI_API_KEY"
    price = rows["openai/gpt-4o"].price
    assert price is not None
    assert (price.input, price.output, price.as_of) == (2.5, 10.0, prices_as_of())
    assert rows["embedded/smollm2-135m"].needs == "overton[embedded]"
    assert rows["http://HOST:PORT/v1#NAME"].needs == "OVERTON_API_KEY (optional)"
    assert rows["simulated/open-minded"].needs == ""
    assert len(rows) == len(known_models(["open-minded"]))


def test_a_gguf_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_model(f"gguf:{tmp_path / 'absent.gguf'}")


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, overton.models\n"
        "overton.models.known_models()\n"
        "heavy = {'aiohttp', 'yarl', 'xllamacpp', 'inspect_ai', 'polars', 'scipy', 'altair'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
