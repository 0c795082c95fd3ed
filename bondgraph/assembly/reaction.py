"""Statements of a Re element: the one flow of both ports from their efforts, and what it dissipates."""

from __future__ import annotations

from bondgraph.assembly.draft import Assembly, effort, flow, into, law_arguments, name_port
from bondgraph.assembly.system import Power
from bondgraph.causality.assign import ordered_bonds
from bondgraph.model.element import Element
from bondgraph.model.laws import Reaction
from bondgraph.model.ops import IDENTITY, NEGATE, Op


def reaction(draft: Assembly, path: str, element: Element) -> None:
    """v, the flows of both bonds with their arrows' signs, and the power (e1 - e2) v."""
    law = element.law_as(Reaction)
    one, two = ordered_bonds(draft.model, path)
    through = draft.declare(f"{path}.flow", (), one.domain.flow_unit, element.symbols.get("flow", ""))
    draft.write(path, law.flow, through, effort(one), effort(two), *law_arguments(path, element))
    for bond, sign, label in ((one, into(one, path), "1"), (two, -into(two, path), "2")):
        draft.write(path, IDENTITY if sign > 0 else NEGATE, flow(bond), through)
        name_port(draft, path, element, bond, f"{path}.{label}")
    power = draft.declare(f"{path}.power", (), "W")
    draft.write(path, POWER_BETWEEN, power, effort(one), effort(two), through)
    draft.powers.append(Power(path, power, "dissipated"))


POWER_BETWEEN = Op("power", lambda first, second, through: (first - second) * through, r"(#1 - #2)\,#3")
