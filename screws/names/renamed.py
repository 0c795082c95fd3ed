"""Tables of names that changed: old scripts get an error that states the new name; old files are still read.

A package calls `answer_old_names(__name__)`, which also decorates classes and functions with renamed members or keywords.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Mapping
from importlib.abc import MetaPathFinder
from typing import Any, TypeVar

from screws.errors import CallError, is_own
from screws.names.access import explain_access, missing_attribute
from screws.names.missing import MissingAttribute, MissingImport, homes_of, import_or_similar

T = TypeVar("T")


def _read(text: str) -> dict[str, str]:
    return dict(pair.split() for pair in text.split(","))


def _read_by_owner(text: str) -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {}
    for owners, pairs in (line.split(":") for line in text.strip().splitlines()):
        for owner in owners.split():
            table.setdefault(owner, {}).update(_read(pairs))
    return table


MODULES = {
    "screwbond.models.urdf": "screwbond.models.robots",
    "bondgraph.piles": "bondgraph.stepping.free_bodies",
    "screwbond.models.delta.pictures.scene_pictures": "screwbond.models.delta.pictures.scene",
    "screwbond.models.delta.pictures.touch_figure": "screwbond.models.delta.pictures.figures",
}
"""New paths of modules by their old paths."""
NAMES = _read("""
    RunDoubtWarning UnreliableRunWarning, Fault RunIssue, Stepped StepResult, pile free_body_stepper, Pile FreeBodyStepper,
    PileResult FreeBodyResult, unhat vee, contact_places all_closest_points, Rubs CollisionFriction, Absent UnavailableKernel,
    Untracked UntrackedContact,
    untracked_place find_untracked_contact, Head ContactKinematics, Tail ContactForces, touch_planar attach_planar_contact,
    mark_planar_touch mark_planar_contact, welded combined_inertia, missed joint_error, fading fading_gain,
    tie_arms connect_arms, crossing instability_angle, reduced linearise_reduced, Sweep PoleSweep, sweep sweep_poles,
    Passage SingularPosture, Touch SoftTouchRun, squeezing squeeze_forces, finger_place fingertip_pose,
    stretch finger_extension, Step ReferenceStep, alike equivalent_laws, over_poses study_poses, strikes simulate_impacts,
    strike simulate_impact, Strike ImpactRun, Measured MeasuredImpact, Blow ImpulseMeasurement, ForceCourse ForceHistory,
    linearised linearise_maze, closed_poles closed_loop_poles, course maze_automaton, turning axis_rotations,
    Turning AxisRotations, Coil SpringDrawing, Touching ContactDrawing, Happening EventMark, skinned visual_solids,
    Skin LinkVisual
""")
"""New names of functions and classes by their old names, in the same package."""
MEMBERS = _read_by_owner("""
    PreparedRun: start start_values, points start_values_many, plain_starts prechecked_starts, runs program
    PreparedRun PreparedProgram: go run, many run_many
    PreparedProgram: judged checked_run, ended checked_run_and_end, wanted requested_times
    BatchResult Result RunSensitivities Run Runs: doubts warnings
    BatchResult: refused errors
    RunOutcome: reached completed
    CompiledFormula: many evaluate_many
    Statistics: handed_back events_in_python, programs quadratic_programs
    Estimate: deviations standard_errors, freedom degrees_of_freedom, told findings, estimated estimated_sigmas
    Estimate: failed failures, distance mahalanobis_distance, covers in_confidence_region
    Uncertainty: shares variance_shares
    Events: where select, place index_of, begun with_earlier_start
    Event: together simultaneous
    FreeBodyResult: touching contact_count, overlap penetration, slip slip_speed
    ImpactStudy: strikes impacts
    Striker: skins visuals, where striking_point
    SpringImpact MaxwellImpact ViscoelasticImpact: course history
    PoseStudy: below composite_below_projection
    MazeRun RobustnessMap: finished reached_centre
    MazeRun: happened event_table, rests on_ring
    HandRun: lost time_of_loss
    Study: stretch extension
    DeltaRun: passages singular_postures
    SoftTouchRun: held holding_force, designed design
    Motion: starting starting_at
    Tree: turns is_angle
    Scene: happenings event_marks, touches contacts, coils springs, slow slow_motion
    ContactDrawing: apart show_gap
    Solid Surface: endless unbounded
    Robot: skins visuals
    Compliant Impact Maxwell Rigid ThreeState VirtualSpring Viscoelastic: stepped stepping_only, carried tangent_vectors
    Compliant Impact Maxwell Rigid ThreeState VirtualSpring Viscoelastic: acting active_states
    ContactRun: untracked untracked_contact
    CollisionSet: most max_contacts, apart exclude
    Parameter: most max_value
