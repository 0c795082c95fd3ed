"""The pages in docs/: their code runs and prints what they show, and they speak of exactly what the packages hold."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models import Impact, Rigid, Viscoelastic, Visual, attach_contact, contact, ground, planar_body, rigid_body
from screwbond.models.cli import main
from screwbond.models.contacts import ContactLaw
from screwbond.models.impact import (
    SpringImpact,
    default_striker,
    effective_mass,
    graph_effective_mass,
    restitution,
    seven_joint_arm,
    simulate_impact,
)
from screwbond.models.maze import MazeParameters, analyse, robustness
from screwbond.models.pictures import Scene, page, scene_of

import bondgraph
from bondgraph import J1, C, Compiled, Constraint, Graph, I, R, ScrewbondError, Se, compile_model, signals
from bondgraph.analysis import linearise, linearise_sampled, operating_point, passivity, sensitivities, steady_state
from bondgraph.export import (
    c_run,
    c_source,
    document,
    linear_equations,
    live_page,
    mechanical_equations,
    port_hamiltonian,
    state_equations,
)
from docs.pages import DOCS, FRONT, program_of, run_page, text_of
from screwbond.imports import ShadowError, check_packages
from screws.contact import closest_points
from screws.scalars import sqrt
from screws.surfaces import closed_surface, egg, parametric, plane, sphere, torus
from tests.inner.models_studies import select_names
from tests.inner.render import diagram
from tests.inner.run import simulate as run_program

ROOT = Path(bondgraph.__file__).parents[1]
EXECUTED = [
    FRONT,
    "tutorial.md",
    "elements.md",
    "equations.md",
    "signals.md",
    "parts.md",
    "mechanisms.md",
    "robots.md",
    "urdf.md",
    "surfaces.md",
    "contact.md",
    "piles.md",
    "runs.md",
    "sweeps.md",
    "gpu.md",
    "analysis.md",
    "estimation.md",
    "export.md",
    "live.md",
    "fmu.md",
    "interchange.md",
    "files.md",
    "stepping.md",
    "motion_and_control.md",
    "delta.md",
    "hand.md",
    "impact.md",
    "maze.md",
    "papers.md",
    "notation.md",
    "code.md",
    "modelica.md",
    "casadi_and_jax.md",
    "architecture.md",
]
NEEDED = {"casadi_and_jax.md": ("casadi", "jax")}
"""Packages without which a page does not run."""
ELEMENTS = {
    "C",
    "I",
    "R",
    "Se",
    "Sf",
    "TF",
    "MTF",
    "GY",
    "MGY",
    "EulerJunction",
    "J0",
    "J1",
    "X0",
    "X1",
    "Constraint",
    "Block",
    "Diode",
    "Friction",
    "Switch",
    "IC",
    "Ce",
    "Re",
    "HeatTransfer",
    "multiport",
}


def plain(text: str) -> list[str]:
    """Lines without trailing blanks; the line numbers of the page itself stay open."""
    return [re.sub(r"(\.md):\d+", r"\1:LINE", line.rstrip()) for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("page", EXECUTED)
def test_code_prints_what_the_page_shows(page: str) -> None:
    for package in NEEDED.get(page, ()):
        pytest.importorskip(package)
    _, shown = program_of(page)
    _, printed = run_page(page)
    assert len(printed) == len(shown)
    for number, (told, wanted) in enumerate(zip(printed, shown, strict=True), start=1):
        assert plain(told) == plain(wanted or ""), f"block {number} of {page}"


_MODULES = [path.relative_to(ROOT) for package in ("bondgraph", "models", "screws") for path in (ROOT / package).rglob("*.py")]
SOURCES = {"/" + "/".join(place.parts[k:]) for path in _MODULES for place in (path, path.parent) for k in range(len(place.parts))}
"""Ends of the paths of all modules and folders."""

PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file) if file else page
        assert path.exists(), target
        if anchor:
            assert anchor in headings(path), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_table_has_a_head(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    for head, rule in itertools.pairwise(lines):
        if re.fullmatch(r"\|[-:| ]+\|", rule) and head.startswith("|"):
            assert all(cell.strip() for cell in re.split(r"(?<!\\)\|", head)[1:-1]), head


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_of_the_source_lead_somewhere(page: Path) -> None:
    """`run/clock_schedule.py` is a file of that name in whatever package, `events/guards` a module, `run/batch` a folder."""
    for path in re.findall(r"`(\w+(?:/\w+)+(?:\.py)?)`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists() or any(f"/{path}{end}" in SOURCES for end in ("", ".py")), path


def headings(path: Path) -> set[str]:
    """Anchors of a page, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


