"""Messages of causal conflicts: name the elements whose demands exclude each other, and a cure."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.causality.strokes import Clash, Node, Strokes
from bondgraph.errors import Place, Problem
from bondgraph.model.domains import GENERIC
from bondgraph.model.laws import Gyrator, Junction, Source
from bondgraph.model.model import Model


def describe(model: Model, strokes: Strokes, clash: Clash) -> Problem:
    """Return the problem E203 of a clash between elements that have only one causality."""
    sides = [side for side in (_side(strokes, group) for group in clash.groups) if side]
    culprits = list(dict.fromkeys(path for side in sides for path in side))
    where = _name(model, clash.node.path) if clash.node else f'bond "{model.bonds[clash.bond].name}"'
    if clash.node is None:
        bond = model.bonds[clash.bond]
        variable = "flow" if strokes.into_head[clash.bond] == (bond.head.element == culprits[0]) else "effort"
        says = f"{_all(model, culprits)} {'both set' if len(culprits) > 1 else 'sets'} its {variable}"
        cure = "a junction with a C, I or R between them"
    elif clash.node.special is None:
        says, cure = _at_two_port(model, clash.node, culprits)
    elif clash.case == "two":
        says, cure = _too_many(model, clash.node, sides, culprits)
    else:
        says, cure = _no_setter(model, clash.node, culprits)
    details = (says, _bonds(model, clash))
    return Problem("E203", f"causality conflict at {where}", details, _places(model, clash, culprits), (cure,))


def describe_dead_end(model: Model, strokes: Strokes, clash: Clash) -> Problem:
    """Return the problem E203 of a graph for which every choice of strokes fails."""
    where = _name(model, clash.node.path) if clash.node else f'bond "{model.bonds[clash.bond].name}"'
    near = dict.fromkeys(path for group in clash.groups for path in _side(strokes, group) if path in model.elements)
    details = ("no choice of strokes suits all junctions and two-ports around it", _bonds(model, clash))
    cures = ("a C, I or R at one of the junctions of the ring that passes through it",)
    return Problem("E203", f"causality conflict at {where}", details, _places(model, clash, list(near)), cures)


def _side(strokes: Strokes, group: tuple[int, ...] | str) -> tuple[str, ...]:
    return (group,) if isinstance(group, str) else strokes.roots(group)


def _too_many(model: Model, node: Node, sides: Sequence[Sequence[str]], culprits: Sequence[str]) -> tuple[str, str]:
    variable, between, drive = ("effort", "an I or R", "Sf") if node.special is True else ("flow", "a C or R", "Se")
    names = " and ".join(_all(model, side) for side in dict.fromkeys(map(tuple, sides)))
    laws = {path: model.elements[path].law for path in culprits}
    sources = [path for path, law in laws.items() if isinstance(law, Source) and law.gives == variable]
    cure = f"{between} between them{_in_words(model, node, between)}"
    if sources:
        cure += f", or drive the junction with {drive} in place of {_name(model, sources[-1])}"
    return f"two bonds set its {variable}: {names}", cure


def _no_setter(model: Model, node: Node, culprits: Sequence[str]) -> tuple[str, str]:
    missing, imposed, kinds = ("effort", "flow", "a C or R") if node.special is True else ("flow", "effort", "an I or R")
    says = f"no bond sets its {missing}: {_all(model, culprits)} set the {imposed} of every bond"
    return says, f"{kinds} at this junction{_in_words(model, node, kinds)}"


def _in_words(model: Model, node: Node, kinds: str) -> str:
    """Name "a C or R" and "an I or R" in the words of the node's domain, if it has any."""
    domain = model.bonds[node.bonds[0][0]].domain
    return "" if domain is GENERIC else f" ({domain.parts['CIR'.index(kinds.split()[1])]} or {domain.parts[2]})"


def _at_two_port(model: Model, node: Node, culprits: Sequence[str]) -> tuple[str, str]:
    element = model.elements[node.path]
    others = [path for path in culprits if path != node.path]
    if node.path in culprits:
        law = element.law
        one_way = "takes flow in at both ports" if isinstance(law, Gyrator) else "takes flow in at port 1, effort at port 2"
        return (
            f"it is a matrix and so {one_way}; {_all(model, others or culprits)} would need its inverse",
            f"turn {_name(model, node.path)} round, or a C, I or R between it and what is demanded of it",
        )
    variables = "one flow and one effort" if isinstance(element.law, Gyrator) else "both flows or both efforts"
    return (
        f"{_all(model, others)} set {variables} of it, which it makes of each other",
        "a C, I or R between it and one of them",
    )


def _name(model: Model, path: str) -> str:
    element = model.elements[path]
    law, kind = element.law, element.kind
    if isinstance(law, Junction):
        kind = f"{'switched ' if law.automaton else ''}{law.type}-junction"
    return f'{kind} "{path}"'


def _all(model: Model, paths: Sequence[str]) -> str:
    return " and ".join(_name(model, path) for path in paths if path in model.elements) or "what is around it"


def _bonds(model: Model, clash: Clash) -> str:
    if clash.node is None:
        return f"bond: {model.bonds[clash.bond].name}"
    names = [model.bonds[i].name for i, _ in clash.node.bonds]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"bonds: {shown}"


def _places(model: Model, clash: Clash, culprits: Sequence[str]) -> tuple[Place | None, ...]:
    """Return the source lines of the culprits, of the node if there are none, and of the bond if there is no node."""
    lines = [model.elements[path].place for path in culprits if path in model.elements]
    if not lines and clash.node:
        lines = [model.elements[clash.node.path].place]
    bond = model.bonds[clash.bond].place if clash.node is None else None
    return (*lines, bond)
