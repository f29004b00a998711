"""When two addresses are the same document, and which host a document comes from."""

from __future__ import annotations

import polars as pl

__all__ = ["told_apart"]

_PARTS = r"^([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*)([^#]*)"
_PLAIN = r"^https?://[a-z0-9.\-]+(?:[/?]|$)"
_PLAIN_HOST = r"^https?://(?:www\.)?([a-z0-9.\-]+)"
_PORT = r":(\d*)$"
_STANDARD = (("http", ("", "80")), ("https", ("", "443")))


def told_apart(names: pl.Series) -> pl.DataFrame:
    """For each of `names` the `address` and the `host` by which documents are told apart, in any order.

    Addresses are compared without fragment, with scheme and host in small letters and without the scheme's own port;
    nothing else is changed. A host is in small letters, without user, port, and a leading 'www.'. What is no address
    (an id, a title) is itself, and its own host.
    """
    whole = pl.DataFrame({"name": names}).with_columns(
        bare=pl.when(pl.col("name").str.contains("://", literal=True))
        .then(pl.col("name").str.splitn("#", 2).struct[0])
        .otherwise("name")
    )
    plain = whole["bare"].str.contains(_PLAIN)  # nearly all are, and need no taking apart
    usual = whole.filter(plain).select("name", address="bare", host=pl.col("bare").str.extract(_PLAIN_HOST))
    return pl.concat([usual, _taken_apart(whole.filter(~plain))])


def _taken_apart(frame: pl.DataFrame) -> pl.DataFrame:
    parts = frame.select("name", found=pl.col("bare").str.extract_groups(_PARTS)).unnest("found")
    parts = parts.rename({"1": "scheme", "2": "authority", "3": "rest"})
    scheme, authority = pl.col("scheme").str.to_lowercase(), pl.col("authority")
    user = authority.str.extract(r"^(.*@)").fill_null("")
    host = authority.str.replace(r"^.*@", "").str.to_lowercase()
    bare, port = host.str.replace(_PORT, ""), host.str.extract(_PORT)
    usual = pl.any_horizontal((scheme == known) & port.is_in(ports) for known, ports in _STANDARD)
    kept = pl.when(usual).then(bare).otherwise(host)
    return parts.select(
        "name",
        address=pl.coalesce(scheme + "://" + user + kept + pl.col("rest"), "name"),
        host=pl.coalesce(bare.str.strip_prefix("www."), "name"),
    )
