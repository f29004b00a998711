"""Checks of a study's contract on this machine. Each check can be called alone."""

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
"""Columns that the outcome table has in addition to the fields of a record."""


def check_declaration(case: Case) -> None:
    """Check that the study can be found by name and describes itself, and that users can choose all its options."""
    study = case.study
    try:
        found = is_registered(study)
    except InputError as error:
        entry = f'[project.entry-points."{GROUP}"] {study.name} = "PACKAGE:STUDY"'
        raise AssertionError(f"{error}\nAdd it to the package's pyproject.toml, {entry}, and install it.") from error
    require(found, study, f"{study.name!r} names a different object: install only one study of this name")
    require(study.title, study, "has no title; a report begins with it")
    require(study.question, study, "has no question; lists of studies show it")
    require(study.interface in (0, INTERFACE), study, f"was written for an interface other than {INTERFACE}")
    require(study.prompts(), study, "declare its prompts, so that a run can notice a changed text")
    clash = (set() if study.together else _ADDED_COLUMNS) & set(study.record.__struct_fields__)
    require(
        not clash,
        study,
        f"rename these fields of the record, because Overton adds columns of these names: {sorted(clash)}",
    )
    require(issubclass(study.options, StudyOptions), study, "derive its options from overton.studies.StudyOptions")
    with _Advice(study.name, "declare each option with Annotated[TYPE, Option(HELP)]"):
        fields_of(study.options)
        fields_of(study.items.reading)
        if study.measuring is not None:
            fields_of(study.measuring.how)


def check_items(case: Case) -> None:
    """Check that a run keeps items unchanged, that ids are unique, and that problems in a file are reported as
    findings, not raised as exceptions."""
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
    """Check that an unknown option is refused in Python and on the command line."""
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
    require(
        refused and "no-such-option" in said,
        study,
        f"the command line must refuse an unknown option and name it, but it said: {said}",
    )


def check_plan(case: Case) -> None:
    """Check that a plan makes no calls, and that the run's number of calls lies within the plan's limits."""
    study = case.study
    planned = plan(study.name, **case.given)
    require(
        planned.trials and planned.calls,
        study,
        "its plan has no calls; check that trials() yields trials and that conduct() asks questions",
    )
    require(
        planned.calls <= planned.calls_at_most, study, "canned: put the replies that lead to the fewest calls first"
    )
    # A plan counts every search and page. A run does not request a search or page again, so it may have fewer calls.
    least, most = sum(row.calls for row in planned.models if not row.retrieves), planned.calls_at_most
    sent = case.whole.manifest.spent.requests
    hint = "canned: give replies that make every trial as short as possible, then as long as possible"
    require(sent >= least, study, f"its plan has at least {least} calls, the run had {sent}; {hint}")
    if len(study.planning) > 1:
        require(sent <= most, study, f"its plan has at most {most} calls, the run had {sent}; {hint}")


def check_run(case: Case) -> None:
    """Check that the run is complete, that no call failed, that every item of every model has records, and that trials
    have unique names."""
    study, run = case.study, case.whole
    require(run.finished, study, f"its run stopped: {run.manifest.stopped}")
    require(
        not run.failed, study, f"{run.failed} calls failed; check that its simulated answerers can read every prompt"
    )
    require(not any(run.manifest.missing.values()), study, "items are missing in a finished run")
    require(run.records().height, study, "conduct() returns no records")
    names = [trial.name for trial in trials_of(case)]
    require(
        len(set(names)) == len(names),
        study,
        "two trials have the same name; include in the name everything that distinguishes trials",
    )
    require(run.rows(), study, "its records cannot be read back as the struct that it declares")


