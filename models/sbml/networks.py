"""SBML networks as graphs: Ce and Re if all laws are reversible mass action with detailed balance, else one block of rates."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from screwbond.models.parts.reactions import Reaction, Stoichiometry
from screwbond.models.sbml.formulas import Law, Tree, evaluate, names_in
from screwbond.models.sbml.reading import Conversion, Species, network_content

from bondgraph import J0, J1, TF, Block, Ce, Graph, Re, Se
from bondgraph.errors import ModelError
from bondgraph.interchange.short.documents import text_of

LARGEST = 5_000_000


@dataclass(frozen=True)
class SBMLNetwork:
    """Reaction network: its graph, whether this has bonds, and if not, why."""

    graph: Graph
    has_bonds: bool
    reason: str
    """Reason for a network without bonds, such as a reaction that is not reversible mass action, or a cycle without detailed
    balance; "" for a network with bonds."""


def read_sbml(path: str | os.PathLike[str], name: str = "") -> SBMLNetwork:
    """Return the reaction network of an SBML file (extra `sbml`); its graph is called `name`, by default the model's name.

    If all laws are reversible mass action with detailed balance, reactions are Re and species Ce, or Se if their amount is fixed:
    the amount of a species X is `X.q`, and the energy ledger counts the free energy divided by R T. Otherwise the graph is one
    block "network" of rates, whose states are the amounts, `network.X`, and `reason` states why.

    Raises `ModelError` E630 for a file that cannot be read; E650 for a file that is not valid SBML, has a document type or
    entities, or is nested too deeply; E651 for unsupported content such as rules, events and delays; E652 for unknown names, and
    for missing numbers, laws, species and reactions. Raises `ExtraError` E416 if libsbml is missing.

    Source: Hucka et al. 2003 (SBML); Gawthrop and Crampin 2014 (Ce and Re).
    """
    return parse_sbml(*text_of(path, LARGEST), name)


def parse_sbml(text: str, file: str = "network.xml", name: str = "") -> SBMLNetwork:
    """Return the network of the SBML document `text`, as `read_sbml` does; messages call the text `file`."""
    document = network_content(text, file)
    title, species, reactions = name or document.name, document.species, document.reactions
    graph = _with_bonds(title, species, reactions)
    if isinstance(graph, str):
        return SBMLNetwork(_rates(title, species, reactions), False, graph)
    return SBMLNetwork(graph, True, "")


def _with_bonds(name: str, species: Mapping[str, Species], reactions: Mapping[str, Conversion]) -> Graph | str:
    try:
        reversible = _mass_action(species, reactions)
        if isinstance(reversible, str):
            return reversible
        net = Stoichiometry(tuple(species), reversible, {})
        return _bonds(name, species, net, net.constants(name, {}))
    except ModelError as error:  # a cycle has no detailed balance
        return error.problems[0].title
    except (ArithmeticError, ValueError):
        return "its constants are out of range"


def _mass_action(species: Mapping[str, Species], reactions: Mapping[str, Conversion]) -> tuple[Reaction, ...] | str:
    import sympy

    symbols = {name: sympy.Symbol(name, positive=True) for name in species}
    for name, one in species.items():
        if not one.amount >= 0:
            fault = "starts below zero, where it has no potential" if one.amount < 0 else "has no initial amount"
            return f'"{name}" {fault}'
    balanced = []
    for name, each in reactions.items():
        integers = all(count == int(count) for side in (each.reactants, each.products) for count in side.values())
        sides = [{s: int(n) for s, n in side.items()} for side in (each.reactants, each.products)]
        fixed = {s: species[s].amount for s in species if species[s].is_fixed}
        try:
            poly = sympy.Poly(evaluate(each.rate, symbols), *symbols.values())
            terms = {exponents: float(coefficient) for exponents, coefficient in poly.terms()}
        except (sympy.PolynomialError, sympy.CoercionFailed, TypeError, ValueError, ArithmeticError):
            return f'the rate of "{name}" is not a polynomial of amounts'
        powers = [tuple(side.get(s, 0) if s not in fixed else 0 for s in species) for side in sides]
        forward, reverse = terms.pop(powers[0], 0.0), -terms.pop(powers[1], 0.0)
        if not integers or terms or not (forward > 0 and reverse > 0) or powers[0] == powers[1] or not all(sides):
            return f'the reaction "{name}" is not reversible mass action'
        for s, amount in fixed.items():  # the law contains their amounts as numbers
            if amount <= 0:
                return f'"{s}" is held at zero'
            forward, reverse = forward / amount ** sides[0].get(s, 0), reverse / amount ** sides[1].get(s, 0)
        balanced.append(Reaction(sides[0], sides[1], forward, reverse, each.line, 1, name))
    return tuple(balanced)


def _bonds(name: str, species: Mapping[str, Species], net: Stoichiometry, constants: Mapping[str, float]) -> Graph:
    """Return Ce and Re with the junctions between them; kappa is the forward constant divided by the product of the reactants'
    K."""
    graph = Graph(name)
    nodes = {each: J0(f"{each} node", domain="chemical") for each in species}
    for each, one in species.items():
        if one.is_fixed:
            graph.connect(Se(each, math.log(constants[each] * one.amount), domain="chemical"), nodes[each])
        else:
            graph.connect(Ce(each, constants[each], initial=one.amount), nodes[each])
    for reaction in net.reactions:
        kappa = reaction.forward / math.prod(constants[s] ** n for s, n in reaction.reactants.items())
        part = Re(reaction.text, kappa)
        for port, side in (("1", reaction.reactants), ("2", reaction.products)):
            sum_of_side = J1(f"{reaction.text} {'takes' if port == '1' else 'makes'}", domain="chemical")
            for s, n in side.items():
                numbers = TF(f"{reaction.text} {n} {s} {port}", float(n), structural=True) if n > 1 else None
                if port == "1" and numbers is None:
                    graph.connect(nodes[s], sum_of_side)
                elif port == "1":
                    graph.connect(nodes[s], numbers.port("2")).connect(numbers.port("1"), sum_of_side)  # type: ignore[union-attr]
                elif numbers is None:
                    graph.connect(sum_of_side, nodes[s])
                else:
                    graph.connect(sum_of_side, numbers.port("1")).connect(numbers.port("2"), nodes[s])
            ends = (sum_of_side, part.port(port))
            graph.connect(*(ends if port == "1" else ends[::-1]))
    return graph


def _rates(name: str, species: Mapping[str, Species], reactions: Mapping[str, Conversion]) -> Graph:
    equations: list[tuple[str, Any, Sequence[str]]] = []
    terms: dict[str, list[tuple[float, str]]] = {each: [] for each in species}
    for each, reaction in reactions.items():
        names = tuple(dict.fromkeys(names_in(reaction.rate)))
        equations.append((each, Law(reaction.rate, names), names))
        for sign, side in ((-1.0, reaction.reactants), (1.0, reaction.products)):
            for s, count in side.items():
                terms[s].append((sign * count, each))
    free = {each: one.amount for each, one in species.items() if not one.is_fixed}
    for each in free:
        tree: Tree = ("plus", *(("times", ("number", count), ("name", rate)) for count, rate in terms[each]), ("number", 0.0))
        names = tuple(dict.fromkeys(rate for _, rate in terms[each]))
        equations.append((f"{each} rate", Law(tree, names), names))
    graph = Graph(name)
    graph.add(Block("network", equations, states=free, rates={each: f"{each} rate" for each in free}))
    return graph
