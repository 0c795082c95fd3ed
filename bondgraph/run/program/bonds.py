"""Bonds of a model, with the names of their efforts and flows in a run, and the values of effort, flow and power over
time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from bondgraph.model.model import Bond
from screws.names import explain_access

__all__ = ["BondValues", "BondVariables", "bond_variables"]


@dataclass(frozen=True)
class BondVariables:
    """Bond and the names of its variables in results.

    Parameters
    ----------
    name : unique name of the bond.
    tail, head : paths of the elements at its ends; the half arrow points to the head.
    domain : name of its domain, such as "rotation".
    dimension : length of effort and flow; 1 for a scalar bond, whose effort and flow have shape ().
    frame : frame to whose axes effort and flow refer, if one was named.
    effort, flow : names in a `Result`; bonds that share a variable share its name.
    effort_unit, flow_unit : units, such as "N m, N".
    pseudo : True for a pseudo-bond, whose flow is its power.
    """

    name: str
    tail: str
    head: str
    domain: str
    dimension: int
    frame: str | None
    effort: str
    flow: str
    effort_unit: str
    flow_unit: str
    pseudo: bool = False


@explain_access
@dataclass(frozen=True, eq=False)
class BondValues:
    """Bond variables over time: effort and flow (k, *shape), and the power (k,) from tail to head; W unless the
    units of the domain have another product."""

    effort: np.ndarray
    flow: np.ndarray
    pseudo: bool = False

    @property
    def power(self) -> np.ndarray:
        product: np.ndarray = self.flow if self.pseudo else self.effort * self.flow
        return product if product.ndim == 1 else product.sum(axis=1)


def bond_variables(bonds: Iterable[Bond], resolve: Callable[[str], str]) -> tuple[BondVariables, ...]:
    return tuple(
        BondVariables(
            name=bond.name,
            tail=bond.tail.element,
            head=bond.head.element,
            domain=bond.domain.name,
            dimension=bond.dimension,
            frame=bond.frame,
            effort=resolve(f"{bond.name}:effort"),
            flow=resolve(f"{bond.name}:flow"),
            effort_unit=bond.domain.effort_unit,
            flow_unit=bond.domain.flow_unit,
            pseudo=bond.domain.pseudo,
        )
        for bond in bonds
    )
