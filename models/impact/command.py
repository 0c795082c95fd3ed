"""Command `screwbond impact`: study the impact of an arm and write laws, masses, poses and simulated impacts as files."""

from __future__ import annotations

import functools
from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np
from screwbond.models.impact.figures import FIGURES, plot_arm
from screwbond.models.impact.mobility import KINDS, direction
from screwbond.models.impact.striking import Striker, default_striker, striker_from_urdf
from screwbond.models.impact.study import ImpactStudy, MeasuredImpact, study_impact
from screwbond.models.pictures.probe import rendering_problem
from screwbond.models.studies.reading import make_from_input
from screwbond.models.studies.tasks import Outcome, Picture, Table, Task, add_fields, plot, record_of, study_command

from bondgraph.errors import refusal
from screws.errors import plural

FLAGS = {"--v0": "v0", "--impulse": "impulse", "--duration": "duration", "--e": "e", "--poses": "poses", "--seed": "seed"}
ARM = "arm.png"
MESHES = ("collision", "visual", "none")
HISTORY_ARRAYS = ("t", "compression", "rate", "force", "kinetic", "stored", "dissipated")


def _run(inputs: tuple[MeasuredImpact, Striker], options: Namespace) -> Outcome:
    study = study_impact(*inputs)
    return Outcome(study.summary(), _files(study), _overview(study), _pictures(study))


def _files(study: ImpactStudy) -> dict[str, Any]:
    laws = {
        f"{name} {part}": getattr(course, part)
        for name, course in ((name, law.history()) for name, law in study.laws.items())
        for part in HISTORY_ARRAYS
    }
    impacts = {
        f"{name} {part}": values
        for name, strike in study.impacts.items()
        for part, values in zip(("t", "force"), strike.force, strict=True)
    }
    speed = study.measured.v0
    masses = [
        (kind, f"{mass:.17g}", f"{study.graphs[kind].mass:.17g}" if kind in study.graphs else "", f"{mass * speed:.17g}")
        for kind, mass in study.masses.items()
    ]
    coordinates = [f"q {name}" for name in study.striker.chain.coordinates]
    poses = np.column_stack([study.order.q, *(study.order.masses[kind] for kind in KINDS)])
    return {
        "laws.npz": laws,
        "impacts.npz": impacts,
        "masses.csv": Table(["kind", "formula kg", "graph kg", "impulse N s"], masses, "%s"),
        "poses.csv": Table([*coordinates, *(f"{kind} kg" for kind in KINDS)], poses),
    }


def _overview(study: ImpactStudy) -> list[str]:
    measured = study.measured
    lines = [f"impact at {measured.v0:g} m/s with {measured.impulse:g} N s in {1e3 * measured.duration:g} ms, e = {measured.e:g}"]
    constants = {"viscoelastic": ("k", "c", "m"), "virtual spring": ("k", "m"), "Maxwell": ("k", "c", "m")}
    for name, law in study.laws.items():
        numbers = ", ".join(f"{letter} {getattr(law, letter):.4g}" for letter in constants[name])
        lines.append(f"  {name}: {numbers}; at most {law.peak_force:.4g} N, {1e3 * law.largest_compression:.4g} mm")
    lines.append(f"{study.striker.chain.name}: effective mass at the wall")
    for kind, mass in study.masses.items():
        graph = f"graph {study.graphs[kind].mass:.6f} kg" if kind in study.graphs else "no graph: not symmetric"
        lines.append(f"  {KINDS[kind].name}: {mass:.6f} kg, {graph}")
    for relation, share in study.order.shares().items():
        lines.append(f"  {relation} in {100.0 * share:.1f} % of {plural(len(study.order.q), 'configuration')}")
    for name, strike in study.impacts.items():
        figures = f"e = {strike.restitution:.4f}, {1e3 * strike.duration:.4g} ms, {strike.impulse:.4g} N s"
        lines.append(f"  impact on a wall, {name} law: {figures}")
    return lines


def _pictures(study: ImpactStudy) -> dict[str, Picture]:
    figures = {name: plot(functools.partial(draw, study)) for name, draw in FIGURES.items()}
    return {**figures, ARM: Picture(lambda path: plot_arm(study, path), rendering_problem, 5.0)}


def _arguments(parser: Any) -> None:
    add_fields(parser, MeasuredImpact, FLAGS)
    parser.add_argument("--urdf", metavar="FILE", help="robot that replaces the default arm; joints at zero unless --q is given")
    parser.add_argument("--tip", metavar="LINK", help="link of the robot that hits the wall (default: the last link)")
    parser.add_argument("--meshes", choices=MESHES, default=MESHES[0], help='robot shapes in the picture; "none" draws rods')
    parser.add_argument("--q", type=float, nargs="+", metavar="X", help="joint coordinates, rad or m")
    parser.add_argument("--point", type=float, nargs=3, metavar=("X", "Y", "Z"), help="contact point in the frame of the link, m")
    parser.add_argument("--normal", type=float, nargs=3, metavar=("X", "Y", "Z"), help="wall normal, in the axes of the link")


def _read(options: Namespace) -> tuple[MeasuredImpact, Striker]:
    return record_of(MeasuredImpact, options, FLAGS), make_from_input(lambda: _striker(options))


def _striker(options: Namespace) -> Striker:
    if options.urdf is None and options.tip is not None:
        raise refusal("E541", f"--tip {options.tip} needs a robot", "also give --urdf FILE", about="impact")
    meshes = False if options.no_render or options.meshes == "none" else options.meshes
    striker = default_striker() if options.urdf is None else striker_from_urdf(options.urdf, options.tip, meshes=meshes)
    overrides = {name: getattr(options, name) for name in ("q", "point", "normal")}
    striker = replace(striker, **{name: value for name, value in overrides.items() if value is not None})
    direction(striker.striking_point.chain, striker.normal)
    return striker


TASK = Task(
    "impact of an arm: force laws, effective masses by formula and graph, simulated impacts",
    _read,
    _run,
    files=("laws.npz", "impacts.npz", "masses.csv", "poses.csv"),
    pictures=(*FIGURES, ARM),
    arguments=_arguments,
)
IMPACT = study_command("impact", TASK)
