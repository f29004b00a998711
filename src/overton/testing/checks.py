"""The contract of every study on this machine; each check can be called by itself."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from overton.analysis.analyze import measure_run, schema
from overton.analysis.results import measuring_of
from overton.engine import Journal, Limits, entries
from overton.engine.identity import call_seed
from overton.errors import InputError, MissingExtra, OvertonError
from overton.planning.plan import plan
from overton.reports.run_report import report
from overton.runs.items import check_items as findings_of
from overton.runs.items import read_items
from overton.runs.run import Run, open_run
from overton.runs.start import extend, resume
from overton.studies.options import StudyOptions, fields_of
from overton.studies.registry import GROUP, is_registered
from overton.studies.study import INTERFACE
from overton.testing.case import CallLedger, Case, repeat, require, sorted_lines, trials_of, with_ledger

__all__ = [
    "check_analysis",
    "check_declaration",
    "check_extend",
    "check_failures",
    "check_items",
    "check_kill",
    "check_options",
    "check_plan",
    "check_replay",
    "check_report",
    "check_run",
    "check_stop",
]

_ADDED_COLUMNS = {"model", "held"}
"""Columns of the outcome table in addition to a record's own."""


def check_declaration(case: Case) -> None:
    """The study can be found by name and describes itself, and users can choose all its options."""
    study = case.study
    try:
        found = is_registered(study)
    except InputError as error:
        entry = f'[project.entry-points."{GROUP}"] {study.name} = "PACKAGE:STUDY"'
        raise AssertionError(f"{error}\nAdd it to the package's pyproject.toml, {entry}, and install it.") from error
    require(found, study, f"{study.name!r} names a different object: name and install only one")
    require(study.title, study, "has no title; a report begins with it")
    require(study.question, study, "has no question; lists of studies show it")
    require(study.interface in (0, INTERFACE), study, f"was written for an interface other than {INTERFACE}")
    require(study.prompts(), study, "declare its prompts: they let a run notice that a text has changed")
    clash = (set() if study.together else _ADDED_COLUMNS) & set(study.record.__struct_fields__)
    require(not clash, study, f"rename these fields of the record, which are added to it anyway: {sorted(clash)}")
    require(issubclass(study.options, StudyOptions), study, "derive its options from overton.studies.StudyOptions")
    with _Advice(study.name, "declare each option with Annotated[TYPE, Option(HELP)]"):
        fields_of(study.options)
        fields_of(study.items.reading)
        if study.measuring is not None:
            fields_of(study.measuring.how)


def check_items(case: Case) -> None:
    """Items come back from a run unchanged, ids are unique, and problems in a file are reported, not raised."""
    study = case.study
    items = read_items(study, case.items)
    require(len({item.id for item in items}) == len(items), study, "two items share an id")
    findings = findings_of(study, case.items)
    wrong = [str(finding) for finding in findings if finding.severity == "error"]
    require(not wrong, study, f"its own items have errors: {wrong}")
    asked = {item.id: item for item in items}
    kept = case.whole.items()
    require(all(asked.get(item.id) == item for item in kept), study, "items differ after being written and read")
    suffix = next(iter(study.items.suffixes), ".jsonl")
    broken = case.folder / f"broken{suffix}"
    for text in ("", "{", '{"id": ', "[1, 2]\n", '{"id": 7, "\\u0000": [[[]]]}\n', "\ufffd\n"):
        broken.write_text(text, "utf-8")
        found = [problem for problem in findings_of(study, broken) if problem.severity == "error"]
        require(found, study, f"a file with the content {text!r} passes its check of items")


def check_options(case: Case) -> None:
    """An unknown option is refused in Python and on the command line."""
    from click.testing import CliRunner

    from overton.cli.main import app

    study = case.study
    try:
        plan(study.name, **{**case.given, "no_such_option": 1})
    except InputError as error:
        require("no_such_option" in str(error), study, "the refusal of an unknown option does not name it")
    else:
        require(False, study, "accepts an option that it does not have")
    done = CliRunner().invoke(app, ["plan", study.name, "--no-such-option", "1"])
    refused = done.exit_code == 2 or isinstance(done.exception, InputError)
    said = f"{done.output}{done.exception or ''}"
    require(refused and "no-such-option" in said, study, f"the command line said: {said}")


def check_plan(case: Case) -> None:
    """A plan asks nothing, and what the run then asks lies within its limits."""
    study = case.study
    planned = plan(study.name, **case.given)
    require(planned.trials and planned.calls, study, "its plan has no calls: do trials() and conduct() ask anything?")
    require(planned.calls <= planned.calls_at_most, study, "canned: put the replies that ask least first")
    # A plan counts searches and pages as if none were requested twice, so that a run may have fewer.
    least, most = sum(row.calls for row in planned.models if not row.retrieves), planned.calls_at_most
    sent = case.whole.manifest.spent.requests
    hint = "canned: give replies that make every trial as short as possible, then as long as possible"
    require(sent >= least, study, f"its plan has at least {least} calls, the run had {sent}; {hint}")
    if len(study.planning) > 1:
        require(sent <= most, study, f"its plan has at most {most} calls, the run had {sent}; {hint}")


