"""Internal names of `bondgraph.run` that tests use."""

# ruff: noqa: F401

from bondgraph.run.accuracy import balancing as accuracy_balancing
from bondgraph.run.accuracy import error_weights, natural_scales, rounding_noise
from bondgraph.run.accuracy.fields import PATTERNS, Callbacks, Control
from bondgraph.run.accuracy.pattern_buffers import pattern_in_buffer, provide_pattern_buffers
from bondgraph.run.accuracy.strong_cycles import STEP, balance_strong_cycles
from bondgraph.run.accuracy.table import ErrorWeights, fastest_rates
from bondgraph.run.batch import event_losses, lost_loops, native_measures, prepared, workers, workspace
from bondgraph.run.batch.chunk_size import ChunkTarget, chunk_size
from bondgraph.run.batch.collect import BatchCollector, RunBatch
from bondgraph.run.batch.fields import BatchTable
from bondgraph.run.batch.gpu import kernel as gpu_kernels
from bondgraph.run.batch.gpu import launcher as gpu_launcher
from bondgraph.run.batch.gpu import launches as gpu_launches
from bondgraph.run.batch.gpu.kernel import GPUKernel, gpu_kernel, gpu_refusal
from bondgraph.run.batch.gpu.launcher import batch_refusal
from bondgraph.run.batch.gpu.order import CostGuess
from bondgraph.run.batch.image import Image, image_of, image_of_tables
from bondgraph.run.batch.prepared import PreparedProgram, prepare
from bondgraph.run.batch.results import KeptOfRun, kept_of
from bondgraph.run.batch.simd import lane_jacobians, lane_loop
from bondgraph.run.batch.simd import natural_scales as simd_natural_scales
from bondgraph.run.batch.simd.natural_scales import FOUR
from bondgraph.run.batch.validity import rank_screen, sample_check
from bondgraph.run.batch.validity.sample_check import SampleCheck, bounds, envelope
from bondgraph.run.batch.workspace import Workspace
from bondgraph.run.bound import Bound
from bondgraph.run.clock_schedule import ClockSchedule
from bondgraph.run.complementarity import solver as box_solver
from bondgraph.run.complementarity.table import BoxOutcome, box_table
from bondgraph.run.events import accumulation as event_accumulation
from bondgraph.run.events import guard_history, handler, root_finding
from bondgraph.run.events import guards as event_guards
from bondgraph.run.events import iteration as event_iteration
from bondgraph.run.events import transitions as event_transitions
from bondgraph.run.events.guard_history import GuardHistory
from bondgraph.run.events.handler import EventHandler
from bondgraph.run.events.impacts.friction_cones import Cones, with_restitution
from bondgraph.run.events.impacts.simultaneous import complementary
from bondgraph.run.events.log import Log
from bondgraph.run.events.modes import friction_modes
from bondgraph.run.events.questions import stop_unanswered
from bondgraph.run.events.root_finding import DenseOutput, StepTable
from bondgraph.run.events.state import HISTORY, EventOutcome, EventTable
from bondgraph.run.hybrid import Hybrid, result_of
from bondgraph.run.linear import system
from bondgraph.run.linear.layout import BAND, DENSE, SPARSE, MatrixLayout, layout_of, pair_layout_of
from bondgraph.run.measures import MEASURES, STORED, MachineRule, Measure, events, integral, last, lowest, mean, peak, series
from bondgraph.run.ode import OdeFunctions, ode_functions
from bondgraph.run.program import Layout, NewtonLoop, Program, RunClock, RunTransition, Slot
from bondgraph.run.program.bonds import BondVariables
from bondgraph.run.python_callbacks import PythonCallback
from bondgraph.run.results import outputs
from bondgraph.run.results.curves import curves
from bondgraph.run.results.failure import CURES
from bondgraph.run.results.outputs import MAX_REQUESTS
from bondgraph.run.results.result import Result
from bondgraph.run.samples import SampleRows
from bondgraph.run.settings import longest_step
from bondgraph.run.simulate import simulate
from bondgraph.run.sparsity import coupling_graph
from bondgraph.run.sparsity.cache import StructureCache
from bondgraph.run.sparsity.coupling_graph import structure_of
from bondgraph.run.sparsity.structure import MAX_COUPLING, MIN_COUPLING, CouplingStructure, JacobianCouplings
from bondgraph.run.status import Status
from bondgraph.run.steppers import dop853, driver, explicit, initial_step, integrator, step_control
from bondgraph.run.steppers.choose import choose
from bondgraph.run.steppers.dopri5 import TABLEAU
from bondgraph.run.steppers.explicit import Tableau, explicit_method, method_of
from bondgraph.run.steppers.implicit import quadrature
from bondgraph.run.steppers.radau import coefficients as radau
from bondgraph.run.steppers.radau import radau5
from bondgraph.run.steppers.rosenbrock import coefficients, rodas5p
from bondgraph.run.steppers.shared_fields import IntegratorTable
from bondgraph.run.streaming import energy_account, run
from bondgraph.run.streaming.partial_result import KeptResult
from bondgraph.run.streaming.quantities import chosen_quantities
from bondgraph.run.table import FieldTable
from bondgraph.run.validation import constraint_matrix
from bondgraph.run.validation.checked_result import MIN_CHECKED, checked_result, checked_times
from bondgraph.run.validation.concerns import validity_concerns
from bondgraph.run.validation.constraint_matrix import ConstraintMatrix, RowScaling, diagonal_blocks
from bondgraph.run.validation.constraint_rank import _suspects
from bondgraph.run.validation.lost_solution import SolutionCheck, energies_at, find_lost_solution
from bondgraph.run.validation.surface_contacts import watched_contacts
