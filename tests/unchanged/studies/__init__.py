"""What all five studies ask, of a model and of judges: requests with their seeds, identities, records and numbers."""

from .cases import CASES, QUICK, make

__all__ = ["CASES", "QUICK", "make"]
