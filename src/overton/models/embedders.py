"""Answerers that turn texts into vectors, in this process.

A request's single message is a JSON array of texts. The reply's text is a JSON array with one vector per text. A vector
is an array of numbers with norm 1. It is all zeros if the model knows no word of the text. Numbers have six decimals.
Replies therefore do not depend on a machine's rounding.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Reply, Request
from overton.errors import InputError, MissingExtra, Problem, RejectedError, Unreadable
from overton.untrusted import decode_json

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_TEXTS = 4096
"""The maximum number of texts in one request."""

LONGEST_TEXT = 100_000
"""The maximum number of characters of a text."""

_decode_texts = msgspec.json.Decoder(list[str]).decode
_encode = msgspec.json.Encoder().encode
WORDLLAMA = {"l2_supercat": 256}
"""The configurations whose weights are in wordllama's wheel, each with its number of dimensions."""


class _Embedder(ABC):
    """The common part of embedders. Requests are answered in a thread, one at a time."""

    holds_form = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def answer(self, request: Request) -> Reply:
        """Embed the texts of the request; raises as `overton.calls.Answerer` says."""
        texts = _texts_of(request, self.name)
        return await asyncio.to_thread(self._embed, texts)

    async def close(self) -> None:  # noqa: B027 - an answerer has it, and this is all of it
        """Do nothing, because memory is freed together with this object."""

    def _embed(self, texts: list[str]) -> Reply:
        with self._lock:
            rows = self._vectors(texts).tolist() if texts else []
        return Reply(_encode([[round(value, 6) for value in row] for row in rows]).decode())

    @abstractmethod
    def _vectors(self, texts: list[str]) -> NDArray[Any]:
        """The vectors of texts, one row per text."""


class WordLlamaEmbedder(_Embedder):
    """wordllama, whose wheel contains the weights (256 dimensions, 16 MB, MIT licence). Nothing is downloaded."""

    def __init__(self, config: str = "l2_supercat", *, name: str | None = None) -> None:
        """Look for the weights without loading them.

        Raises:
            InputError: the weights of this configuration are not in the wheel.
            MissingExtra: wordllama is not installed.
        """
        super().__init__(name or f"wordllama/{config}")
        if config not in WORDLLAMA:
            reason = f"its weights are not in the package; available are {', '.join(WORDLLAMA)}"
            raise InputError([Problem("--embedder", self.name, reason)])
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None:
            raise MissingExtra("embeddings by wordllama", "clustering")
        self._config = config
        self._folder = Path(spec.origin).parent

    @cached_property
    def identity(self) -> str:
        """The text `sha256:` and the hash of the weights."""
        weights = self._folder / "weights" / f"{self._config}_{WORDLLAMA[self._config]}.safetensors"
        try:
            return f"sha256:{sha256(weights.read_bytes()).hexdigest()}"
        except OSError as error:
            reason = f"{weights.name} is not in the package: reinstall wordllama"
            raise InputError([Problem("--embedder", self.name, reason)]) from error

    @cached_property
    def _model(self) -> Any:
        from wordllama import WordLlama

        # By default, wordllama looks in a cache folder and then downloads from a hub.
        return WordLlama.load(self._config, dim=WORDLLAMA[self._config], cache_dir=self._folder, disable_download=True)

    def _vectors(self, texts: list[str]) -> NDArray[Any]:
        import numpy as np

        with np.errstate(all="ignore"):  # an empty text would divide by zero words
            return _scale_to_unit(self._model.embed(texts, norm=False))


class SentenceTransformersEmbedder(_Embedder):
    """A model of sentence-transformers, by its name on the hub or its folder. The first use may download weights."""

    def __init__(self, model: str, *, name: str | None = None) -> None:
        """Check the installation without loading the model.

        Raises:
            MissingExtra: sentence-transformers is not installed.
        """
        super().__init__(name or f"sentence-transformers/{model}")
        if find_spec("sentence_transformers") is None:
            raise MissingExtra("embeddings by sentence-transformers", "sentence-transformers")
        self._name = model

    @property
    def identity(self) -> str:
        """The provider and the name."""
        return f"sentence-transformers/{self._name}"

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(self._name, device="cpu")  # so that numbers are the same on every machine

    def _vectors(self, texts: list[str]) -> NDArray[Any]:
        return _scale_to_unit(self._model.encode(texts, convert_to_numpy=True, show_progress_bar=False))


def _texts_of(request: Request, name: str) -> list[str]:
    """The texts of a request for an embedder.

    Raises:
        RejectedError: the request is not in the agreed form, or has too many texts or a text that is too long.
    """
    try:
        texts = decode_json(request.messages[-1].content, _decode_texts)
    except (Unreadable, IndexError) as error:
        raise RejectedError("rejected", f"{name}: an embedder takes a JSON array of texts: {error}") from error
    if len(texts) > MOST_TEXTS or any(len(text) > LONGEST_TEXT for text in texts):
        limits = f"{MOST_TEXTS:,} texts of {LONGEST_TEXT:,} characters"
        raise RejectedError("too long", f"{name}: a request may have at most {limits}")
    return texts


def _scale_to_unit(rows: Any) -> NDArray[Any]:
    """The vectors, scaled to norm 1. Vectors of norm 0 or with NaN become zeros."""
    import numpy as np

    vectors = np.nan_to_num(np.asarray(rows, float), posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: NDArray[Any] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units