def check_run(case: Case) -> None:
    """The run is complete, nothing failed, every item of every model has records, and trials have unique names."""
    study, run = case.study, case.whole
    require(run.finished, study, f"its run stopped: {run.manifest.stopped}")
    require(not run.failed, study, f"{run.failed} calls failed: can its simulated answerers read every prompt?")
    require(not any(run.manifest.missing.values()), study, "items are missing in a finished run")
    require(run.records().height, study, "conduct() returns no records")
    names = [trial.name for trial in trials_of(case)]
    require(
        len(set(names)) == len(names),
        study,
        "two trials have the same name; include everything that distinguishes them",
    )
    require(run.rows(), study, "its records cannot be read back as the struct that it declares")


def check_kill(case: Case) -> None:
    """Killed in the middle and resumed, it has the same records, and nothing that was stored is paid for again.

    Two other processes, with other hash seeds, make the same calls.
    """
    study, whole = case.study, case.whole
    calls, records = _call_identities(whole.path), sorted_lines(whole.records())
    require(len(calls) >= 4, study, "has too few calls to be killed in the middle; give more items or trials")
    other, unkilled = CallLedger(case.folder / "unkilled"), case.new()
    require(case.child(other, unkilled, hash_seed=1) == 0, study, "a process that repeats it failed")
    advice = "order what comes from a set, and draw with trial.draw()"
    require(_call_identities(unkilled) == calls, study, f"another process makes different calls: {advice}")
    require(
        sorted_lines(open_run(unkilled).records()) == records,
        study,
        f"another process has different records: {advice}",
    )
    expected = set(other.paid())

    ledger, out = CallLedger(case.folder / "killed"), case.new()
    status = case.child(ledger, out, kill_at=max(2, len(expected) // 2), hash_seed=2)
    require(status != 0, study, "finished before it could be killed; do its models draw from each call's seed?")
    kept, before = _stored_seeds(case, out), len(ledger.paid())
    require(kept, study, "had stored nothing when it was killed; give more items or trials")
    resume(Run(out, study=with_ledger(study, ledger)))
    again = set(ledger.paid()[before:])
    require(not again & kept, study, f"paid for {len(again & kept)} calls twice")
    require(set(ledger.paid()) == expected, study, f"made different calls after being resumed: {advice}")
    require(
        sorted_lines(open_run(out).records()) == records, study, f"has different records after being resumed: {advice}"
    )


def check_replay(case: Case) -> None:
    """Resuming a finished run asks nothing, and its records stay the same."""
    study, ledger = case.study, CallLedger(case.folder / "replayed")
    records = sorted_lines(case.whole.records())
    resume(Run(case.whole.path, study=with_ledger(study, ledger)))
    require(not ledger.paid(), study, "a finished run asks when resumed: conduct() must depend on replies alone")
    require(sorted_lines(case.whole.records()) == records, study, "a finished run has different records when resumed")


def check_stop(case: Case) -> None:
    """Stopped by a limit, it reports whole items only, and resumes to the same records without paying twice."""
    study, ledger, out = case.study, CallLedger(case.folder / "stopped"), case.new()
    most = case.whole.manifest.spent.requests
    stopped = repeat(with_ledger(study, ledger), case.whole.path, out, Limits(calls=1))
    require(stopped.manifest.status == "stopped", study, "does not stop at a limit of one call")
    _check_shown(case, out)
    resume(Run(out, study=with_ledger(study, ledger)), max_calls=max(2, most // 2))
    _check_shown(case, out)
    resume(Run(out, study=with_ledger(study, ledger)), max_calls=10 * most)
    paid = ledger.paid()
    require(len(paid) == len(set(paid)), study, "paid for calls twice after a limit")
    require(
        sorted_lines(open_run(out).records()) == sorted_lines(case.whole.records()),
        study,
        "has different records after a limit",
    )


def check_extend(case: Case) -> None:
    """Extended, it has what a larger run has, and nothing is paid for again; studies that cannot grow are skipped."""
    study, ledger, out = case.study, CallLedger(case.folder / "extended"), case.new()
    more = dict(case.more) or _larger_option(case)
    if not more:
        return
    repeat(with_ledger(study, CallLedger(case.folder / "before")), case.whole.path, out)
    kept, old = _stored_seeds(case, out), sorted_lines(case.whole.records())
    extend(Run(out, study=with_ledger(study, ledger)), **more)
    grown = sorted_lines(open_run(out).records())
    require(not kept & set(ledger.paid()), study, "paid for calls again when it was extended")
    require(len(grown) > len(old), study, f"has no more records with {more}")
    advice = "name trials by everything that shapes them, and nothing else"
    require(set(old) <= set(grown), study, f"has different records of its old trials when extended: {advice}")
    resume(Run(out, study=with_ledger(study, ledger)))
    require(sorted_lines(open_run(out).records()) == grown, study, "has different records when resumed after extending")


def check_failures(case: Case) -> None:
    """Failed calls are counted and shown; if all fail, nothing looks measured; asked again, records are the same."""
    study, out = case.study, case.new()
    repeat(with_ledger(study, CallLedger(case.folder / "some-fail"), failing=3), case.whole.path, out)
    run = open_run(out)
    caught = "let conduct() catch CallFailed and return a record that says so (ask_until_read does the former)"
    require(run.finished, study, f"stops when calls fail: {caught}")
    require(run.failed, study, "no call failed where a third should; do its models draw from each call's seed?")
    _check_shown(case, out)
    resume(Run(out, study=with_ledger(study, CallLedger(case.folder / "again"))), retry_failed=True)
    again = "asked again, failed calls give different records: let requests depend on replies alone"
    require(sorted_lines(open_run(out).records()) == sorted_lines(case.whole.records()), study, again)

    none = case.new()
    repeat(with_ledger(study, CallLedger(case.folder / "all-fail"), failing=1), case.whole.path, none)
    _check_shown(case, none)
    headline = measuring_of(study).headline
    with suppress(InputError):
        if headline is not None:
            found = list(headline.figures(measure_run(study.name, none).analysis))
            looked = [name for name, estimate in found if isfinite(estimate.value)]
            require(not looked, study, f"every call failed, but there is a value for {', '.join(looked)}")


def check_analysis(case: Case) -> None:
    """Its analysis is the same each time, and its JSON follows its schema and names the study."""
    study = case.study
    first = measure_run(study.name, case.whole.path).document()
    require(first == measure_run(study.name, case.whole.path).document(), study, "two analyses of one run differ")
    require(first["study"] == study.name, study, "its JSON names another study")
    _check_schema(case, msgspec.json.decode(msgspec.json.encode(first)))
    shown = measure_run(study.name, case.whole.path).summary()
    require(shown, study, "its summary is empty: mark a Table or a Callout with summary=True")


def check_report(case: Case) -> None:
    """Its report is one file that names the study, and several runs can be reported together."""
    study = case.study
    page = report([case.whole.path], out=case.folder / "report.html").read_text("utf-8")
    require("<html" in page and study.title in page, study, "its report lacks its title")
    both = report([case.whole.path, _repeat_whole(case)], out=case.folder / "both.html")
    require(both.is_file(), study, "two runs cannot be reported together")


def _repeat_whole(case: Case) -> Path:
    out = case.new()
    repeat(case.study, case.whole.path, out)
    return out


def _check_shown(case: Case, run: Path) -> None:
    """An incomplete run is measured and reported, or an error says why not."""
    with (
        suppress(OvertonError),
        _Advice(case.study.name, "let its measures and exhibits accept a table without answers"),
    ):
        report([run])
    with suppress(OvertonError), _Advice(case.study.name, "let its measures accept a table without answers"):
        _check_schema(case, msgspec.json.decode(msgspec.json.encode(measure_run(case.study.name, run).document())))


def _check_schema(case: Case, document: Any) -> None:
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        raise MissingExtra("checking JSON against its schema", "testing") from None
    declared = schema(case.study.name)
    wrong = [f"{error.json_path}: {error.message}" for error in Draft202012Validator(declared).iter_errors(document)]
    require(not wrong, case.study, f"its analysis does not match its types: {wrong[:3]}")


class _Advice:
    """Says what an author has to do if the study raises what it should not."""

    def __init__(self, study: str, advice: str) -> None:
        self._words = f"the study {study}: {advice}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, OvertonError | AssertionError):
            raise AssertionError(f"{self._words}; it raised {type(error).__name__}: {error}") from error


def _larger_option(case: Case) -> dict[str, Any]:
    now = case.whole.manifest.options
    for field in fields_of(case.study.options):
        if field.option.extends and field.kind is int and not field.several and isinstance(now[field.name], int):
            return {field.name: now[field.name] + 1}
    return {}


def _read_entries(run: Path) -> Iterable[Any]:
    """A run's journal entries; a killed run's journal is recovered in a copy."""
    with tempfile.TemporaryDirectory() as copy:
        for path in run.glob("journal.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, copy)
        if not (Path(copy) / "journal.db").is_file():
            return []
        Journal(Path(copy) / "journal.db").close()
        return list(entries(Path(copy) / "journal.db"))


def _call_identities(run: Path) -> set[Any]:
    return {entry.identity for entry in _read_entries(run)}


def _stored_seeds(case: Case, run: Path) -> set[int]:
    return {call_seed(entry.identity, case.seed) for entry in _read_entries(run)}
