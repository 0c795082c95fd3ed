"""Screw bond graphs: compose physical systems as graphs of bonds, scalar to 6-D, and compile them.

A `Graph` collects elements and bonds; `compile_model` assigns causality, sorts the equations and compiles machine code;
`simulate` runs it with event detection and an energy ledger, `sweep` runs an ensemble.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bondgraph import signals
from bondgraph.causality.assign import Causality, assign_causality
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.kernels import CompiledFormula, compile_formula, count_operations
from bondgraph.compile.pipeline import compile_model, equations, simulate
from bondgraph.elements.blocks import Block
from bondgraph.elements.chemistry import Ce, Re
from bondgraph.elements.friction import Friction
from bondgraph.elements.heat import HeatTransfer
from bondgraph.elements.inertial import IC
from bondgraph.elements.junction_structure import GY, J0, J1, MGY, MTF, TF, X0, X1
from bondgraph.elements.one_ports import C, Constraint, Diode, EulerJunction, I, R, Se, Sf, Switch
from bondgraph.errors import ModelError, Problem, RoundingWarning, RunEndedWarning, RunError, ScrewbondError, UnreliableRunWarning
from bondgraph.graph.builder import Graph
from bondgraph.graph.fields import multiport
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.domains import DOMAINS, Domain
from bondgraph.model.element import Element, Port
from bondgraph.model.laws import Parameter, StateSpec
from bondgraph.model.modal import by_mode
from bondgraph.model.model import Bond, Model
from bondgraph.model.ops import Op
from bondgraph.run import measures as measures
from bondgraph.run.results.result import Result
from screws.calls import check_calls
from screws.names import answer_old_names

if TYPE_CHECKING:
    from bondgraph import analysis as analysis
    from bondgraph import export as export
    from bondgraph import render as render
    from bondgraph.interchange import dump_model, load_model, parse_model, read_graph, save_model
    from bondgraph.stepping import quasistatic
    from bondgraph.sweeps import sweep

__distribution__ = "screwbond"
"""Distribution that installs this package; if it is missing, another distribution has overwritten these files."""

__all__ = ["C", "Ce", "I", "IC", "R", "Re", "Se", "Sf", "TF", "GY", "MTF", "MGY", "EulerJunction", "J0", "J1", "X0", "X1"]
__all__ += ["Constraint", "Diode", "Friction", "Switch", "HeatTransfer", "Block", "multiport", "signals"]
__all__ += ["Graph", "Model", "Bond", "Element", "Port", "Parameter", "StateSpec", "Op", "Domain", "DOMAINS"]
__all__ += ["Automaton", "Transition", "by_mode", "Causality", "assign_causality", "equations"]
__all__ += ["Compiled", "CompiledFormula", "compile_formula", "compile_model", "count_operations"]
__all__ += ["quasistatic", "simulate", "sweep", "Result"]
__all__ += ["dump_model", "load_model", "parse_model", "read_graph", "save_model"]
__all__ += ["ModelError", "Problem", "RoundingWarning", "UnreliableRunWarning", "RunEndedWarning", "RunError", "ScrewbondError"]

_LAZY_MODULES = {package: f"bondgraph.{package}" for package in ("analysis", "export", "interchange", "stepping", "sweeps")}
_LAZY_MODULES |= {"render": "bondgraph.render.diagram"}
"""Packages that `import bondgraph` does not load: the module to import on first access, by name."""
_LAZY_NAMES = dict.fromkeys(("dump_model", "load_model", "parse_model", "read_graph", "save_model"), "interchange")
_LAZY_NAMES |= {"quasistatic": "stepping", "sweep": "sweeps"}
"""Package of each public name that is imported on first access."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        package = _LAZY_NAMES.get(name, name)
        if package not in _LAZY_MODULES:
            raise AttributeError(f"module 'bondgraph' has no attribute {name!r}")
        importlib.import_module(_LAZY_MODULES[package])
        loaded = importlib.import_module(f"bondgraph.{package}")
        return loaded if name == package else getattr(loaded, name)


def __dir__() -> list[str]:
    return [*__all__, *(package for package in _LAZY_MODULES if package not in _LAZY_NAMES.values())]


check_calls(__name__)
answer_old_names(__name__)
