"""Selection of the GPU that `device=` names."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from bondgraph.devices.device import ON_THE_CPU, Device
from bondgraph.errors import ExtraError, Problem, RunError

AUTO = "auto"
MIN_RUNS = 2_000
"""Minimum number of runs for which "auto" uses a GPU; fewer runs do not occupy the whole GPU."""
MAX_SINGLE_TO_DOUBLE = 4
"""Largest ratio of single to double precision speed of a GPU that "auto" uses; consumer GPUs have a ratio of 64."""


def _nvidia(number: int) -> Device:
    from bondgraph.devices.nvidia import NvidiaDevice  # from an optional package

    return NvidiaDevice(number)


MAKERS: dict[str, Callable[[int], Device]] = {"cuda": _nvidia}
_NAME = re.compile(r"([a-z]+)(?::(\d{1,3}))?")
_opened = dict[str, Device]()
_lock = threading.Lock()


def device_of(argument: Any, runs: int) -> Device | None:
    """Return the GPU that `device=` selects for this many runs, or None for the CPU; the GPU stays open for later runs.

    "auto" selects the first GPU whose double precision is at least a quarter as fast as its single precision, provided that there
    are at least 2,000 runs, and otherwise the CPU. Raises `RunError` E286 for another name, E287 and E288 if there is no such
    GPU; `ExtraError` E416 without its package.
    """
    check_device(argument)
    if argument is None:
        return None
    if argument != AUTO:
        return _device(*_parts(argument))
    return _suitable() if runs >= MIN_RUNS else None


def check_device(argument: Any) -> None:
    if argument is None or argument == AUTO:
        return
    if not isinstance(argument, str) or not (match := _NAME.fullmatch(argument)) or match[1] not in MAKERS:
        named = (f'device="{kind}{number}"' for kind in MAKERS for number in ("", ":1"))
        cures = (ON_THE_CPU, *named, f'device="{AUTO}"')
        raise RunError(Problem("E286", f"device={argument!r:.60} is not a device", (), cures=cures))


def forget(device: Device) -> None:
    with _lock:
        for name in [name for name, opened in _opened.items() if opened is device]:
            del _opened[name]


def _parts(argument: str) -> tuple[str, int]:
    named = _NAME.fullmatch(argument)
    assert named is not None
    return named[1], int(named[2] or 0)


def _device(kind: str, number: int) -> Device:
    name = f"{kind}:{number}"
    with _lock:
        if name not in _opened:
            _opened[name] = MAKERS[kind](number)
        return _opened[name]


def _suitable() -> Device | None:
    for kind in MAKERS:
        number = 0
        while True:
            try:
                device = _device(kind, number)
            except (ExtraError, RunError):
                break
            if device.facts.single_to_double <= MAX_SINGLE_TO_DOUBLE:
                return device
            number += 1
    return None
