"""What all studies that were run found about a model, on one page: where it stands, what moves it, what it leaves out
and refuses; subjects that several studies share; and how it changed from run to run."""

from overton.api.profiling.making import profile
from overton.api.profiling.results import Profile

__all__ = ["Profile", "profile"]
