"""Every call into Overton that the comparison makes: whoever changes a Python call changes it here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

import overton
from overton.analysis.analyze import measure_run
from overton.commands.pluralism import show_compare_clusterings
from overton.engine import entries
from overton.studies.document import SCHEMA, document
from overton.studies.options import check_stored, fields_of, options_of, stored_options
from overton.studies.registry import study_named
from overton.untrusted import converted

from .keys import estimates_1, schema_1
from .numbers import compared, gated, numbers
from .schema_1.comparison import comparison_1

Json = Any


def run_study(  # noqa: PLR0917
    name: str,
    models: Sequence[str],
    others: Mapping[str, Sequence[str]],
    items: Any,
    only: Sequence[str] | None,
    options: Mapping[str, Any],
    out: Path,
    model_args: Mapping[str, Mapping[str, str]],
) -> Path:
    """Run a study; gives the run's folder."""
    with _as_stored():
        run = overton.run(
            name,
            models=models,
            others=others,
            items=items,
            only=only,
            out=out,
            model_args=model_args,
            anyway=True,  # the pins are older than the check of first replies
            **options,
        )
    if _has_removed(study_named(name).options, options):
        _replay(run.path)
    return run.path


@contextmanager
def _as_stored() -> Iterator[None]:
    """Accept removed values of options, as a stored run's manifest may have them."""

    def read(kind: Any, given: Mapping[str, Any]) -> Any:
        if not _has_removed(kind, given):
            return options_of(kind, given)
        check_stored(kind, given)
        return converted(stored_options(kind, given), kind)

    with patch("overton.runs.setup.options_of", read):
        yield


def _has_removed(kind: Any, given: Mapping[str, Any]) -> bool:
    return any(given.get(field.name) == word for field in fields_of(kind) for word, _ in field.option.removed)


def _replay(run: Path) -> None:
    """Make a finished run's records again from its manifest and journal alone, as of a run that is stored."""
    (run / "records.parquet").unlink()
    with patch("overton.runs.preparation.open_models", side_effect=AssertionError("a replay opens a model")):
        assert overton.resume(run).finished


def plan_study(  # noqa: PLR0917
    name: str,
    models: Sequence[str],
    others: Mapping[str, Sequence[str]],
    items: Any,
    only: Sequence[str] | None,
    options: Mapping[str, Any],
    model_args: Mapping[str, Mapping[str, str]],
) -> Json:
    """The output of `plan --json`."""
    with _as_stored():
        planned = overton.plan(
            name, models=models, others=others, items=items, only=only, model_args=model_args, **options
        )
    return _shown(planned)


def _shown(planned: Any) -> Json:
    return document(planned.study, SCHEMA, planned)


def analyze(study: str, source: Path, how: Mapping[str, Any]) -> tuple[Json, Json]:
    """The JSON that `analyze` prints of a run's folder or of a table, and its numbers by what they measure.

    Where it prints schema 2, both are as schema 1 was, by `schema_1/STUDY.csv`.
    """
    outcome = measure_run(study, source, **how)
    document = outcome.document()
    if document["schema"] == SCHEMA:
        return document, numbers(outcome.analysis.estimates(), document)
    return schema_1(document), numbers(estimates_1(document), schema_1(document))


def compare(sources: Sequence[str | Path], although: str | None = None) -> Json:
    """Differences and verdicts of every pair of models, by measure, as schema 1 was."""
    return compared(comparison_1(overton.compare(*map(str, sources), although=although).to_json()))


def gate(base: Path, candidate: str, config: Path, although: str) -> Json:
    """The verdicts of a gate on a candidate, by measure."""
    return gated(overton.gate(base, candidate, config, although=although).to_json())


def baseline(source: str, out: Path) -> Json:
    """The measures of a model that a baseline keeps, each by its key."""
    overton.baseline(source, out=out)
    return json.loads(out.read_bytes())["sides"]


