"""Internal names of `bondgraph.schedule` that tests use."""

# ruff: noqa: F401

from bondgraph.schedule import kernels
from bondgraph.schedule.build import jacobian_in_loops, kernels_in_loops, numpy_kernel, schedule_routines
from bondgraph.schedule.calls import Call, Kind, number_statements
from bondgraph.schedule.instances import instances, lazy_system
from bondgraph.schedule.instances.lazy_system import system_of_instances
from bondgraph.schedule.kernels import MIN_REPETITION, MIN_STATEMENTS, is_large, loops_are_better
from bondgraph.schedule.machine_code import kernels as machine_code_kernels
from bondgraph.schedule.machine_code import loop_blocking
from bondgraph.schedule.machine_code.kernels import kernels_text, machine_kernels, shared_kernels, shared_text
from bondgraph.schedule.machine_code.loop_blocking import fuse_loops, tile_loops
from bondgraph.schedule.memory_layout import Access, KernelLoop, Schedule, batches, needed
from bondgraph.schedule.plans import KernelCache, group_values