""")
"""New names of methods, properties and fields by class and old name."""
KEYWORDS = _read_by_owner("""
    PreparedRun.run_many PreparedProgram.run_many: watch check_rank
    uncertainty: known parameter_uncertainty
    free_body_stepper: sweeps max_sweeps
    attach_contact: touching contact
    collisions: most max_contacts, apart exclude
    arrangement: apart exclude
    Parameter: most max_value
    Scene: happenings event_marks, touches contacts, coils springs, slow slow_motion
    ContactDrawing: apart show_gap
    Striker: skins visuals
    SymPyRoutine.expanded: most max_operations
""")
"""New names of keyword parameters by function (its qualified name) or class, and old name."""
FILES = {"strikes": "impacts"}
"""New choices of `--only` by their old names."""
SETTINGS = {"simultaneous": "impacts"}
"""New names of the settings of a run by their old names."""
SETTING_VALUES = {"impacts": {"together": "simultaneous", "sequence": "sequential"}}
"""New values of settings by the new name of the setting, and the old value."""


def is_now(old: str, new: str) -> str:
    return f"`{old}` is now `{new}`"


def current_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    named = {SETTINGS.get(name, name): value for name, value in settings.items()}
    return {
        name: SETTING_VALUES.get(name, {}).get(value, value) if isinstance(value, str) else value for name, value in named.items()
    }


def renamed_settings(names: Iterable[str]) -> dict[str, str]:
    return {name: is_now(name, SETTINGS[name]) for name in names if name in SETTINGS}


def answer_old_names(owner: T) -> T:
    """Make a package (given by its name), a class or a function refuse an old name with an error that states the new name."""
    if isinstance(owner, str):
        _for_package(owner)
        return owner
    keywords = KEYWORDS.get(owner.__qualname__)  # type: ignore[attr-defined]
    if isinstance(owner, type):
        members = MEMBERS.get(owner.__qualname__, {})
        owner.__getattr__ = _member_reader(members, getattr(owner, "__getattr__", missing_attribute))  # type: ignore
        explain_access(owner)
        if keywords:
            owner.__init__ = _checking(owner.__init__, keywords)  # type: ignore[misc]
        return owner
    return _checking(owner, keywords) if keywords else owner


def _for_package(package: str) -> None:
    module = sys.modules[package]
    other = module.__dict__.get("__getattr__")

    def read(name: str) -> Any:
        new = NAMES.get(name)
        if new in module.__all__:
            raise AttributeError(f"{is_now(name, str(new))} in {package}", name=name, obj=module)
        if other is None:
            raise _missing(module, package, name)
        try:
            return other(name)
        except AttributeError as error:
            if error.name not in (None, name):
                raise
            raise _missing(module, package, name) from error

    module.__getattr__ = read  # type: ignore[method-assign]


def _missing(module: Any, package: str, name: str) -> AttributeError:
    if name.startswith("_"):
        return AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
    return MissingAttribute(module, name)


def _member_reader(members: Mapping[str, str], other: Any) -> Any:
    def read(self: Any, name: str) -> Any:
        if name in members:
            raise AttributeError(is_now(name, members[name]), name=name, obj=self)
        return missing_attribute(self, name, other)

    return read


def _checking(function: Any, keywords: Mapping[str, str]) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **keyword_arguments: Any) -> Any:
        for old in keywords.keys() & keyword_arguments.keys():
            raise CallError("E317", f"{function.__qualname__}: {is_now(old, keywords[old])}", f"{keywords[old]}=")
        return function(*args, **keyword_arguments)

    return call


class _OldImports(MetaPathFinder):
    """Finder that raises an error with the new name if an old name is imported, also by `from bondgraph import OLD`, for
    which Python tries to import a module of this name."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        package, _, name = fullname.rpartition(".")
        if fullname in MODULES:
            raise ImportError(is_now(fullname, MODULES[fullname]), name=fullname)
        if name in NAMES and NAMES[name] in getattr(sys.modules.get(package), "__all__", ()) and is_own(package):
            raise ImportError(f"{is_now(name, NAMES[name])} in {package}", name=package)
        module = sys.modules.get(package)
        answering = getattr(vars(module or object).get("__getattr__"), "__module__", None) == __name__
        wanted = answering and not name.startswith("_")
        # Without a cure, this returns None, as `importlib.util.find_spec` expects for a missing module.
        if wanted and (instead := import_or_similar(name, getattr(module, "__all__", ()), homes_of(name))):
            raise MissingImport(f"E684 cannot import name {name!r} from {package!r}; {instead}", name=package)


if not any(isinstance(finder, _OldImports) for finder in sys.meta_path):
    sys.meta_path.append(_OldImports())