@pytest.mark.parametrize("folder", [DOCS, DOCS / "decisions"], ids=["docs", "decisions"])
def test_the_index_lists_every_page(folder: Path) -> None:
    index = (folder / "README.md").read_text(encoding="utf-8")
    for path in folder.glob("*.md"):
        assert path.name in ("README.md", "index.md") or f"({path.name})" in index, path.name


def test_every_page_with_code_is_executed() -> None:
    assert {page.name for page in DOCS.glob("*.md") if "```python" in page.read_text(encoding="utf-8")} == set(EXECUTED) - {FRONT}


def test_the_architecture_names_every_package() -> None:
    """Packages of `bondgraph` and `models`, and the modules that stand in `assembly` and `tracing`."""
    text = text_of("architecture.md")
    folders = [path.parent for layer in ("bondgraph", "models") for path in (ROOT / layer).glob("*/__init__.py")]
    modules = [path for name in ("assembly", "tracing") for path in (ROOT / "bondgraph" / name).glob("[!_]*.py")]
    known = {"execute", "system", "routines"}
    missing = [p.stem for p in (*folders, *modules) if not re.search(rf"`(run\.)?{p.stem}`", text) and p.stem not in known]
    assert not missing


def test_the_front_page_shows_a_plot_within_ten_lines() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    lines = [line for line in first.splitlines() if line.strip()]
    assert len(lines) <= 10 and ".plot(" in lines[-1]


def test_the_front_page_names_commands_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make (\w+)", text, flags=re.MULTILINE))
    assert {"demo", "test", "docs", "dist"} <= targets <= set(re.findall(r"^(\w+):", makefile, flags=re.MULTILINE))
    for command in re.findall(r"screwbond (\w+)", text):
        with pytest.raises(SystemExit) as done, contextlib.redirect_stdout(io.StringIO()):
            main([command, "--help"])
        assert done.value.code == 0, command


