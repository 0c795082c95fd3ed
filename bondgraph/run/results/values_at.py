"""Values at an instant of a run, as strings with units."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from bondgraph.errors import refusal
from bondgraph.run.events.records import Events
from bondgraph.run.program.bonds import BondVariables
from bondgraph.run.settings import number
from bondgraph.units import entry_units

ROUNDING = 1e-12
"""Fraction of the largest value in the same unit below which a value on a bond is rounding error."""


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
    bonds = [bond for bond in samples.bonds if bond.effort in samples and bond.flow in samples]
    sides = [((bond.effort, bond.effort_unit), (bond.flow, bond.flow_unit)) for bond in bonds]
    least: dict[str, float] = {}
    for name, unit in itertools.chain(*sides):
        least[unit] = max(least.get(unit, 0.0), ROUNDING * float(np.max(np.abs(_value(samples, name, at)), initial=0.0)))
    texts = [tuple(value_text(samples, name, unit, at, least[unit]) for name, unit in side) for side in sides]
    return {bond.name: (effort, flow) for bond, (effort, flow) in zip(bonds, texts, strict=True)}


def check_instant(samples: RunSamples, at: float) -> None:
    start, end = float(samples.t[0]), float(samples.t[-1])
    if not start <= number(at, "E582", "at") <= end:
        raise refusal("E582", f"there are no values at {at:g} s", f"a time from {start:g} to {end:g} s", about="this run")


def value_text(samples: RunSamples, name: str, unit: str, at: float, least: float = 0.0) -> str:
    """Return a value with its unit; for a vector, the magnitude for each unit. Values are interpolated linearly between samples
    and events; at an event, the value after it is shown. A value of at most `least` is 0."""
    value = _value(samples, name, at)
    value = np.where(np.abs(value) <= least, 0.0, value)
    if len(value) == 1:
        return _with_unit(f"{value[0]:.3g}", unit)
    units = entry_units(unit, value.shape)
    units = np.full(value.shape, unit) if units is None else units
    parts = {each: value[units == each] for each in dict.fromkeys(units)}
    return ", ".join(_with_unit(f"|{np.linalg.norm(part):.3g}|", each) for each, part in parts.items())


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
