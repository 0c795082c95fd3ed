"""Values at an instant of a run, as texts with units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from bondgraph.errors import refusal
from bondgraph.run.program.bonds import BondVariables


class RunSamples(Protocol):
    """RunSamples of a run: times, bonds, and values by name."""

    @property
    def t(self) -> np.ndarray:
        """Return the times (k,), s."""

    @property
    def bonds(self) -> tuple[BondVariables, ...]:
        """Return all bonds."""

    def __getitem__(self, name: str) -> np.ndarray: ...

    def __contains__(self, name: object) -> bool: ...


def texts_on_bonds(samples: RunSamples, at: float) -> Mapping[str, tuple[str, str]]:
    """Return bond -> texts of its effort and flow at a time (s), between samples by a straight line; E582 beyond the run."""
    check_instant(samples, at)
    return {
        bond.name: (value_text(samples, bond.effort, bond.effort_unit, at), value_text(samples, bond.flow, bond.flow_unit, at))
        for bond in samples.bonds
        if bond.effort in samples and bond.flow in samples
    }


def check_instant(samples: RunSamples, at: float) -> None:
    """Refuse a time (s) beyond the run (E582)."""
    start, end = float(samples.t[0]), float(samples.t[-1])
    if not start <= at <= end:
        raise refusal("E582", f"there are no values at {at:g} s", f"a time from {start:g} to {end:g} s", about="this run")


def value_text(samples: RunSamples, name: str, unit: str, at: float) -> str:
    """Return a value with its unit; of a vector the magnitude for each unit."""
    columns = samples[name].reshape(len(samples.t), -1).T
    value = np.array([np.interp(at, samples.t, column) for column in columns])
    if len(value) == 1:
        return _with_unit(f"{value[0]:.3g}", unit)
    units = unit.split(", ") if len(value) % len(unit.split(", ")) == 0 else [unit]
    parts = value.reshape(len(units), -1)
    return ", ".join(_with_unit(f"|{np.linalg.norm(part):.3g}|", each) for part, each in zip(parts, units, strict=True))


def _with_unit(number: str, unit: str) -> str:
    return (f"{number} {unit}" if unit not in ("", "1") else number).replace("-", "\N{MINUS SIGN}")