def test_the_examples_are_listed_beside_them() -> None:
    listed = re.findall(r"`python -m examples\.(\w+)`", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


# --- elements --------------------------------------------------------------------------------------------------------


def sections(page: str) -> Iterator[tuple[str, str]]:
    """(title, text) of every second-level section."""
    for part in re.split(r"^## ", text_of(page), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        yield title.strip(), body


def test_every_element_has_its_section() -> None:
    made = {
        name
        for name in bondgraph.__all__
        if isinstance(getattr(bondgraph, name), types.FunctionType)
        and getattr(bondgraph, name).__annotations__.get("return") in ("Element", "Graph", "Graph | Element")
        and name != "read_graph"
    }
    assert made == ELEMENTS
    titles = " ".join(title for title, _ in sections("elements.md"))
    assert set(re.findall(r"\b\w+\b", titles)) >= ELEMENTS


def test_every_signal_block_is_on_the_page() -> None:
    assert set(re.findall(r"^\| `(\w+)\(", text_of("signals.md"), flags=re.MULTILINE)) == set(signals.__all__)


def test_every_element_has_an_example_that_runs() -> None:
    run_page("elements.md")
    assert set(re.findall(r"^(\w+)\(", program_of("elements.md")[0], flags=re.MULTILINE)) >= ELEMENTS


# --- errors ----------------------------------------------------------------------------------------------------------


def test_the_page_of_errors_lists_exactly_the_codes_of_the_packages() -> None:
    sources = [path for package in ("bondgraph", "screws", "models", "screwbond") for path in (ROOT / package).rglob("*.py")]
    written = {code for path in sources for code in re.findall(r'"([EG]\d{3})"', path.read_text(encoding="utf-8"))}
    listed = re.findall(r"^\| ([EG]\d{3}) \|", text_of("errors.md"), flags=re.MULTILINE)
    assert len(listed) == len(set(listed)), "a code stands twice"
    assert set(listed) == written


def test_every_row_of_the_errors_is_complete() -> None:
    for line in text_of("errors.md").splitlines():
        if re.match(r"\| [EG]\d{3} \|", line):
            cells = [cell.strip() for cell in line[1:-1].split("|")]
            assert len(cells) == 4 and all(cells), line


def rc() -> Compiled:
    graph, loop = Graph("model"), J1("loop")
    graph.connect(loop, C("c", capacitance=1.0, initial=1.0)).connect(loop, R("r", 1.0))
    return compile_model(graph, backend="numpy")


def pushed(force: Any = 1.0, **more: Any) -> Compiled:
    graph, v = Graph("pushed"), J1("v")
    return compile_model(graph.connect(Se("push", force, **more), v).connect(v, I("m", 1.0)), backend="numpy")


def held() -> Compiled:
    graph, a = Graph("held"), J1("a")
    graph.connect(a, I("m", 1.0)).connect(a, Constraint("hold")).connect(a, R("r", 1.0))
    return compile_model(graph, backend="numpy")


def lettered(symbol: str) -> Graph:
    graph, loop = Graph("lettered"), J1("loop")
    return graph.connect(loop, C("c", capacitance=1.0, symbols={"q": symbol})).connect(loop, R("r", 1.0))


def touching(**more: Any) -> Graph:
    ball = rigid_body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0), surface=sphere(1.0))
    return contact(
        "touch", ground("floor", surface=plane()), ball, **({} if "law" in more else {"normal_stiffness": 1.0}), **more
    )


def lying_on_the_floor(law: ContactLaw, height: float) -> Graph:
    graph, floor = Graph("lying"), ground("floor", surface=plane())
    ball = rigid_body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0), surface=sphere(1.0), position=(0.0, 0.0, height))
    attach_contact(graph, contact("touch", floor, ball, law=law), floor, ball)
    return graph


