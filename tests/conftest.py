"""What holds for every test: none is judged by the clock; a browser is at hand (`tests/plugins`)."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ("browser",)

settings.register_profile("overton", deadline=None)
settings.load_profile("overton")
