"""All requests of the five studies, to a model and to judges: requests with their seeds, identities, records and
numbers.
"""

from .cases import CASES, QUICK, make

__all__ = ["CASES", "QUICK", "make"]
