"""Record of a public model in the gallery: where it comes from, and which of its signals are compared."""

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
    """A public model.

    Parameters
    ----------
    source : its name in the library that it comes from.
    statements : declarations and equations of the original, each connection one; not those of templates and parts that
        several models share, nor parameters.
    t_end : end of the run, s.
    signals : signal of the original -> signal here, with a minus sign in front where it counts the other way.
    tolerance : largest deviation, as a fraction of the largest value of each signal: what the published results resolve.
    least : part of the largest value of a signal down to which deviations are parts of the present value instead.
    make : returns the graph.
    settings : of the run, besides its samples; none where the defaults do.
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
        """Lines of the function that makes it, without its head and docstring."""
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
