"""The engine that makes calls: journal, scheduling, pacing, budget, replay. It knows trials, models and services, but
no study."""

from overton.engine.budget import Budget, Limits, Spending
from overton.engine.dispatcher import Counters, Dispatcher, Seat
from overton.engine.identity import digest
from overton.engine.journal import Journal
from overton.engine.journal_file import JournalMark, entries
from overton.engine.journal_reader import JournalReader
from overton.engine.rate_limit import RateLimiter
from overton.engine.retry import RetryPolicy
from overton.engine.rounds import Rounds
from overton.engine.servers import PollIntervals, ServerPool, watching_servers
from overton.engine.trials import Lane, count_missing, run_lanes

__all__ = [
    "Budget",
    "Counters",
    "Dispatcher",
    "Journal",
    "JournalMark",
    "JournalReader",
    "Lane",
    "Limits",
    "PollIntervals",
    "RateLimiter",
    "RetryPolicy",
    "Rounds",
    "Seat",
    "ServerPool",
    "Spending",
    "count_missing",
    "digest",
    "entries",
    "run_lanes",
    "watching_servers",
]
