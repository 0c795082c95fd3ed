"""What functions about a model accept: a compiled model, or a graph, which is then compiled for them."""

from __future__ import annotations

from bondgraph.compile.compiled import Compiled, compile_model
from bondgraph.errors import no_model
from bondgraph.graph.builder import Graph
from bondgraph.model.model import Model

Compilable = Compiled | Graph | Model
"""A model in any form; whoever asks for several things compiles it once."""


def compiled_form(model: Compilable, asker: str) -> Compiled:
    """The compiled model, or the graph compiled; `asker` is the function that wants it.

    Raises
    ------
    ModelError
        E100 for what is neither; with all that `compile_model` finds.
    """
    if isinstance(model, Compiled):
        return model
    if isinstance(model, (Graph, Model)):
        return compile_model(model)
    raise no_model(model, asker)
