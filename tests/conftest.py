"""What holds for every test: none is judged by the clock; a browser and the command line are in `tests/plugins`."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ("browser", "command_line")

settings.register_profile("overton", deadline=None)
settings.load_profile("overton")
