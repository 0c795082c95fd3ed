"""Record of a public model in the gallery: its origin, and which of its signals are compared."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Unpack

from bondgraph import Graph
from bondgraph.run_arguments import RunSettings


@dataclass(frozen=True)
class Entry:
    """Public model.

    Parameters
    ----------
    source : name of the model in the library from which it comes.
    statements : number of declarations and equations of the original; a connection counts as one; parameters, and templates and
        parts that several models share, do not count.
    t_end : end time of the run, s.
    signals : signal of our model for each signal of the original, with a minus sign in front if its sign is opposite.
    tolerance : largest deviation, as a fraction of the largest value of each signal, that the published results resolve.
    least : fraction of a signal's largest value above which deviations are relative to the value at the same time.
    make : function that returns the graph.
    settings : settings of the run other than samples; empty for the defaults.
    """

    name: str
    source: str
    statements: int
    t_end: float
    signals: Mapping[str, str]
    tolerance: float
    make: Callable[[], Graph]
    least: float = 1.0
    settings: RunSettings = field(default_factory=RunSettings)

    @property
    def lines(self) -> int:
        """Number of lines of the function that makes the graph, without its signature and docstring."""
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(self.make))).body
        assert isinstance(function, ast.FunctionDef) and function.end_lineno is not None
        return function.end_lineno - function.body[1].lineno + 1


@dataclass(frozen=True)
class Collection:
    """Models of one field."""

    title: str
    entries: dict[str, Entry] = field(default_factory=dict)

    def model(
        self,
        source: str,
        *,
        statements: int,
        t_end: float,
        signals: Mapping[str, str],
        tolerance: float,
        least: float = 1.0,
        **settings: Unpack[RunSettings],
    ) -> Callable[[Callable[[], Graph]], Callable[[], Graph]]:
        """Decorate a function that returns the graph of a public model."""

        def decorated(make: Callable[[], Graph]) -> Callable[[], Graph]:
            name = make.__name__
            self.entries[name] = Entry(name, source, statements, t_end, signals, tolerance, make, least, settings)
            return make

        return decorated
