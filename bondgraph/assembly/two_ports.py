"""Statements of transformers and gyrators."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.assembly.draft import Assembly, effort, flow, into, law_arguments, name_port, signed
from bondgraph.causality.assign import ordered_bonds
from bondgraph.model.element import Element
from bondgraph.model.laws import Gyrator, SkewGyrator, Transformer
from bondgraph.model.model import Bond
from bondgraph.model.ops import APPLY, APPLY_INVERSE, APPLY_TRANSPOSED, Op


def _two_port(draft: Assembly, path: str, element: Element) -> tuple[Bond, Bond, int, str]:
    """Bonds at port 1 and 2, the sign that turns f1 into f2 for these arrows, and the name of the ratio."""
    one, two = ordered_bonds(draft.model, path)
    law = element.law
    assert isinstance(law, (Transformer, Gyrator))
    local = "N" if isinstance(law, Transformer) else "r"
    shape = () if law.invertible else None
    ratio = draft.declare(f"{path}.{local}", shape, "", element.symbols.get("matrix", ""))
    draft.write(path, law.matrix, ratio, *law_arguments(path, element))
    name_port(draft, path, element, one, f"{path}.1")
    name_port(draft, path, element, two, f"{path}.2")
    return one, two, -into(one, path) * into(two, path), ratio


def _transposed(element: Element) -> Op:
    """N^T x; a scalar ratio is its own transpose."""
    law = element.law
    return APPLY if isinstance(law, (Transformer, Gyrator)) and law.invertible else APPLY_TRANSPOSED


def _products(path: str, element: Element, ratio: str) -> tuple[Op, Op, Sequence[str]]:
    """N f and N^T e as operations, and what they read before f or e: the ratio, or what it is made of."""
    law = element.law
    if isinstance(law, Transformer) and law.action is not None:
        return law.action.forward, law.action.transposed, law_arguments(path, element)
    return APPLY, _transposed(element), [ratio]


def transformer(draft: Assembly, path: str, element: Element) -> None:
    """Efforts and flows by N, in the direction that causality asks for."""
    one, two, sign, ratio = _two_port(draft, path, element)
    if draft.causality.effort_into(two, path):
        forward, transposed, given = _products(path, element, ratio)
        draft.write(path, forward, flow(two), *given, signed(draft, path, flow(one), sign))
        draft.write(path, transposed, effort(one), *given, effort(two))
    else:
        draft.write(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, flow(two), sign))
        draft.write(path, APPLY_INVERSE, effort(two), ratio, effort(one))


def gyrator(draft: Assembly, path: str, element: Element) -> None:
    """Efforts by flows, or flows by efforts."""
    one, two, _, ratio = _two_port(draft, path, element)
    s1, s2 = into(one, path), -into(two, path)
    if not draft.causality.effort_into(one, path):
        draft.write(path, APPLY, effort(one), ratio, signed(draft, path, flow(two), s2))
        draft.write(path, _transposed(element), effort(two), ratio, signed(draft, path, flow(one), s1))
    else:
        draft.write(path, APPLY_INVERSE, flow(two), ratio, signed(draft, path, effort(one), s2))
        draft.write(path, APPLY_INVERSE, flow(one), ratio, signed(draft, path, effort(two), s1))


def skew_gyrator(draft: Assembly, path: str, element: Element) -> None:
    """An effort across the flow of the same bond."""
    law = element.law
    assert isinstance(law, SkewGyrator)
    bond = draft.model.bonds_at(path)[0]
    matrix = draft.declare(f"{path}.J", None, "", element.symbols.get("matrix", ""))
    draft.write(path, law.matrix, matrix, *law_arguments(path, element))
    draft.write(path, APPLY, effort(bond), matrix, signed(draft, path, flow(bond), into(bond, path)))
    name_port(draft, path, element, bond, path)
