"""Statements of junctions, switched ones too."""

from __future__ import annotations

from bondgraph.assembly.draft import Assembly, effort, flow, into
from bondgraph.model.element import Element
from bondgraph.model.laws import Junction
from bondgraph.model.ops import IDENTITY, Op, combine, gate, zeros


def junction(draft: Assembly, path: str, element: Element) -> None:
    """The strong bond brings the common variable in; the others' balance goes out on it."""
    law = element.law
    assert isinstance(law, Junction)
    bonds = draft.model.bonds_at(path)
    strong = next(b for b in bonds if draft.causality.effort_into(b, path) is (law.type == 0))
    weak = [b for b in bonds if b is not strong]
    common, other = (effort, flow) if law.type == 0 else (flow, effort)
    signs = tuple(-into(strong, path) * into(b, path) for b in weak)
    shared, balance = common(strong), other(strong)
    label = f"{path}.effort" if law.type == 0 else f"{path}.flow"
    symbol = element.symbols.get("effort" if law.type == 0 else "flow", "")
    if law.automaton is None:
        draft.same(path, label, shared, symbol)
        for bond in weak:
            draft.same(path, common(bond), shared)
        shape = draft.values[balance].shape or ()
        draft.write(path, _balance(signs) if weak else zeros(shape), balance, *(other(b) for b in weak))
        return
    mode, states = law.mode, draft.model.automata[law.automaton].states
    gated = gate(tuple(states.index(state) for state in law.active))
    draft.declare(label, draft.values[shared].shape, draft.values[shared].unit, symbol)
    draft.write(path, gated, label, mode, shared)
    for bond in weak:
        draft.same(path, common(bond), label)
    joined = draft.declare(f"{path}.balance", draft.values[balance].shape, draft.values[balance].unit)
    draft.write(path, _balance(signs), joined, *(other(b) for b in weak))
    draft.write(path, gated, balance, mode, joined)


def _balance(signs: tuple[int, ...]) -> Op:
    """Signed sum of the weak bonds' variables; with a single one it is that variable itself."""
    return IDENTITY if signs == (1,) else combine(signs)
