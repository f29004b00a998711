"""How calls are made: journal, scheduling, pacing, budget, replay. Knows trials and answerers but no study."""

from overton.engine.conducting import Lane, conduct_lanes, rehearse
from overton.engine.desk import Bound, Desk, Tally
from overton.engine.fleet import Fleet, Rhythm
from overton.engine.identity import digest
from overton.engine.journal import Journal, entries
from overton.engine.journal_file import Mark
from overton.engine.keeping import keeping
from overton.engine.limits import Budget, Limits, Spending
from overton.engine.outcomes import Outcomes
from overton.engine.pacing import Pacer, Patience
from overton.engine.rounds import Deciding, Rounds

__all__ = [
    "Bound",
    "Budget",
    "Deciding",
    "Desk",
    "Fleet",
    "Journal",
    "Lane",
    "Limits",
    "Mark",
    "Outcomes",
    "Pacer",
    "Patience",
    "Rhythm",
    "Rounds",
    "Spending",
    "Tally",
    "conduct_lanes",
    "digest",
    "entries",
    "keeping",
    "rehearse",
]
