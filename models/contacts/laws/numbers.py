"""Numbers and components of laws of contact: what a caller gave in; the problems that it has (E435, E436) out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from bondgraph.errors import Problem, caller_place
from screws.numeric_arguments import real


def number_problems(
    contact: str, law: object, *needs: tuple[str, str, float, float], above: Sequence[str] = ()
) -> Iterator[Problem]:
    """E436 for numbers of a law that are none, or out of their range.

    Parameters
    ----------
    needs : (name of the field, unit, least, most). above : names of those which may not be the least either.
    """
    for field, unit, least, most in needs:
        given: Any = getattr(law, field)
        value = real(given)
        if math.isfinite(value) and least <= value <= most and not (value == least and field in above):
            continue
        kind = type(law).__name__
        bound = f"above {least:g}" if field in above else f"of {least:g} or more"
        bound += f", at most {most:g}" if math.isfinite(most) else ""
        title = f'contact "{contact}": {kind} has {field} = {given!r}'
        example = f"{kind}({field}={0.5 if math.isfinite(most) else 1e4:g}, ...)"
        yield Problem("E436", title, (f"needs a number {bound}" + (f", {unit}" if unit else ""),), (caller_place(),), (example,))


def component_problem(contact: str, law: object, chosen: Sequence[str], takes: Sequence[str], cure: str) -> Iterator[Problem]:
    """E435 where what is constrained lacks v_z, or has something that the law gives no force to."""
    others = [component for component in chosen if component not in takes]
    if "v_z" in chosen and not others:
        return
    kind = type(law).__name__
    title = f'contact "{contact}": {kind} cannot constrain {", ".join(others) if others else "without v_z"}'
    details = (f"{kind} is a law of {', '.join(takes)}", f"constrained: {', '.join(chosen)}")
    yield Problem("E435", title, details, (caller_place(),), (cure,))
