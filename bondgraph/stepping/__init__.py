"""Time stepping with rigid contacts and Coulomb friction, quasi-static or dynamic, by quadratic programs."""

from bondgraph.stepping.free_bodies import FreeBodyResult, FreeBodyStepper, free_body_stepper
from bondgraph.stepping.interface import Stepper, quasistatic, stepper
from bondgraph.stepping.quadratic.candidates import WORLD, Candidates, Pairs, TouchingBody
from bondgraph.stepping.step import StepResult
from screws.calls import check_calls
from screws.names import answer_old_names

__all__ = ["WORLD", "Candidates", "FreeBodyResult", "FreeBodyStepper", "Pairs", "StepResult", "Stepper", "TouchingBody"]
__all__ += ["free_body_stepper", "quasistatic", "stepper"]

check_calls(__name__)
answer_old_names(__name__)
