"""Internal names of `bondgraph.tape` that tests use."""

# ruff: noqa: F401

from bondgraph.tape import differentiate, interpret, opcodes
from bondgraph.tape.differentiate import compressed_columns, derivatives_along, jacobian, jumps, slopes, sparsity_pattern
from bondgraph.tape.independent_parts import forms
from bondgraph.tape.interpret import NUMPY_FUNCTIONS, interpreter
from bondgraph.tape.routine import Alternatives, Listing, Routine, listing, reachable, select_outputs
from bondgraph.tape.scalar import Tape, TapeScalar, TraceError
from bondgraph.tape.specialise import Code, SpecialisedRoutine, appended, hoist, specialise
from bondgraph.tape.taylor import NoSeries, taylor_coefficients
