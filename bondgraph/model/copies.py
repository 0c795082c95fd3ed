"""Base classes of objects with formulas: they cannot be pickled, and a frozen record is its own copy.

Formulas are functions of the user's, most of them without a name that another process could import.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

from bondgraph.errors import refusal


class OfFormulas:
    """Object with formulas, which can be copied, but not pickled (E157)."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        why = "it holds formulas, which are functions and mean nothing in another process"
        cures = (
            "a module with a function that builds the graph, called in each process: only its arguments go there",
            "the Result of a run goes from process to process",
        )
        raise refusal("E157", f"{type(self).__name__} cannot be pickled", *cures, about=str(getattr(self, "name", "")), why=why)


class Frozen(OfFormulas):
    """Frozen record with formulas, which is its own copy."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
