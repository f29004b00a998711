"""`python -m benchmarks.kills`."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import benchmarks.kills
from benchmarks.kills.campaign import Campaign, Row
from benchmarks.kills.scenarios import Scenario, scenarios
from fuzz.hostile.server import hostile


def _show(rows: dict[str, Row]) -> None:
    print(
        f"\n{'command':<24}{'runs':>6}{'kills':>7}{'sessions':>10}{'requests':>10}{'repeated':>10}{'limits':>8}{'wrong':>7}"
    )
    for name, row in rows.items():
        numbers = (
            row.runs,
            row.kills,
            row.sessions,
            row.requests,
            row.repeated,
            row.limits,
            len(row.wrong),
        )
        print(
            f"{name:<24}"
            + "".join(f"{number:>{width},}" for number, width in zip(numbers, (6, 7, 10, 10, 10, 8, 7), strict=True))
        )


def _campaign(campaign: Campaign, scenarios: Sequence[Scenario], rows: dict[str, Row], kills: int) -> None:
    """Scenarios in turn, that with the fewest kills first; a line for each run."""
    while (done := sum(row.kills for row in rows.values())) < kills:
        scenario = min(scenarios, key=lambda one: (rows[one.name].kills, rows[one.name].runs))
        row = rows[scenario.name]
        said = len(row.wrong)
        print(f"{done:>4} of {kills} kills; next {scenario.name}", flush=True)
        campaign.killed(scenario, row)
        for one in row.wrong[said:]:
            print(f"WRONG  {scenario.name}: {one}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=benchmarks.kills.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200, help="in all (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    given = parser.parse_args()
    with hostile() as server, tempfile.TemporaryDirectory(prefix="overton-kills-") as folder:
        campaign = Campaign(server, Path(folder), given.seed)
        chosen = [one for one in scenarios(server.url()) if given.only in one.name]
        for scenario in chosen:
            campaign.unkilled(scenario)
            print(
                f"{scenario.name}: {campaign.calls[scenario.name]} calls in {campaign.seconds[scenario.name]:.1f} s",
                flush=True,
            )
        rows = {scenario.name: Row() for scenario in chosen}
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            _campaign(campaign, chosen, rows, given.kills)
        except KeyboardInterrupt:
            print("interrupted; so far:")
    _show(rows)
    wrong = sum(len(row.wrong) for row in rows.values())
    print(f"\n{sum(row.kills for row in rows.values())} kills, {wrong} things wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
