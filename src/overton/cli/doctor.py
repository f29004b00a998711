"""`overton doctor`: what is installed, and what this machine can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from overton.health import Health


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show what is installed and what this machine can run. Keys are shown by name only. Exit code 1 on a problem."""
    from overton.cli.output import print_json, results
    from overton.health import doctor as look

    found = look()
    if json:
        print_json(found)
    else:
        for line in _health_lines(found):
            results().print(line, soft_wrap=True)
    raise typer.Exit(1 if found.problems else 0)


def _health_lines(found: Health) -> Iterator[str]:
    memory = "" if found.memory is None else f", {found.memory / 1e9:.1f} GB of memory"
    yield f"overton {found.overton}, Python {found.python}, {found.platform}, {found.cores} cores{memory}"
    yield ""
    yield "Parts"
    for extra in found.extras:
        packages = ", ".join(f"{name} {version or 'missing'}" for name, version in extra.packages.items())
        yield f"  {'+' if extra.whole else '-'} {extra.name}: {packages}"
    yield "Keys, by the names of their variables"
    for key in found.keys:
        yield f"  {'+' if key.set else '-'} {key.variable} ({key.provider}): {'set' if key.set else 'not set'}"
    yield "Files"
    yield f"  {'+' if found.browser else '-'} browser: {found.browser or 'none found; reports open in any'}"
    yield f"  cache: {found.cache}"
    for weight in found.weights:
        state = "cached" if weight.cached else "not downloaded"
        yield f"  {'+' if weight.cached else '-'} weights of {weight.name}: {state}"
    yield f"Studies: {', '.join(found.studies)}"
    yield "This machine can run"
    yield from (f"  {line}" for line in found.can)
    if found.could:
        yield "It could run"
        yield from (f"  {line}" for line in found.could)
    if found.problems:
        yield "Problems"
        yield from (f"  {line}" for line in found.problems)
