"""Settings of every test, whose result must not depend on the clock. Shared fixtures (such as a browser) are in
`tests/plugins`."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

pytest_plugins = ("browser", "command_line", "killing", "on_ray", "study_packages", "talks")


@pytest.fixture(scope="session", autouse=True)
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's own configuration is elsewhere: what tests run is noted in no home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", os.fspath(tmp_path_factory.mktemp("configuration")))
        yield


def pytest_collection() -> None:
    """Tests are collected without searches for garbage: nearly all that is made there stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nothing searches all tests and what they import for garbage: a run begins with such a search."""
    gc.enable()
    gc.collect()
    gc.freeze()


settings.register_profile("overton", deadline=None)
settings.load_profile("overton")
