"""What holds for every test: none is judged by the clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("overton", deadline=None)
settings.load_profile("overton")
