"""The pipeline from a model to sorted equations, as one short list of stages."""

from __future__ import annotations

from bondgraph.assembly.assemble import assemble
from bondgraph.assembly.system import System
from bondgraph.causality.assign import Causality, assign_causality
from bondgraph.errors import no_model
from bondgraph.model.model import Model
from bondgraph.passes.alias import remove_aliases
from bondgraph.passes.rings import refuse_rings
from bondgraph.passes.shapes import find_shapes
from bondgraph.passes.sort import sort_statements


def equations(model: Model, causality: Causality | None = None) -> System:
    """Sorted statements of a model.

    1. causality: which end of each bond sets its effort;
    2. assemble: statements of each element for these strokes;
    3. remove_aliases: one name for each value, before sorting, so that the sorter sees real work only (a ring of nothing
       but names is refused);
    4. sort_statements: order of evaluation; algebraic loops are torn, and what is torn is unknown;
    5. find_shapes: every formula runs once on floats, so that one that does not fit its bond ends here.
    """
    if not isinstance(model, Model):
        raise no_model(model, "equations", "graph.freeze()")
    causality = causality or assign_causality(model)
    named = refuse_rings(remove_aliases(assemble(model, causality)), model)
    return find_shapes(sort_statements(named), model)
