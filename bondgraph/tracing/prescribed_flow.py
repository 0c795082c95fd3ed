"""An element that holds a flow in; the flow sources that alone decide that flow, so that the two contradict each other, out.

"When commanded positions meet kinematic constraints" the graph has a conflict, which a spring between command and joint resolves:
the environment is an admittance, and so what moves must be an impedance (Hogan 1985).
"""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.model import laws
from bondgraph.model.model import Bond, Model


def commanding(model: Model, path: str) -> tuple[str, ...]:
    """Flow sources that decide the flow of a one-port by junctions and transformers alone, those of zero by structure left out;
    none where anything else has a part in it."""
    found = _deciding(model, model.bonds_at(path)[0], path, frozenset())
    return tuple(s for s in found or () if model.elements[s].law_as(laws.Source).value is not None)


def _deciding(model: Model, bond: Bond, asker: str, seen: frozenset[str]) -> tuple[str, ...] | None:
    """Sources that decide the flow of a bond on the side away from `asker`; None where not they alone do."""
    path = next((end.element for end in bond.ends if end.element != asker), asker)
    if path in seen:
        return None
    law, others = model.elements[path].law, [b for b in model.bonds_at(path) if b is not bond]
    if isinstance(law, laws.Source):
        return (path,) if law.gives == "flow" else None
    behind = [_deciding(model, other, path, seen | {path}) for other in others]
    if isinstance(law, laws.Junction) and law.automaton is None and law.type == 1:
        return next((sources for sources in behind if sources is not None), None)
    if isinstance(law, laws.Transformer) or (isinstance(law, laws.Junction) and law.automaton is None):
        return _all(behind)
    return None


def _all(behind: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    known = [sources for sources in behind if sources is not None]
    return tuple(dict.fromkeys(s for sources in known for s in sources)) if known and len(known) == len(behind) else None
