"""Multiport fields: storages (C-fields, I-fields) with one energy function, and dissipators (R-fields) with one formula; each
port has its own domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np

from bondgraph.elements import J0, J1, TF, C, I
from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.errors import caller_place, refusal
from bondgraph.graph.builder import Graph
from bondgraph.model.arguments import choice, domain_of, in_unit, need_mapping, parameters_of
from bondgraph.model.dissipation import ResistorField
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, Port
from bondgraph.model.laws import Variable
from bondgraph.model.ops import as_op
from screws.scalars import array


@overload
def multiport(
    kind: Literal["R"],
    name: str,
    law: Callable[..., Any],
    ports: Mapping[str, Domain | str | None],
    *,
    gives: Variable = ...,
    passive: bool = ...,
    guess: Mapping[str, Any] | None = ...,
    parameters: Mapping[str, Any] | None = ...,
    signals: Signals = ...,
) -> Element: ...


@overload
def multiport(
    kind: str,
    name: str,
    law: Callable[..., Any],
    ports: Mapping[str, Domain | str | None],
    *,
    initial: Sequence[float] | np.ndarray,
    nominal: Any = ...,
    parameters: Mapping[str, Any] | None = ...,
    signals: Signals = ...,
) -> Graph: ...


def multiport(
    kind: str,
    name: str,
    law: Callable[..., Any],
    ports: Mapping[str, Domain | str | None],
    *,
    initial: Sequence[float] | np.ndarray | None = None,
    nominal: Any = None,
    gives: Variable = "flow",
    passive: bool = False,
    guess: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
) -> Graph | Element:
    """Return a C-field or I-field, a graph with one scalar port for each state of one energy function; or an R-field, an element
    with several ports and one formula for all of them.

    The efforts of a C-field are the energy's derivatives with respect to its displacements, the flows of an I-field its
    derivatives with respect to the momenta, so that the field is conservative and reciprocal for any formula. The power of an
    R-field, the sum of effort times flow of its ports, is dissipated.

    Parameters
    ----------
    kind : "C", "I" or "R".
    law : for a storage, its energy(x, *parameters, *signals) in J, with x (n,), one entry for each port in order; for an R, its
        flows (n,) from its efforts (n,), or the reverse; flows count into the element.
    ports : domains by name; None for the domain of the connected element.
    initial : x at the start (n,); not for an R.
    gives : "flow" or "effort", which the law of an R returns. At a port where the graph sets that variable, Newton iteration
        solves for the other variable.
    passive : True if an R never supplies power, which is tested at many values.
    guess : {"base.effort": 0.7}, for an R in an algebraic loop with several solutions.

    The state is `<name>.storage.q` (or `.p`), (n,), a number for a single port; an R has `<name>.<port>.effort` and `.flow`.

    Raises `ModelError` E110 for another `kind` or `gives`, a storage without `initial`, and arguments that the kind cannot use.

    Source: Breedveld 1984, multiport storage elements; Karnopp, Margolis and Rosenberg 2012, R-fields.
    """
    formula, paths = bound(name, law, 1, parameters, signals), paths_of(signals)
    choice("multiport", name, kind=(kind, ("C", "I", "R")), gives=(gives, ("flow", "effort")))
    if kind == "R":
        _refuse_others("R", name, "a storage", initial=initial is not None, nominal=nominal is not None)
        need_mapping("guess", guess, '"base.effort": 0.7')
        guessed = {key: in_unit(name, f"the guess of {key}", value, "") for key, value in (guess or {}).items()}
        each = tuple(Port(port, 1, domain_of(domain, name)) for port, domain in ports.items())
        resistor, values = ResistorField(gives, as_op(formula, f"{gives}s"), passive), parameters_of(parameters or {})
        return Element("R", name, resistor, each, values, paths, place=caller_place(), guess=guessed)
    _refuse_others(kind, name, "an R", passive=passive, guess=guess is not None, gives=gives != "flow")
    if initial is None:
        title, why = f'multiport "{name}" of kind "{kind}" lacks its start value', "the start value has a number for each port"
        raise refusal("E110", title, f"initial={[0.0] * len(ports)}", about=name, why=why)
    return _storage_field(kind, name, formula, ports, (initial, nominal), parameters, paths)


def _refuse_others(kind: str, name: str, owner: str, **arguments: bool) -> None:
    if extra := [argument for argument, present in arguments.items() if present]:
        title = f'multiport "{name}" of kind "{kind}" has {", ".join(extra)}'
        why = f"{', '.join(extra)} belong{'s' * (len(extra) == 1)} to {owner}"
        raise refusal("E110", title, f"the field without {', '.join(extra)}", about=name, why=why)


def _storage_field(
    kind: str,
    name: str,
    energy: Callable[..., Any],
    ports: Mapping[str, Domain | str | None],
    start: tuple[Any, Any],
    parameters: Mapping[str, Any] | None,
    signals: Signals,
) -> Graph:
    count, graph = len(ports), Graph(name)
    initial, nominal = start
    makes: dict[str, Callable[..., Element]] = {"C": C, "I": I}
    meet = J0 if kind == "C" else J1
    if count == 1:
        of_array, energy = energy, lambda x, *others: of_array(array([x]), *others)
        initial = initial[0] if np.shape(initial) == (1,) else initial
    arguments: dict[str, Any] = {"nominal": nominal, "parameters": parameters, "signals": signals, "dimension": count}
    storage, junction = makes[kind]("storage", energy=energy, initial=initial, **arguments), meet("ports", dimension=count)
    graph.connect(junction, storage)
    for row, (port, domain) in zip(np.eye(count), ports.items(), strict=True):
        if kind == "C":
            pick = TF(port, row.reshape(-1, 1), structural=True, domains=(domain, None))
            graph.connect(pick.port("2"), junction).expose(port, pick.port("1"))
        else:
            pick = TF(port, row, structural=True, domains=(None, domain))
            graph.connect(pick.port("1"), junction).expose(port, pick.port("2"))
    return graph
