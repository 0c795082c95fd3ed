"""Statements of junctions, switched ones too."""

from __future__ import annotations

from bondgraph.assembly.draft import Assembly, into, variable
from bondgraph.model.element import Element
from bondgraph.model.laws import OTHER, Junction, Variable
from bondgraph.model.ops import IDENTITY, combine, gate, zeros


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