def check_kill(case: Case) -> None:
    """Check that a run that is killed halfway and then resumed has the same records. Stored calls must not be paid for
    again.

    The check repeats the run in two further processes with different hash seeds. Both processes must make the same
    calls.
    """
    study, whole = case.study, case.whole
    calls, records = _call_identities(whole.path), sorted_lines(whole.records())
    require(len(calls) >= 4, study, "has too few calls to be killed halfway; give more items or trials")
    other, unkilled = CallLedger(case.folder / "unkilled"), case.new()
    require(case.child(other, unkilled, hash_seed=1) == 0, study, "a process that repeats it failed")
    advice = "sort anything that comes from a set, and make random choices with trial.draw()"
    require(_call_identities(unkilled) == calls, study, f"another process makes different calls: {advice}")
    require(
        sorted_lines(open_run(unkilled).records()) == records,
        study,
        f"another process has different records: {advice}",
    )
    expected = set(other.paid())

    ledger, out = CallLedger(case.folder / "killed"), case.new()
    status = case.child(ledger, out, kill_at=max(2, len(expected) // 2), hash_seed=2)
    require(status != 0, study, "finished before it could be killed; check that its models use each call's seed")
    kept, before = _stored_seeds(case, out), len(ledger.paid())
    require(kept, study, "had stored no call when it was killed; give more items or trials")
    resume(Run(out, study=with_ledger(study, ledger)))
    again = set(ledger.paid()[before:])
    require(not again & kept, study, f"paid for {len(again & kept)} calls twice")
    require(set(ledger.paid()) == expected, study, f"made different calls after being resumed: {advice}")
    require(
        sorted_lines(open_run(out).records()) == records, study, f"has different records after being resumed: {advice}"
    )


def check_replay(case: Case) -> None:
    """Check that resuming a finished run makes no calls and does not change its records."""
    study, ledger = case.study, CallLedger(case.folder / "replayed")
    records = sorted_lines(case.whole.records())
    resume(Run(case.whole.path, study=with_ledger(study, ledger)))
    require(
        not ledger.paid(),
        study,
        "a finished run makes calls when resumed: conduct() must depend only on the trial and the replies",
    )
    require(sorted_lines(case.whole.records()) == records, study, "a finished run has different records when resumed")


def check_stop(case: Case) -> None:
    """Check that a run that stopped at a limit can be measured and reported. When resumed, it must have the same
    records, and must not pay for a call twice."""
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
    """Check that extending a run adds records, keeps the old ones, and pays for no call again. Studies that cannot grow
    are skipped."""
    study, ledger, out = case.study, CallLedger(case.folder / "extended"), case.new()
    more = dict(case.more) or _larger_option(case)
    if not more:
        return
    repeat(with_ledger(study, CallLedger(case.folder / "before")), case.whole.path, out)
    kept, old = _stored_seeds(case, out), sorted_lines(case.whole.records())
    extend(Run(out, study=with_ledger(study, ledger)), **more)
    grown = sorted_lines(open_run(out).records())
    require(not kept & set(ledger.paid()), study, "paid for calls again when it was extended")
    require(len(grown) > len(old), study, f"has no additional records when extended with {more}")
    advice = "name trials by everything that shapes them, and by nothing else"
    require(set(old) <= set(grown), study, f"has different records of its old trials when extended: {advice}")
    resume(Run(out, study=with_ledger(study, ledger)))
    require(sorted_lines(open_run(out).records()) == grown, study, "has different records when resumed after extending")


def check_failures(case: Case) -> None:
    """Check that failed calls are counted and shown, that headlines have no value if all calls fail, and that records
    are the same after a retry."""
    study, out = case.study, case.new()
    repeat(with_ledger(study, CallLedger(case.folder / "some-fail"), failing=3), case.whole.path, out)
    run = open_run(out)
    caught = "let conduct() catch CallFailed (ask_until_read does so), and return a record with the failure"
    require(run.finished, study, f"stops when calls fail: {caught}")
    require(run.failed, study, "no call failed, but a third should; check that its models use each call's seed")
    _check_shown(case, out)
    resume(Run(out, study=with_ledger(study, CallLedger(case.folder / "again"))), retry_failed=True)
    again = (
        "has different records after failed calls are retried: let requests depend only on the trial and the replies"
    )
    require(sorted_lines(open_run(out).records()) == sorted_lines(case.whole.records()), study, again)

    none = case.new()
    repeat(with_ledger(study, CallLedger(case.folder / "all-fail"), failing=1), case.whole.path, none)
    _check_shown(case, none)
    headline = measuring_of(study).headline
    with suppress(InputError):
        if headline is not None:
            found = list(headline.figures(measure_run(study.name, none).analysis))
            looked = [name for name, estimate in found if isfinite(estimate.value)]
            require(not looked, study, f"every call failed, but these headlines have a value: {', '.join(looked)}")


def check_analysis(case: Case) -> None:
    """Check that a repeated analysis gives the same result, that its JSON follows the schema and names the study, and
    that it has a summary."""
    study = case.study
    first = measure_run(study.name, case.whole.path).document()
    require(first == measure_run(study.name, case.whole.path).document(), study, "two analyses of one run differ")
    require(first["study"] == study.name, study, "its JSON names another study")
    _check_schema(case, msgspec.json.decode(msgspec.json.encode(first)))
    shown = measure_run(study.name, case.whole.path).summary()
    require(shown, study, "its summary is empty: mark a Table or a Callout with summary=True")


def check_report(case: Case) -> None:
    """Check that the report is one file that names the study, and that several runs can be reported together."""
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
    """Check that an incomplete run is measured and reported, or refused with an `OvertonError` that gives the
    reason."""
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
    """A context that turns an unexpected exception of the study into an `AssertionError` with advice to its author."""

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
    """A run's journal entries. They are read from a copy, in which the journal of a killed run is recovered."""
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
