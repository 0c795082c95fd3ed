"""Statements of what joins bonds: junctions, switched ones too, transformers, gyrators and reactions."""

from __future__ import annotations

from bondgraph.assembly.draft import Assembly, effort, flow, into, law_arguments, name_port, signed, variable
from bondgraph.assembly.system import Power
from bondgraph.assembly.units import across_unit, ratio_unit
from bondgraph.causality.assign import ordered_bonds
from bondgraph.model.element import Element
from bondgraph.model.laws import OTHER, Action, Gyrator, Junction, Ratio, Reaction, SkewGyrator, Transformer, Variable
from bondgraph.model.model import Bond
from bondgraph.model.ops import APPLY, APPLY_INVERSE, APPLY_TRANSPOSED, IDENTITY, NEGATE, Op, combine, gate, zeros


def junction(draft: Assembly, path: str, element: Element) -> None:
    """The strong bond brings the common variable in; the others' balance goes out on it."""
    law, bonds = element.law_as(Junction), draft.model.bonds_at(path)
    strong = next(b for b in bonds if draft.causality.effort_into(b, path) is (law.type == 0))
    weak = [b for b in bonds if b is not strong]
    common: Variable = "effort" if law.type == 0 else "flow"
    shared, balance = variable(strong, common), variable(strong, OTHER[common])
    label, symbol = f"{path}.{common}", element.symbols.get(common, "")
    signs = tuple(-into(strong, path) * into(b, path) for b in weak)
    total = IDENTITY if signs == (1,) else combine(signs) if weak else zeros(strong.shape)
    terms = [variable(bond, OTHER[common]) for bond in weak]
    if law.automaton is None:
        draft.same(path, label, shared, symbol)
        for bond in weak:
            draft.same(path, variable(bond, common), shared)
        draft.write(path, total, balance, *terms)
        return
    gated = gate(draft.places(law, law.active))
    draft.declare(label, strong.shape, draft.values[shared].unit, symbol)
    draft.write(path, gated, label, law.mode, shared)
    for bond in weak:
        draft.same(path, variable(bond, common), label)
    joined = draft.declare(f"{path}.balance", strong.shape, draft.values[balance].unit)
    draft.write(path, total, joined, *terms)
    draft.write(path, gated, balance, law.mode, joined)


def transformer(draft: Assembly, path: str, element: Element) -> None:
    """Efforts and flows by N, in the direction that causality asks for."""
    law = element.law_as(Transformer)
    one, two, ratio = _two_port(draft, path, element)
    sign = -into(one, path) * into(two, path)
    if draft.causality.effort_into(two, path):
        products = law.action or Action(APPLY, _transposed(law))
        given = law_arguments(path, element) if law.action else (ratio,)
        draft.write(path, products.forward, flow(two), *given, signed(draft, path, flow(one), sign))
        draft.write(path, products.transposed, effort(one), *given, effort(two))
    else:
        draft.write(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, flow(two), sign))
        draft.write(path, APPLY_INVERSE, effort(two), ratio, effort(one))


def gyrator(draft: Assembly, path: str, element: Element) -> None:
    """Efforts by flows, or flows by efforts."""
    one, two, ratio = _two_port(draft, path, element)
    s1, s2 = into(one, path), -into(two, path)
    if not draft.causality.effort_into(one, path):
        draft.write(path, APPLY, effort(one), ratio, signed(draft, path, flow(two), s2))
        draft.write(path, _transposed(element.law_as(Gyrator)), effort(two), ratio, signed(draft, path, flow(one), s1))
    else:
        draft.write(path, APPLY_INVERSE, flow(two), ratio, signed(draft, path, effort(one), s2))
        draft.write(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, effort(two), s1))


def _two_port(draft: Assembly, path: str, element: Element) -> tuple[Bond, Bond, str]:
    """Bonds at port 1 and 2, and the name of the ratio."""
    law = element.law_as(Ratio)
    one, two = ordered_bonds(draft.model, path)
    shape = () if law.invertible else None
    ratio = draft.declare(f"{path}.{law.letter}", shape, ratio_unit(element, one, two), element.symbols.get("matrix", ""))
    draft.write(path, law.matrix, ratio, *law_arguments(path, element))
    name_port(draft, path, element, one, f"{path}.1")
    name_port(draft, path, element, two, f"{path}.2")
    return one, two, ratio


def _transposed(law: Ratio) -> Op:
    """N^T x; a scalar ratio is its own transpose."""
    return APPLY if law.invertible else APPLY_TRANSPOSED


def skew_gyrator(draft: Assembly, path: str, element: Element) -> None:
    """An effort across the flow of the same bond."""
    law = element.law_as(SkewGyrator)
    bond = draft.bond_at(path)
    matrix = draft.declare(f"{path}.J", None, across_unit(bond.domain), element.symbols.get("matrix", ""))
    draft.write(path, law.matrix, matrix, *law_arguments(path, element))
    draft.write(path, APPLY, effort(bond), matrix, signed(draft, path, flow(bond), into(bond, path)))
    name_port(draft, path, element, bond, path)


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