def records(run: Path) -> Json:
    """Every column of a run's records: its type, and its values in the order of the rows."""
    table = overton.open_run(run).records()
    return {
        "types": {name: str(kind) for name, kind in table.schema.items()},
        "rows": {name: table[name].to_list() for name in table.columns},
    }


def identities(run: Path) -> dict[str, dict[str, str]]:
    """Digests of slot, messages, settings and form of every call of a run, by its place, sorted.

    A place is the trial, the speaker, the number and who answers; a call that all trials share has its messages' digest
    besides. Digests are cut to 48 bits. For an answerer, only the name counts: the slot digests its parameters, too.
    """
    found: dict[str, dict[str, str]] = {}
    for entry in sorted(entries(run / "journal.db"), key=lambda one: (one.identity.slot, one.identity.content)):
        slot, content = entry.identity.slot[:6].hex(), entry.identity.content
        messages, settings, form = (content[start : start + 6].hex() for start in (0, 8, 16))
        trial, _, lane = entry.place.trial.partition(" of ")
        place = [trial, lane and f"of {lane.partition(' ')[0]}", entry.place.speaker, str(entry.place.number)]
        name = " ".join(part for part in [*place, entry.place.answerer.partition(" ")[0]] if part)
        name += "" if trial else f" {messages}"
        assert name not in found, f"{name} stands for two calls"
        found[name] = {"slot": slot, "messages": messages, "settings": settings, "form": form}
    return dict(sorted(found.items()))


def rephrase(path: Path, model: str, out: Path) -> Path:
    """Paraphrases of issues; gives the run's folder."""
    return overton.items.rephrase(items=path, models=[model], out=out, again=True).path


def audit(path: Path, judges: Sequence[str], out: Path, options: Mapping[str, Any]) -> tuple[Path, Json]:
    """Verdicts on paraphrases and how far the judges agree."""
    run = overton.items.audit(items=path, models=judges, out=out, **options)
    return run.path, measure_run("audit", run.path).document()


def make_topics(domains: Sequence[str], model: str, per_domain: int, out: Path) -> Path:
    """Topics of domains; gives the run's folder."""
    return overton.items.topics(domains=domains, models=[model], out=out, per_domain=per_domain).path


def plan_references(threads: Path, model: str, methods: Sequence[str]) -> Json:
    """The calls for making reference viewpoints."""
    return _shown(overton.plan("references", items=threads, models=[model], methods=methods))


def build_references(threads: Path, model: str, method: str, out: Path, more: Mapping[str, Any]) -> Path:
    """Reference viewpoints by one clustering; gives the run's folder."""
    return overton.items.references(items=threads, models=[model], methods=[method], out=out, **more).path


def compare_clusterings(threads: Path, model: str, methods: tuple[str, str], out: Path) -> tuple[Path, Json]:
    """Two clusterings in one run, and how they agree."""
    run = overton.items.references(items=threads, models=[model], methods=methods, out=out)
    return run.path, show_compare_clusterings(overton.items.compare_clusterings(run.path)).data


def build_dilemmas(posts: Path, comments: Path, judge: str, out: Path) -> tuple[Path, Json]:
    """Dilemmas from dumps, unclear comments read by a judge: the judge's run, and what each step kept."""
    built = overton.items.dilemmas([posts], [comments], out, judge=judge, top=10)
    assert built.judged is not None
    return built.judged.path, msgspec.to_builtins(built.steps)


def judge_transcripts(path: Path, judge: str, out: Path, options: Mapping[str, Any]) -> Path:
    """Turns of conversations labelled by a judge; gives the run's folder."""
    return overton.judge.stance_stability(items=path, models=[judge], out=out, **options).path


def of_judge(study: str, run: Path) -> Json:
    """The output of `analyze --json` on a run on controls, or on one with repeat labels of its judge."""
    return measure_run(study, run).document()


def good_questions() -> list[tuple[str, str]]:
    """Fifteen questions with their kinds, as a topic has them."""
    topics = overton.items.read(study_named("stance-stability"), Path(__file__).with_name("tables") / "topics.jsonl")
    return [(question.text, question.kind) for question in topics[0].questions]
