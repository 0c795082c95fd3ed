"""Values of efforts and flows on bonds at an instant, as texts with units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from bondgraph.errors import refusal
from bondgraph.run.program.bonds import BondVariables


class BondSamples(Protocol):
    """Samples of a run: times, bonds, and values by name."""

    @property
    def t(self) -> np.ndarray:
        """Return the times (k,), s."""

    @property
    def bonds(self) -> tuple[BondVariables, ...]:
        """Return all bonds."""

    def __getitem__(self, name: str) -> np.ndarray: ...

    def __contains__(self, name: object) -> bool: ...


def texts_on_bonds(samples: BondSamples, at: float) -> Mapping[str, tuple[str, str]]:
    """Return bond -> texts of its effort and flow at a time (s), between samples by a straight line; E582 beyond the run."""
    start, end = float(samples.t[0]), float(samples.t[-1])
    if not start <= at <= end:
        raise refusal("E582", f"there are no values at {at:g} s", f"a time from {start:g} to {end:g} s", about="diagram")
    return {
        bond.name: (_text(samples, bond.effort, bond.effort_unit, at), _text(samples, bond.flow, bond.flow_unit, at))
        for bond in samples.bonds
        if bond.effort in samples and bond.flow in samples
    }


def _text(samples: BondSamples, name: str, unit: str, at: float) -> str:
    """Return a value with its unit; of a vector the magnitude for each unit."""
    columns = samples[name].reshape(len(samples.t), -1).T
    value = np.array([np.interp(at, samples.t, column) for column in columns])
    if len(value) == 1:
        return _with_unit(f"{value[0]:.3g}", unit)
    units = unit.split(", ")
    parts = value.reshape(len(units), -1)
    return ", ".join(_with_unit(f"|{np.linalg.norm(part):.3g}|", each) for part, each in zip(parts, units, strict=True))


def _with_unit(number: str, unit: str) -> str:
    return (f"{number} {unit}" if unit not in ("", "1") else number).replace("-", "\N{MINUS SIGN}")
