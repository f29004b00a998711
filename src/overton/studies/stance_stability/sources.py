"""Re-use of documents from earlier turns (equation 1), by address and by host. The module also computes the re-use
expected if documents were chosen at random."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics.arrays import Floats, Ints
from overton.statistics.cell_means import count_different

_WIDEST = 63


@dataclass(frozen=True)
class ReuseCounts:
    """For each turn [T], the number of different documents, and how many of these documents an earlier turn also
    had."""

    count: Ints
    again: Ints

    @property
    def share(self) -> Floats:
        """The term of equation 1, |D_i and D_<i| / |D_i|; NaN for a turn without documents."""
        nothing = np.full(len(self.count), np.nan)
        return np.asarray(np.divide(self.again, self.count, out=nothing, where=self.count > 0))


@dataclass(frozen=True)
class Pages:
    """The P documents of all turns, without repetitions within a turn. Each has the index of its `turn` and the code of
    the `document`. They are sorted by conversation, then document, then turn."""

    turn: Ints
    document: Ints


@dataclass(frozen=True)
class Documents:
    """Counts of the documents of all turns, distinguished by address or by host. `pages` has the documents themselves,
    distinguished by address; None if they were not kept."""

    by_address: ReuseCounts
    by_host: ReuseCounts
    pages: Pages | None = None

    def without(self, turns: NDArray[np.bool_]) -> Documents:
        """The same counts, with 0 documents in some turns [T]."""
        address, host = (
            replace(reuse, count=np.where(turns, 0, reuse.count)) for reuse in (self.by_address, self.by_host)
        )
        return replace(self, by_address=address, by_host=host)


def documents_of(lists: pl.Series, turn: Ints, conversation: Ints, place: Ints, *, pages: bool = False) -> Documents:
    """Count documents and re-used documents. `lists` has the documents of each row [T], and `turn` [T] the index of the
    row's turn. `conversation` and `place` [T] describe the turns, in order. With `pages` the documents themselves are
    kept."""
    count = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    names = lists.filter(pl.Series(count > 0)).explode().rename("name")
    turn_of = np.repeat(turn, count)[names.is_not_null().to_numpy()]
    coded = names.drop_nulls().cast(pl.Categorical)
    code = coded.to_physical().to_numpy()
    with ThreadPoolExecutor(2) as pool:  # NumPy releases the lock, so two threads are faster
        kinds = _numbered(coded, code)
        address, host = pool.map(lambda numbers: _sharing(numbers[code], turn_of, conversation, place), kinds)
    return Documents(address[0], host[0], address[1] if pages else None)


def _numbered(coded: pl.Series, code: NDArray[np.uint32]) -> Iterator[Ints]:
    """Yield a document number for each code, first by address, then by host. Names of the same document have the same
    number."""
    different = pl.DataFrame({"name": coded, "code": code}).unique("code").cast({"name": pl.String})
    known = different.join(normalised(different["name"]), on="name")
    for kind in ("address", "host"):
        numbers = np.zeros(int(code.max(initial=0)) + 1, np.int64)
        numbers[known["code"].to_numpy()] = known[kind].rank("dense").cast(pl.Int64).to_numpy() - 1
        yield numbers


def _sharing(document: Ints, turn: Ints, conversation: Ints, place: Ints) -> tuple[ReuseCounts, Pages]:
    """Count re-used documents. In triples (conversation, document, place), sorted, the first occurrence of a document
    in a conversation is new, and every later occurrence is re-used."""
    turns = len(place)
    if not len(document):
        none = np.zeros(0, np.int64)
        return ReuseCounts(np.zeros(turns, np.int64), np.zeros(turns, np.int64)), Pages(none, none)
    widths = [int(part.max()).bit_length() for part in (conversation, document, place)]
    if sum(widths) > _WIDEST:
        raise OverflowError("too many conversations, documents and turns to distinguish")
    packed = ((conversation[turn] << widths[1]) + document << widths[2]) + place[turn]
    packed.sort()
    packed = packed[np.r_[True, np.diff(packed) > 0]]  # drop repetitions within a turn
    new = np.r_[True, np.diff(packed >> widths[2]) > 0]
    starts = np.flatnonzero(place == 0)
    where = starts[packed >> widths[1] + widths[2]] + (packed & (1 << widths[2]) - 1)
    named = packed >> widths[2] & (1 << widths[1]) - 1
    sharing = ReuseCounts(np.bincount(where, minlength=turns), np.bincount(where[~new], minlength=turns))
    return sharing, Pages(where, named)


_PARTS = r"^([A-Za-z][A-Za-z0-9+.\-]*)://([^/?#]*)([^#]*)"
_PLAIN = r"^https?://[a-z0-9.\-]+(?:[/?]|$)"
_PLAIN_HOST = r"^https?://(?:www\.)?([a-z0-9.\-]+)"
_PORT = r":(\d*)$"
_STANDARD = (("http", ("", "80")), ("https", ("", "443")))


def normalised(names: pl.Series) -> pl.DataFrame:
    """For each of `names`, the `address` and the `host` by which documents are distinguished.

    The rows of the result are in no particular order. An address loses its fragment and a default port, and its scheme
    and host become lower case. The rest of the address is unchanged. A host is in lower case, without a user, a port or
    a leading 'www.'. A name that is not an address, such as a title, is used as both address and host.
    """
    whole = pl.DataFrame({"name": names}).with_columns(
        bare=pl.when(pl.col("name").str.contains("://", literal=True))
        .then(pl.col("name").str.splitn("#", 2).struct[0])
        .otherwise("name")
    )
    plain = whole["bare"].str.contains(_PLAIN)  # nearly all addresses, which need no parsing
    usual = whole.filter(plain).select("name", address="bare", host=pl.col("bare").str.extract(_PLAIN_HOST))
    return pl.concat([usual, _parsed(whole.filter(~plain))])


def _parsed(frame: pl.DataFrame) -> pl.DataFrame:
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


_NOTHING_LEFT = -60.0
"""A stand-in for the logarithm of 0, so that sums stay finite."""


def pool_sizes(shown: Pages, conversation: Ints, topic: Ints) -> Ints:
    """For each conversation [N], the number of different documents shown in all conversations on its topic.

    `conversation` [T] is the index of each turn's conversation, `topic` [N] the code of each conversation's topic.
    """
    of = topic[conversation[shown.turn]]
    return count_different(shown.document, of, int(topic.max(initial=0)) + 1)[topic]


def expected_from_pool(count: Ints, size: Ints, place: Ints) -> Floats:
    """The expected term of equation 1 for each turn [T] if its documents are chosen at random from a pool.

    A turn chooses `count` of `size` equally likely documents, without replacement and independently of other turns. A
    document is new if no earlier turn j chose it. The probability of this is the product of (1 - count_j / size), and
    the expected term is 1 minus this product. NaN for a turn without documents. `place` is each turn's place in its
    conversation.
    """
    left = _logarithm_left(count, size)
    before = np.cumsum(left) - left
    start = np.maximum.accumulate(np.where(place == 0, np.arange(len(place)), 0))
    return np.where(count > 0, -np.expm1(before - before[start]), np.nan)


def expected_from_pages(shown: Pages, had: Ints, count: Ints, conversation: Ints) -> Floats:
    """The expected term for each turn [T] if its `count` citations are chosen at random from the `had` pages of this
    turn.

    A page of this turn may have been cited in each earlier turn j that also had the page. The probability that the page
    was cited before is 1 minus the product of (1 - count_j / had_j) over these turns j. The term is the mean of this
    probability over the turn's pages. NaN for a turn without citations or pages.
    """
    left = _logarithm_left(count, had)[shown.turn]
    before = np.cumsum(left) - left
    place = np.arange(len(left))
    same = (np.diff(conversation[shown.turn]) == 0) & (np.diff(shown.document) == 0)
    first = np.maximum.accumulate(np.where(np.r_[True, ~same][: len(left)], place, 0))
    cited_before = -np.expm1(before - before[first])
    expected = np.bincount(shown.turn, cited_before, len(count))
    nothing = np.full(len(count), np.nan)
    return np.asarray(np.divide(expected, had, out=nothing, where=(count > 0) & (had > 0)))


def _logarithm_left(count: Ints, size: Ints) -> Floats:
    """The logarithm of the proportion of `size` documents that are left after a turn has chosen `count` of them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.log1p(-np.minimum(count, size) / np.maximum(size, 1))
    return np.maximum(left, _NOTHING_LEFT)
