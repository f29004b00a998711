"""Types of NumPy arrays, named for their contents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
AnyFloats = NDArray[np.floating]
AnyInts = NDArray[np.integer]
