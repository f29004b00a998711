"""Runs in folders on this machine."""

from overton.engine import Limits, RetryPolicy
from overton.hosts.local.adapting import check_one_judge, design_of
from overton.hosts.local.folder import Manifest, ModelEntry, RunFolder, Spent
from overton.hosts.local.loop import run_to_end
from overton.hosts.local.merging import merge
from overton.hosts.local.opening import ModelRequest, Wanted, completed, open_models
from overton.hosts.local.planning import ModelPlan, Plan, PrecisionPlan, plan
from overton.hosts.local.progress import Progress, Watch
from overton.hosts.local.running import extend, resume, start
from overton.hosts.local.splitting import split
from overton.hosts.local.tracebacks import traceback_kept
from overton.hosts.local.trusting import Confirm, Trust

__all__ = [
    "Confirm",
    "Limits",
    "Manifest",
    "ModelEntry",
    "ModelPlan",
    "ModelRequest",
    "Plan",
    "PrecisionPlan",
    "Progress",
    "RetryPolicy",
    "RunFolder",
    "Spent",
    "Trust",
    "Wanted",
    "Watch",
    "check_one_judge",
    "completed",
    "design_of",
    "extend",
    "merge",
    "open_models",
    "plan",
    "resume",
    "run_to_end",
    "split",
    "start",
    "traceback_kept",
]
