"""Screw bond graphs: compose physical systems as graphs of bonds, scalar to 6-D, and compile them.

A `Graph` collects elements and bonds; `compile_model` assigns causality, sorts the equations and makes machine code;
`simulate` runs it with events and an energy ledger, `sweep` many times.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bondgraph import signals
from bondgraph.causality.assign import Causality, assign_causality
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.formula import CompiledFormula, compile_formula, count_operations
from bondgraph.compile.pipeline import compile_model, equations, simulate
from bondgraph.elements.blocks import Block
from bondgraph.elements.chemistry import Ce, Re
from bondgraph.elements.friction import Friction
from bondgraph.elements.inertial import IC
from bondgraph.elements.junctions import J0, J1, X0, X1
from bondgraph.elements.one_ports import Constraint, EulerJunction, R, Se, Sf
from bondgraph.elements.storages import C, I
from bondgraph.elements.switches import Diode, Switch
from bondgraph.elements.two_ports import GY, MGY, MTF, TF
from bondgraph.errors import ModelError, Problem, RoundingWarning, RunDoubtWarning, RunEndedWarning, RunError, ScrewbondError
from bondgraph.graph.builder import Graph
from bondgraph.graph.fields import multiport
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.domains import DOMAINS, Domain
from bondgraph.model.element import Element, Port
from bondgraph.model.laws import Parameter, StateSpec
from bondgraph.model.modal import by_mode
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import Op
from bondgraph.run import measures

if TYPE_CHECKING:
    from bondgraph import analysis as analysis
    from bondgraph import export as export
    from bondgraph import render as render
    from bondgraph.interchange import dump_model, load_model, parse_model, save_model
    from bondgraph.stepping import quasistatic
    from bondgraph.sweeps import sweep

__distribution__ = "screwbond"
"""Who installs this package: where it is missing, another distribution has overwritten these files."""

__all__ = ["C", "Ce", "I", "IC", "R", "Re", "Se", "Sf", "TF", "GY", "MTF", "MGY", "EulerJunction", "J0", "J1", "X0", "X1"]
__all__ += ["Constraint", "Diode", "Friction", "Switch", "Block", "multiport", "signals"]
__all__ += ["Graph", "Model", "Bond", "Element", "Port", "Parameter", "StateSpec", "Op", "Domain", "DOMAINS"]
__all__ += ["Automaton", "Transition", "by_mode", "Causality", "assign_causality", "equations"]
__all__ += ["Compiled", "CompiledFormula", "compile_formula", "compile_model", "count_operations"]
__all__ += ["measures", "quasistatic", "simulate", "sweep"]
__all__ += ["dump_model", "load_model", "parse_model", "save_model"]
__all__ += ["ModelError", "Problem", "RoundingWarning", "RunDoubtWarning", "RunEndedWarning", "RunError", "ScrewbondError"]

_LATER = {room: f"bondgraph.{room}" for room in ("analysis", "export", "interchange", "stepping", "sweeps")}
_LATER |= {"render": "bondgraph.render.diagram"}
"""Rooms that are there after `import bondgraph` without being loaded by it: name -> module that is imported when asked for."""
_OF_THEM = dict.fromkeys(("dump_model", "load_model", "parse_model", "save_model"), "interchange")
_OF_THEM |= {"quasistatic": "stepping", "sweep": "sweeps"}
"""Public names that come with such rooms: name -> room."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        room = _OF_THEM.get(name, name)
        if room not in _LATER:
            raise AttributeError(f"module 'bondgraph' has no attribute {name!r}")
        importlib.import_module(_LATER[room])
        loaded = importlib.import_module(f"bondgraph.{room}")
        return loaded if name == room else getattr(loaded, name)


def __dir__() -> list[str]:
    return [*__all__, *(room for room in _LATER if room not in _OF_THEM.values())]
