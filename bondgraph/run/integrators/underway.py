"""A run that machine code has begun and left: what it works with and how far it got, for Python to go on from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondgraph.run.error_control.weights import Weights
from bondgraph.run.instants.settler import Settler
from bondgraph.run.samples import SampleRows

if TYPE_CHECKING:
    from bondgraph.run.integrators.one_step.integrator import OneStep


@dataclass(frozen=True, eq=False)
class Underway:
    """A run on its way.

    Parameters
    ----------
    integrator, weights, settler : on the tables of the run; no settler where nothing is to be settled.
    status : what the integrator has answered.
    samples : with the first of them written.
    logged : rows of events that have been taken over already, in pieces (k, width).
    start_energies : energy per storage before anything happened, J.
    """

    integrator: OneStep
    weights: Weights
    settler: Settler | None
    status: int
    samples: SampleRows
    logged: tuple[np.ndarray, ...]
    start_energies: np.ndarray
