"""An Inspect AI that is too old, or not there, is told in a sentence."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from overton.errors import InputError, MissingExtra
from overton.hosts.inspect import privates


@pytest.mark.parametrize("installed", ["0.3.284", "0.3.100", "0.2"])
def test_too_old(installed: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(privates, "version", lambda name: installed)
    with pytest.raises(InputError, match=f"{installed}: is too old: .*{privates.LEAST} or newer"):
        privates.check_inspect()


@pytest.mark.parametrize("installed", [privates.LEAST, "0.3.286.dev3+g12", "0.3.1000", "0.4", "1.0rc1"])
def test_new_enough(installed: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(privates, "version", lambda name: installed)
    privates.check_inspect()


def test_not_there(monkeypatch: Any) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(privates, "version", missing)
    with pytest.raises(MissingExtra, match=r"overton\[inspect\]"):
        privates.check_inspect()
