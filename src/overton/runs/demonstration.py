"""The demonstration: a study of the embedded model and, for comparison, of simulated models whose true values are
known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from overton.models import pull
from overton.runs.progress import Watch
from overton.runs.run import Run
from overton.runs.start import run
from overton.studies.registry import DEMO

MODEL = "embedded/smollm2-135m"


def describe(*, full: bool = False) -> str:
    """Describe the demonstration's models and questions in a sentence."""
    models = f"{', '.join([MODEL, *DEMO.respondents])}, each"
    return f"{models}: {DEMO.whole}. This takes hours." if full else f"{models}: {DEMO.said}."


def introductions() -> Iterator[str]:
    """Describe each model of the demonstration in a line. Simulated models are described by their true values."""
    yield (
        f"{MODEL} (real, small): a grammar constrains its answers to the reply format. It shows how Overton works, not"
        " what capable models think."
    )
    for name, respondent in DEMO.respondents.items():
        yield f"{name} (simulated, true values known): {respondent.truth}"


def prepare(progress: Callable[[str], None] | None = None) -> Path:
    """Download the model's weights if they are not in the user's cache yet."""
    return pull(MODEL, progress=progress)


def demo(*, full: bool = False, out: str | Path | None = None, seed: int = 0, watch: Watch | None = None) -> Run:
    """Run the demonstration, which takes a few minutes on two cores. With `full`, run the whole design, which takes
    hours."""
    options: Mapping[str, Any] = {} if full else {"left_out": DEMO.left_out, **DEMO.options}
    return run(
        DEMO.study,
        models=[MODEL, *(f"{name}={respondent.spec}" for name, respondent in DEMO.respondents.items())],
        model_args={name: respondent.parameters for name, respondent in DEMO.respondents.items()},
        out=out,
        seed=seed,
        watch=watch,
        **options,
    )
