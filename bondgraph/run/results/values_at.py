"""Values at an instant of a run, as strings with units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from bondgraph.errors import refusal
from bondgraph.run.events.records import Events
from bondgraph.run.program.bonds import BondVariables
from bondgraph.run.settings import number


class Sampled(Protocol):
    @property
    def t(self) -> np.ndarray: ...

    @property
    def events(self) -> Events: ...

    def __getitem__(self, name: str) -> np.ndarray: ...

    def at_events(self, name: str) -> tuple[np.ndarray, np.ndarray]: ...


class RunSamples(Sampled, Protocol):
    @property
    def bonds(self) -> tuple[BondVariables, ...]: ...

    def __contains__(self, name: object) -> bool: ...


def texts_on_bonds(samples: RunSamples, at: float) -> Mapping[str, tuple[str, str]]:
    """Return the effort and flow of each bond with kept values, by its name, at a time (s), as strings from `value_text`; raise
    E582 for a time outside the run."""
    check_instant(samples, at)
    return {
        bond.name: (value_text(samples, bond.effort, bond.effort_unit, at), value_text(samples, bond.flow, bond.flow_unit, at))
        for bond in samples.bonds
        if bond.effort in samples and bond.flow in samples
    }


def check_instant(samples: RunSamples, at: float) -> None:
    start, end = float(samples.t[0]), float(samples.t[-1])
    if not start <= number(at, "E582", "at") <= end:
        raise refusal("E582", f"there are no values at {at:g} s", f"a time from {start:g} to {end:g} s", about="this run")


def value_text(samples: RunSamples, name: str, unit: str, at: float) -> str:
    """Return a value with its unit; for a vector, the magnitude for each unit. Values are interpolated linearly between samples
    and events; at an event, the value after it is shown."""
    value = _value(samples, name, at)
    if len(value) == 1:
        return _with_unit(f"{value[0]:.3g}", unit)
    units = unit.split(", ") if len(value) % len(unit.split(", ")) == 0 else [unit]
    parts = value.reshape(len(units), -1)
    return ", ".join(_with_unit(f"|{np.linalg.norm(part):.3g}|", each) for part, each in zip(parts, units, strict=True))


def _value(samples: Sampled, name: str, at: float) -> np.ndarray:
    times, values = samples.t, samples[name]
    if len(happened := samples.events.times):
        times = np.concatenate([times, np.repeat(happened, 2)])
        order = np.argsort(times, kind="stable")
        sides = np.stack(samples.at_events(name), axis=1).reshape(-1, *values.shape[1:])
        times, values = times[order], np.concatenate([values, sides])[order]
    row = int(np.searchsorted(times, at, side="right"))
    before, after = max(row - 1, 0), min(row, len(times) - 1)
    rows = values.reshape(len(times), -1)[[before, after]]
    if at == times[before]:
        return np.asarray(rows[0])
    return np.asarray(rows[0] + (rows[1] - rows[0]) * ((at - times[before]) / (times[after] - times[before])))


def _with_unit(text: str, unit: str) -> str:
    return (f"{text} {unit}" if unit not in ("", "1") else text).replace("-", "\N{MINUS SIGN}")
