"""`overton show`: trials on the terminal, with messages and replies below each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from overton.cli.build import JSON, RUN, SEED, command_with
from overton.cli.terminal import print_json, results, say

if TYPE_CHECKING:
    from overton.reports.shown_trials import ShownCall, ShownTrial

_MAX_RETRIEVED_CHARS = 300
"""Characters shown of search results or a page. The model's prompt shows the part that the model received."""
_KNOWN_CHARS = 60
"""Characters shown of a message that was already printed for the trial."""
_MARGIN = "  "
_FEW_TRIALS = 3
"""The number of trials that `overton show` shows if no option selects trials."""


@command_with(
    RUN,
    click.Option(
        ["--unread"], is_flag=True, help="Show trials with a call that failed or a reply that could not be read."
    ),
    click.Option(["--refused"], is_flag=True, help="Show trials with a reply that its endpoint flagged as a refusal."),
    click.Option(["--flipped"], is_flag=True, help="Show trials in which a model changed its position."),
    click.Option(
        ["--finding"],
        default="",
        metavar="N|CODE",
        help="Show trials behind a finding, by its number in 'overton analyze' or its code in --json.",
    ),
    click.Option(["--trial"], multiple=True, metavar="NAME", help="Show the trial of this name; repeatable."),
    click.Option(["--model"], multiple=True, metavar="NAME", help="Show trials of this measured model; repeatable."),
    click.Option(
        ["--sample"],
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Show N of the trials, chosen at random; {_FEW_TRIALS} by default if no other option selects trials.",
    ),
    SEED,
    JSON,
)
def show(
    run: Path,
    unread: bool,
    refused: bool,
    flipped: bool,
    finding: str,
    trial: Sequence[str],
    model: Sequence[str],
    sample: int | None,
    seed: int,
    json: bool,
) -> None:
    """Show prompts and replies of a run, and how Overton read the replies. This makes no calls and works while the run
    is in progress."""
    from overton.reports import shown_trials

    few = sample is None and not (unread or refused or flipped or trial)
    found = shown_trials.show(
        run,
        unread=unread,
        refused=refused,
        flipped=flipped,
        finding=finding,
        trials=trial,
        models=model,
        sample=_FEW_TRIALS if few else sample,
        seed=seed,
    )
    if json:
        print_json(found)
    else:
        _print_trials(found)
    if not found:
        say(
            "No trial with an answer matches."
            if unread or refused or flipped or finding or trial or model
            else "There are no answers yet."
        )
    elif few:
        say(
            f"At most {_FEW_TRIALS} trials are shown, chosen at random. --sample N shows N trials, and --trial NAME"
            " shows one."
        )


def _print_trials(found: Sequence[ShownTrial]) -> None:
    """Print trials to standard output, with an empty line after each."""
    from rich.text import Text

    from overton.untrusted import visible

    console = results()
    for trial in found:
        for line, style in _trial_lines(trial):
            console.print(Text(visible(line), style=style), soft_wrap=True)
        console.print()


def _trial_lines(trial: ShownTrial) -> Iterator[tuple[str, str]]:
    """The lines of a trial, each with its style."""
    yield f"{trial.trial}", "bold"
    yield f"{_MARGIN}model {trial.model}, item {trial.item}, condition {trial.condition}", ""
    printed: set[str] = set()
    for call in trial.calls:
        yield from _call_lines(call, printed)
    for read in trial.read:
        yield f"{_MARGIN}Read as: {_spell_values(read)}", "green"
    if trial.flipped:
        yield f"{_MARGIN}Changed its position: {trial.flipped}", "magenta"
    for reason in trial.unread:
        yield f"{_MARGIN}Not read: {reason}", "red"
    if not trial.finished:
        yield f"{_MARGIN}Not finished; calls of this trial are missing.", "yellow"


def _call_lines(call: ShownCall, printed: set[str]) -> Iterator[tuple[str, str]]:
    """The lines of a call, each with its style. Texts that were already `printed` for the trial are shortened, and the
    call's own texts are added to `printed`."""
    yield f"{_MARGIN}To {call.speaker} ({call.model})", "cyan"
    for message in call.messages:
        again = message.content in printed and len(message.content) > _KNOWN_CHARS
        text = f"{message.content[:_KNOWN_CHARS]}... (as above)" if again else message.content
        yield indent(f"{message.role}: {text}", _MARGIN * 2), ""
    printed.update([call.reply, *(message.content for message in call.messages)])
    if call.failure:
        yield f"{_MARGIN}Failed: {call.failure}", "red"
        return
    yield f"{_MARGIN}Reply{_spell_ending(call)}", "cyan"
    reply = call.reply
    if call.retrieved and len(reply) > _MAX_RETRIEVED_CHARS:
        reply = f"{reply[:_MAX_RETRIEVED_CHARS]}... ({len(reply):,} characters; --json has all)"
    yield indent(reply or "(empty)", _MARGIN * 2), ""


def _spell_ending(call: ShownCall) -> str:
    if call.refused:
        return ", flagged as a refusal by the endpoint"
    return "" if call.finish in ("", "stop") else f", ended by '{call.finish}'"


def _spell_values(read: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} {_spell_value(value)}" for name, value in read.items())


def _spell_value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