UNIT = np.eye(4)
CAUSES: list[tuple[str, Callable[[], object]]] = [
    ("E131", lambda: diagram(rc().model, positions={"nobody": (0.0, 0.0)})),
    ("E132", lambda: diagram(rc().model, positions={"loop": (0.0, math.nan)})),
    ("E134", lambda: diagram(rc().model, folded=("loop",))),
    ("E585", lambda: diagram(rc().model, colours={"stroke": "red"})),
    ("E586", lambda: diagram(lying_on_the_floor(Rigid(), 1.0), folded=("touch",), unfolded=("touch",))),
    ("E140", lambda: signals.product("p", [])),
    ("E141", lambda: signals.summation("s", {"c.q": 2})),
    ("E142", lambda: signals.lowpass("f", "c.q", 0.0)),
    ("E143", lambda: signals.pid("c", "e.y", 1.0, kd=0.1)),
    ("E144", lambda: signals.transfer_function("h", "c.q", [1, 0], [1])),
    ("E145", lambda: signals.transfer_function("h", "c.q", [1], [0])),
    ("E146", lambda: signals.table("t", "c.q", [0, 0], [1, 2])),
    ("E147", lambda: signals.table("t", "c.q", [0, 1], [1])),
    ("E148", lambda: signals.limiter("l", "c.q", 1.0, -1.0)),
    ("E149", lambda: signals.logic("l", "xor", ["a.y", "b.y"])),
    ("E180", lambda: compile_model(Graph("fed").connect(Se("u", 1.0), R("r", effort=signals.curve([0, 1], [0, 1]))))),
    ("E181", lambda: signals.curve([0, 1, 2], [0, 1, 0], outside="periodic").integral().integral()),
    ("E182", lambda: signals.noise("n", 1.0, 1e-3, seed=0.5)),  # type: ignore[arg-type]
    ("E250", lambda: linearise(rc(), inputs=["c.q"])),
    ("E251", lambda: linearise(rc(), outputs=["nobody.flow"])),
    ("E252", lambda: linearise(rc(), initial=np.ones(3))),
    ("E254", lambda: steady_state(pushed())),
    ("E255", lambda: linearise(rc(), inputs=["r.resistance"], outputs=["c.q"]).part("nobody", "c.q")),
    ("E257", lambda: passivity(linearise(rc(), inputs=["r.resistance"], outputs=["c.q", "loop.flow"]))),
    ("E259", lambda: sensitivities(pushed(0.0), ["m.p"], ["push.value"])),
    ("E260", lambda: linearise(pushed(lambda p: sqrt(p), signals=["m.p"]))),
    ("E261", lambda: operating_point(rc(), fixed=["r.resistance"])),
    ("E270", lambda: c_source(rc(), name="my model")),
    ("E275", lambda: state_equations(rc(), part="nobody")),
    ("E276", lambda: linear_equations(pushed(lambda t: t, signals=["time"]))),
    ("E277", lambda: port_hamiltonian(held())),
    ("E278", lambda: mechanical_equations(rc())),
    ("E279", lambda: document(rc(), style="word")),
    ("E280", lambda: document(lettered(r"\mathscr{Q}"), style="typst")),
    ("E281", lambda: c_run(rc(), 1.0)),
    ("E623", lambda: live_page(rc(), t_end=1.0, show=["r.resistance"])),
    ("E301", lambda: rc().simulate(0.0)),
    ("E302", lambda: rc().simulate(1.0, rtol=2.0)),
    ("E303", lambda: rc().simulate(1.0, samples=-0.1)),
    ("E590", lambda: select_names(["poster.png"], ["poter"])),
    ("E562", lambda: C("spring", 50.0)),  # type: ignore[arg-type]
    ("E563", lambda: I("coil", mass=1.0, domain="electrical")),
    ("E564", lambda: linearise(rc(), "r.resistance", "c.q").c2d(0.1).c2d(0.1)),
    ("E565", lambda: linearise_sampled(rc())),
    ("E567", lambda: R("r", effort=lambda f, c, t: c * f, parameters={"c": 2.0})),
    ("E566", lambda: attach_contact(Graph("g"), Graph("touch"))),
    ("E561", lambda: check_packages("textwrap")),
    ("E560", lambda: rc().simulate(1.0).plot("time", "c.q", axes=())),
    ("E304", lambda: rc().simulate(1.0, method="euler")),
    ("E305", lambda: run_program(rc().program, [], rc().parameters(), [], 1.0)),
    ("E306", lambda: rc().simulate(1.0, max_step=0.0)),
    ("E308", lambda: run_program(rc().program, [math.nan], rc().parameters(), [], 1.0)),
    ("E395", lambda: rc().program.rates(0.0, [])),
    ("E575", lambda: planar_body("finger", mass=0.1, outline=[(0.0, 0.0), (0.1, 0.0)])),
    ("E576", lambda: Visual(box=(0.1, 0.1, 0.3), colour="red")),
    ("E577", lambda: Visual(mesh="missing.stl")),
    ("E579", lambda: scene_of(Graph("g"))),
    ("E540", lambda: restitution(0.0, 1.0, 1.0)),
    ("E541", lambda: effective_mass(*default_striker().arguments[:3], (0.0, 0.0, 0.0))),
    ("E542", lambda: effective_mass(seven_joint_arm(), np.zeros(7), kind="projection")),
    ("E544", lambda: simulate_impact(default_striker(), SpringImpact(1e5, 0.0, 1.0, 0.1))),
    ("E543", lambda: graph_effective_mass(seven_joint_arm(), np.zeros(7), kind="flexibility")),
    ("E420", lambda: contact("c", ground("a"), ground("b", surface=plane()), normal_stiffness=1.0)),
    ("E421", lambda: touching(constrained="gliding")),
    ("E422", lambda: touching(constrained="rolling")),
    ("E424", lambda: ground("a", position=(0.0, 0.0))),
    ("E425", lambda: ground("a", quaternion=(1.0, 1.0, 0.0, 0.0))),
    ("E426", lambda: touching(constrained="v_z", transport="Gauss")),
    ("E429", lambda: touching(constrained="v_z", near="left")),
    ("E427", lambda: ground("a", surface="plane")),
    ("E439", lambda: touching(constrained="v_z", places=2)),
    ("E434", lambda: compile_model(lying_on_the_floor(Rigid(), 1.1))),
    ("E435", lambda: touching(constrained="rolling", law=Viscoelastic(1e5, 1e4))),
    ("E436", lambda: touching(law=Impact(restitution=1.2))),
    ("E437", lambda: compile_model(lying_on_the_floor(Impact(0.8), 0.9)).simulate(1.0)),
    ("E438", lambda: touching(law=Impact)),
    ("E438", lambda: touching(law=Impact(0.8), friction=0.3)),
    ("E530", lambda: MazeParameters(ball_mass=0.0)),
    ("E531", lambda: MazeParameters(ball_radius=0.4)),
    ("E532", lambda: analyse(MazeParameters(), 5)),
    ("E533", lambda: robustness(MazeParameters(), [], [0.04])),
    ("E580", lambda: page("motor")),
    ("E581", lambda: page(rc().simulate(1.0), plots=["nothing"])),
    ("E582", lambda: page(rc().simulate(1.0), seconds=0.0)),
    ("E583", lambda: page(Scene("still", np.zeros(1)))),
    ("G101", lambda: sphere(-1.0)),
    ("G102", lambda: egg(f=1.0, S=2.0)),
    ("G103", lambda: egg(f=1.0, S=0.5)),
    ("G106", lambda: torus(1.0, 2.0)),
    ("G107", lambda: closed_surface(lambda n: 1.0)),
    ("G108", lambda: plane().change_chart(np.zeros(2), 0.0)),
    ("G111", lambda: rigid_body("b", mass=0.0, inertia=(1.0, 1.0, 1.0))),
    ("G112", lambda: rigid_body("b", mass=1.0, inertia=(1.0, 1.0, 0.0))),
    ("G113", lambda: rigid_body("b", mass=1.0, inertia=(1.0, 1.0, 3.0))),
    ("G114", lambda: rigid_body("b", mass=1.0, inertia=(1.0, 1.0))),
    ("G116", lambda: parametric(lambda u, v: (u, v, 0.0), (0, 1), (0, 1), inside=(0.5, 0.5, 0.0))),
    ("G122", lambda: closest_points(plane(), plane(), UNIT)),
    ("G123", lambda: closest_points(sphere(1.0), sphere(1.0), UNIT)),
    ("G124", lambda: closest_points(sphere(1.0), sphere(1.0), np.eye(3))),
]
"""Causes from the page beyond the tables of tests/checks."""


@pytest.mark.parametrize(("code", "make"), CAUSES, ids=[code for code, _ in CAUSES])
def test_the_smallest_cause_brings_its_code(code: str, make: Callable[[], object]) -> None:
    with pytest.raises((ScrewbondError, ShadowError)) as caught:
        make()
    error: Any = caught.value
    assert code in str(error) or code == getattr(error, "code", ""), str(error)
