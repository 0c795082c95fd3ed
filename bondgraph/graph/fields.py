"""Multiport storages (C-fields, I-fields): several ports, each with its own domain, on one energy function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.elements import J0, J1, TF, C, I
from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.graph.builder import Graph
from bondgraph.model.arguments import choice
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element
from screws.scalars import array


def multiport(
    kind: str,
    name: str,
    energy: Callable[..., Any],
    ports: Mapping[str, Domain | str | None],
    *,
    initial: Sequence[float] | np.ndarray,
    nominal: Any = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
) -> Graph:
    """Return a C-field or I-field: a graph with one scalar port for each state of one energy function.

    The efforts of a C-field are the energy's derivatives with respect to its displacements, the flows of an I-field those with
    respect to its momenta, so that the field is conservative and reciprocal for any formula.

    Parameters
    ----------
    kind : "C" or "I".
    energy : energy(x, *parameters, *signals) in J, x (n,) with one entry for each port, in their order.
    ports : domains by name (None: that of the connected element).
    initial : x at the start (n,).

    The states are `<name>.storage.q` (or `.p`), (n,), of a single port a number. Raises `ModelError` E110 for another `kind`.

    Source: Breedveld 1984, multiport storage elements.
    """
    energy, signals = bound(name, energy, 1, parameters, signals), paths_of(signals)
    choice("multiport", name, kind=(kind, ("C", "I")))
    count, graph = len(ports), Graph(name)
    makes: dict[str, Callable[..., Element]] = {"C": C, "I": I}
    meet = J0 if kind == "C" else J1
    start: Any = initial
    if count == 1:
        energy = _of_one_port(energy)
        start = initial[0] if np.shape(initial) == (1,) else initial
    arguments: dict[str, Any] = {"nominal": nominal, "parameters": parameters, "signals": signals, "dimension": count}
    storage, junction = makes[kind]("storage", energy=energy, initial=start, **arguments), meet("ports", dimension=count)
    graph.connect(junction, storage)
    for row, (port, domain) in zip(np.eye(count), ports.items(), strict=True):
        if kind == "C":
            pick = TF(port, row.reshape(-1, 1), structural=True, domains=(domain, None))
            graph.connect(pick.port("2"), junction).expose(port, pick.port("1"))
        else:
            pick = TF(port, row, structural=True, domains=(None, domain))
            graph.connect(pick.port("1"), junction).expose(port, pick.port("2"))
    return graph


def _of_one_port(energy: Callable[..., Any]) -> Callable[..., Any]:
    """Return the energy as a function of a number, which a bond of dimension 1 has, in place of an array (1,)."""
    return lambda x, *others: energy(array([x]), *others)
