"""Which formula of the velocity forces costs less for a chain: recursive Newton-Euler, or the derivatives of M(q)."""

from __future__ import annotations

from typing import Any

from bondgraph import count_operations
from bondgraph.model.mechanics import Mechanics
from models.chains.dynamics import bias, inertia_numbers, mass_matrix
from models.chains.links import Chain


def recursion_is_shorter(chain: Chain) -> bool:
    """Whether M(q) and h(q, v) together take fewer operations with h by recursion than with h by differentiation.

    Both are traced and counted: few joints, many of them parallel, make the derivatives of M(q) short (the finger of a hand: 305
    operations for v' against 393), long or general chains the recursion (seven joints: 1457 against 1889).
    """
    mechanics = Mechanics(lambda at, *p: mass_matrix(chain, at, *p), None, None, None, False)

    def recursive(q: Any, v: Any, p: Any) -> dict[str, Any]:
        return {"M": mass_matrix(chain, q, *p), "h": bias(chain, q, v, *p)}

    def differentiated(q: Any, v: Any, p: Any) -> dict[str, Any]:
        return {"M": mass_matrix(chain, q, *p), "h": mechanics.coriolis(q, v, *p)}

    n, shapes = chain.freedoms, len(inertia_numbers(chain))
    sizes = {"q": (n,), "v": (n,), "numbers": (shapes,)}
    first, second = (count_operations(way, sizes, constant=("numbers",)) for way in (recursive, differentiated))
    return first < second
