"""Price lists: their dates, what a user's own file may contain, and what calls cost by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from overton.calls import Price, Usage
from overton.errors import InputError
from overton.models import parse_spec, price_of
from overton.models.prices import read_price_list

OWN = """
[table]
as_of = "2026-03-01"
[batches]
openai = 0.4
[caches]
anthropic = [0.1, 1.25]
[openai]
"gpt-x" = [2, 8.0, 0.5]
[anthropic]
"claude-x" = [4.0, 20.0]
[http]
"my-model" = [0.02, 0.04]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text)
    return path


def test_a_list_of_ones_own_is_read(tmp_path: Path) -> None:
    found = read_price_list(written(tmp_path, OWN))
    assert found.of(parse_spec("openai/gpt-x-2026-01-01")) == Price(2.0, 8.0, 0.5, None, 0.4, "2026-03-01")
    assert found.of(parse_spec("anthropic/claude-x")) == Price(4.0, 20.0, 0.4, 5.0, None, "2026-03-01")
    assert found.of(parse_spec("http://localhost:1/v1#my-model")) == Price(0.02, 0.04, as_of="2026-03-01")
    assert found.of(parse_spec("openai/gpt-4o")) is None


def test_known_prices_carry_their_date_and_discounts() -> None:
    found = price_of(parse_spec("anthropic/claude-sonnet-4-0"))
    assert found is not None
    assert (found.cached, found.written, found.batch) == pytest.approx((0.3, 3.75, 0.5))
    assert found.as_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[openai]\n'a' = [1.0, 2.0]", "table.as_of"),
        ("[table]\nas_of = 'yesterday'", "table.as_of"),
        ("[table]\nas_of = 2026-01-01\n[nobody]\n'a' = [1, 2]", "nobody: is not a provider"),
        ("[table]\nas_of = 2026-01-01\n[openai]\n'a' = [1]", "openai.a"),
        ("[table]\nas_of = 2026-01-01\n[openai]\n'a' = [1, -2]", "openai.a"),
        ("[table]\nas_of = 2026-01-01\n[openai]\n'a' = [1, nan]", "openai.a"),
        ("[table]\nas_of = 2026-01-01\n[openai]\n'a' = [1, true]", "openai.a"),
        ("[table]\nas_of = 2026-01-01\n[openai]\n'a' = [1, '\\u001b[2J']", "openai.a"),
        ("[table]\nas_of = 2026-01-01\n[batches]\nopenai = 2", "batches.openai"),
        ("[table]\nas_of = 2026-01-01\n[caches]\nopenai = [1]", "caches.openai"),
        ("openai = 3\n[table]\nas_of = 2026-01-01", "openai: is not a provider"),
        ("[table", "is not valid TOML"),
        ("x" * (2**20 + 1), "is larger than"),
    ],
)
def test_invalid_price_is_refused_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as raised:
        read_price_list(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)
    assert str(raised.value).isprintable()


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_price_list(tmp_path / "none.toml")


def test_cached_tokens_count_at_their_own_price() -> None:
    price = Price(10.0, 100.0, cached=1.0, written=12.5, batch=0.5)
    assert price.cost(Usage(1000, 10, cached=600, written=300)) == pytest.approx(
        (100 * 10 + 600 * 1 + 300 * 12.5 + 10 * 100) / 1e6
    )
    assert price.in_batches.cost(Usage(1000, 10, cached=600, written=300)) == pytest.approx(
        (100 * 10 + 600 * 1 + 300 * 12.5 + 10 * 100) / 2e6
    )
    assert price.worst_input == 12.5
    # No provider promises the cached price in a batch if writing is free; nor can more be cached than sent.
    assert Price(10.0, 100.0, cached=1.0, batch=0.5).in_batches.cost(Usage(1000, 10, cached=600)) == pytest.approx(
        0.0055
    )
    assert Price(10.0, 0.0, cached=0.0).cost(Usage(10, 0, cached=10**6)) == 0.0
