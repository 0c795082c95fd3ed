"""Pages of results of any kind show their quantities in a browser."""

from __future__ import annotations

import base64
import gzip
import html
import json
import pickle
import re
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models import (
    attach_between,
    attach_contact,
    attach_force,
    contact,
    force,
    ground,
    parts,
    point_spring,
    read_scenario,
    rigid_body,
    spatial_spring,
    two_body_graph,
)
from screwbond.models.chains import BodyInertia, Chain, Link, chain_graph
from screwbond.models.joints import attach_joint, joint_graph
from screwbond.models.pictures import Page, Scene, Solid, page, scene_of

from bondgraph import GY, J1, Block, C, Graph, I, ModelError, R, Se, compile_model, simulate
from examples.bouncing_ball import with_restitution
from screws.joints import fixed, revolute
from screws.poses import pose
from screws.surfaces import plane, sphere
from tests.browser import Browser, browser, needs_chromium
from tests.inner.models_chains import cylinder_inertia
from tests.inner.models_pictures import cuboid, live
from tests.inner.run import Result


def motor() -> Graph:
    graph, armature, shaft = Graph("DC motor"), J1("armature", domain="electrical"), J1("shaft", domain="rotation")
    machine = GY("motor", ratio=0.3)
    graph.connect(Se("battery", 12.0), armature).connect(armature, I("coil", inertia=0.02))
    graph.connect(armature, R("winding", resistance=1.5)).connect(armature, machine).connect(machine, shaft)
    return graph.connect(shaft, R("bearing", resistance=0.01)).connect(shaft, I("rotor", inertia=0.004))


@pytest.fixture(scope="module")
def driven() -> Result:
    return simulate(motor(), t_end=0.5, samples=np.linspace(0.0, 0.5, 201), progress=False)


@pytest.fixture(scope="module")
def eggs() -> Scene:
    graph = two_body_graph(read_scenario("tests/models/data/S1a.json"))
    return scene_of(simulate(graph, t_end=0.06, samples=0.0005, progress=False))


def data_of(made: Page) -> dict[str, Any]:
    found = re.search(r'id="motion">(.*?)</script>', made.text, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def curve_of(data: dict[str, Any], k: int) -> np.ndarray:
    low, step, text, _ = data["curves"][k]
    steps = np.frombuffer(base64.b64decode(text), "<u2").astype(float)
    return np.where(steps == 65535, np.nan, low + step * steps)


def times_of(data: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(data["arrays"]["tq"][1]), "<f8")


def test_a_page_holds_every_quantity_and_bond(driven: Result) -> None:
    made = page(driven)
    data = data_of(made)
    assert not re.search(r"<link|src=|@import|url\(", made.text.replace("srcdoc=", ""))
    assert set(re.findall(r"https?://[\w./]+", made.text)) == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"\bM\.(\w+)", made.text)) <= set(data)
    times = times_of(data)
    names = {name: k for k, (name, *_) in enumerate(data["quantities"])} | dict(data["also"])
    assert {name for name in driven.names() if name in driven and driven.program.layout[name].block != "p"} == set(names)
    for name in ("coil.flow", "rotor.p", "winding.power"):
        first = data["quantities"][names[name]][2]
        wanted = np.interp(times, driven.t, driven[name])
        assert curve_of(data, first) == pytest.approx(wanted, abs=2e-5 * np.ptp(wanted) + 1e-6 * np.abs(wanted).max())
    assert [bond["name"] for bond in data["bonds"]] == [bond.name for bond in driven.bonds]
    for bond in data["bonds"]:
        wanted = np.interp(times, driven.t, driven.bond_values(bond["name"]).power)
        assert curve_of(data, bond["power"]) == pytest.approx(wanted, abs=1e-4 * np.ptp(wanted) + 1e-6)
        assert f'data-bond="{html.escape(bond["name"])}"' in made.text
    assert data["bonds"][0]["words"] == ["voltage", "current"]


def test_a_page_of_a_model_without_poses_has_no_scene(driven: Result) -> None:
    made = page(driven)
    assert '<body class="graph">' in made.text and not data_of(made)["solids"]
    assert repr(made) == f'Page("DC motor", {len(made.text) / 1e6:.1f} MB)'


def test_a_page_of_a_result_from_elsewhere_has_plots(driven: Result) -> None:
    """A pickled result has no model, so its page has no bond graph."""
    made = page(pickle.loads(pickle.dumps(driven)))  # noqa: S301 its own
    data = data_of(made)
    assert '<body class="">' in made.text and not data["bonds"] and data["quantities"]
    assert data["open"]


def test_a_page_shows_itself_in_a_notebook(driven: Result, tmp_path: Path) -> None:
    made = page(driven, tmp_path / "motor.html", plots=["rotor.flow"])
    shown = re.search(r'srcdoc="([^"]*)"', made._repr_html_())
    assert shown is not None
    packed = re.search(r'atob\("([^"]*)"\)', html.unescape(shown[1]))
    assert packed is not None and gzip.decompress(base64.b64decode(packed[1])).decode() == made.text
    assert len(shown[1]) < 0.5 * len(made.text) and made._repr_html_() == made._repr_html_()
    assert made.text == (tmp_path / "motor.html").read_text(encoding="utf-8")
    data = data_of(made)
    assert [name for _, name in data["open"]] == ["rotor.flow"] and not data["plots"]


def test_large_results_stay_small_pages() -> None:
    graph = Graph("chain")
    for k in range(260):
        junction = J1(f"v{k}", domain="translation")
        graph.connect(Se(f"push {k}", 1.0), junction).connect(junction, I(f"mass {k}", inertia=1.0))
        graph.connect(junction, R(f"damper {k}", 1.0))
    result = simulate(graph, t_end=1.0, samples=np.linspace(0.0, 1.0, 1001), progress=False)
    made = page(result, plots=["mass 259.energy"])
    data = data_of(made)
    assert len(made.text) < 6e6 and len(data["bonds"]) == 780
    assert 2 < len(times_of(data)) <= 1001
    assert data["quantities"][data["open"][0][0]][0] == data["open"][0][1] == "mass 259.energy"


@pytest.mark.parametrize(
    ("give", "code"),
    [
        (lambda result: page("motor"), "E580"),
        (lambda result: page(result, plots=["rotor.speed"]), "E581"),
        (lambda result: page(result, plots=["rotor.inertia"]), "E581"),
        (lambda result: page(result, seconds=0.0), "E582"),
        (lambda result: page(result, show=9.0), "E582"),
        (lambda result: page(Scene("still", np.zeros(1))), "E583"),
    ],
)
def test_contents_without_a_page_form_are_refused(driven: Result, give: Any, code: str) -> None:
    with pytest.raises(ModelError, match=code):
        give(driven)


def test_the_body_renderer_is_small() -> None:
    files = resources.files("screwbond.models.pictures.web")
    assert sum(len(files.joinpath(name).read_bytes()) for name in ("vectors.js", "scene.js")) < 20_000


@pytest.fixture(scope="module")
def paths(driven: Result, eggs: Scene, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    bouncing = simulate(with_restitution(), 6.0, samples=5e-3, progress=False)
    shown: dict[str, Result | Scene] = {"motor": driven, "eggs": eggs, "ball": bouncing}
    return {name: page(one).write(folder / f"{name}.html") for name, one in shown.items()}


@pytest.fixture(scope="module")
def window() -> Any:
    with browser() as found:
        yield found


TITLES = "panels.map(panel => panel.plot.title)"


def quiet(window: Browser, path: Path) -> None:
    assert window.complaints == []
    assert set(window.asked) <= {path.resolve().as_uri(), "about:blank"}


@pytest.mark.thorough
@needs_chromium
@pytest.mark.parametrize("width", [390, 1300])
@pytest.mark.parametrize("name", ["motor", "eggs"])
def test_pages_open_quietly(name: str, width: int, paths: dict[str, Path], window: Browser) -> None:
    path = paths[name]
    window.open(path, width, 850)
    assert window.overflow() == 0
    for time in (0.0, 0.37, 1.0):
        window.run(f"go(START + {time} * (END - START))")
        window.rest()
    quiet(window, path)
    assert len(window.picture()) > 20_000
    assert window.run("Boolean(gl)") and window.run("document.body.classList.contains('scene')") == (name == "eggs")
    # Nothing overflows the window, whatever panels, canvases and the drawing are.
    beyond = "n.checkVisibility() && !n.closest('svg') && n.getBoundingClientRect().right > innerWidth + 1"
    assert window.run(f"[...document.querySelectorAll('body *')].filter(n => {beyond}).length") == 0


@pytest.mark.thorough
@needs_chromium
def test_bodies_in_a_resized_window_are_drawn_once(paths: dict[str, Path], window: Browser) -> None:
    window.open(paths["eggs"], 390)
    window.run("(clear => { gl.clear = bits => { gl.cleared = (gl.cleared || 0) + 1; clear.call(gl, bits); }; })(gl.clear)")
    window.resize(1300, 850)
    window.rest()
    assert window.run("gl.cleared") == 1


@pytest.mark.thorough
@needs_chromium
def test_the_slider_moves_plots_and_power(driven: Result, paths: dict[str, Path], window: Browser) -> None:
    window.open(paths["motor"])
    slide = "$('time').value = {}; $('time').dispatchEvent(new Event('input')); 1"
    told = "panels.map(panel => panel.outputs.map(o => o.textContent).join()).join(';')"
    found, seen = [], []
    for part in (0.02, 0.5):
        window.run(slide.format(part))
        window.rest()
        found.append(window.run(told))
        seen.append(window.picture())
        widths = window.run("Object.fromEntries(bonds.map(b => [M.bonds[b.k].name, +b.band.getAttribute('stroke-width')]))")
        time = float(window.run("t"))
        assert time == pytest.approx(0.5 * part, abs=1e-3)
        power = {bond.name: abs(np.interp(time, driven.t, driven.bond_values(bond.name).power)) for bond in driven.bonds}
        order = sorted(power, key=lambda name: power[name])
        assert all(widths[a] <= widths[b] + 0.02 for a, b in pairwise(order))
    assert found[0] != found[1] and seen[0] != seen[1]
    window.run("play(true)")
    window.rest()
    assert window.run("playing")


@pytest.mark.thorough
@needs_chromium
def test_a_click_on_a_bond_plots_it(driven: Result, paths: dict[str, Path], window: Browser) -> None:
    path = paths["motor"]
    window.open(path)
    before = window.run(TITLES)
    middle = """(() => { const path = document.querySelector('[data-bond="motor -> shaft"] .hit'),
      p = path.getPointAtLength(path.getTotalLength() / 2), q = new DOMPoint(p.x, p.y).matrixTransform(path.getScreenCTM());
      return [q.x, q.y]; })()"""
    window.click(*window.run(middle))
    bond = "motor -> shaft: "
    assert window.run(TITLES) == [f"{bond}torque (N m)", f"{bond}angular velocity (rad/s)", f"{bond}power (W)", *before]
    shown = float(window.run("panels[2].outputs[0].textContent").replace("−", "-"))
    assert shown == pytest.approx(driven.bond_values("motor -> shaft").power[0], abs=1e-3)
    window.click(*window.run(middle))
    assert window.run(TITLES) == before
    window.run("$('name').focus()")
    window.type("winding.power")
    assert "winding.power (W)" in window.run(TITLES)
    window.run("panels[0].node.querySelector('button').click()")
    assert len(window.run(TITLES)) == len(before)
    quiet(window, path)


@pytest.mark.thorough
@needs_chromium
def test_components_of_a_screw_bond_are_plotted_by_unit(paths: dict[str, Path], window: Browser) -> None:
    window.open(paths["eggs"])
    window.run("pick(M.bonds.findIndex(bond => bond.words[0] === 'wrench'))")
    titles = window.run(TITLES)
    assert [title.rpartition(" (")[2] for title in titles[:5]] == ["N m)", "N)", "rad/s)", "m/s)", "W)"]
    assert window.run("panels.slice(0, 4).every(panel => panel.outputs.length === 3)")
    window.run("M.quantities.push(['q', 'rad, m, rad', 0, 3]); 1")  # joints of a robot
    drawn = "quantityPanels(M.quantities.length - 1)"
    panels = window.run(f"{drawn}.map(plot => [plot.title, plot.curves.map(own => own.name).join()])")
    assert panels == [["q (rad)", "0,2"], ["q (m)", "1"]]


@pytest.mark.thorough
@needs_chromium
def test_states_of_switches_are_shown(paths: dict[str, Path], window: Browser) -> None:
    window.open(paths["ball"])
    assert window.run("switches.map(s => s.text.textContent)") == ["free"]
    window.run("go(END)")
    assert window.run("switches.map(s => s.text.textContent)") == ["resting"]


@pytest.mark.thorough
@needs_chromium
def test_without_webgl_there_is_text_and_every_plot(eggs: Scene, paths: dict[str, Path]) -> None:
    with browser(webgl=False) as window:
        window.open(paths["eggs"])
        assert not window.run("Boolean(gl)")
        assert "provides no WebGL" in window.run("$('scene').innerText")
        assert window.run("panels.length") == sum(not panel.on_demand for panel in eggs.panels) and window.run("bonds.length") > 0
        assert [words for words in window.complaints if "WebGL" not in words] == []
        assert window.overflow() == 0


def test_a_spring_opens_its_informative_panels() -> None:
    graph, junction = Graph("spring"), J1("v", domain="translation")
    graph.connect(Se("push", 1.0), junction).connect(junction, I("mass", inertia=2.0))
    graph.connect(junction, C("spring", stiffness=50.0))
    data = data_of(page(simulate(graph, t_end=1.0, progress=False)))
    assert [name for _, name in data["open"]] == ["mass.flow", "spring.effort"]
    assert [plot["title"] for plot in data["plots"]] == ["energy (mJ)", "energy ledger residual (J)"]


def test_joint_velocities_are_shown_but_not_as_x_y_z() -> None:
    """The velocity of a point mass has the components x, y and z; those of three hinges have the numbers 0 to 2."""
    rod = BodyInertia(1.0, (0.1, 0.1, 0.1))
    links = tuple(Link(f"link {k}", revolute((0, 1, 0)), rod, pose(np.eye(3), (0.3, 0.0, 0.0))) for k in range(3))
    graph, point = (
        Graph("both").add(chain_graph(Chain("arm", links), gravity=(0.0, 0.0, -9.81))),
        J1("point", dimension=3, domain="translation"),
    )
    graph.connect(Se("push", (1.0, 0.0, 0.0)), point).connect(point, I("mass", mass=1.0))
    data = data_of(page(simulate(graph, 0.1, progress=False)))
    assert {name: data["quantities"][k][-1] for k, name in data["open"]} == {"mass.flow": True, "arm.mechanism.flow": False}


def test_three_currents_are_not_shown_as_x_y_z() -> None:
    graph, winding = Graph("machine"), J1("winding", dimension=3)
    graph.connect(Se("supply", (1.0, 2.0, 3.0)), winding).connect(winding, I("stator", inductance=1.0))
    data = data_of(page(simulate(graph, 0.1, progress=False)))
    assert {name: data["quantities"][k][-1] for k, name in data["open"]} == {"stator.flow": False}


def test_without_storages_outputs_of_blocks_or_efforts_are_shown() -> None:
    graph, loop = Graph("lamp"), J1("loop", domain="electrical")
    graph.connect(Se("source", 12.0), loop).connect(loop, R("lamp", 4.0))
    assert [name for _, name in data_of(page(simulate(graph, 1.0, progress=False)))["open"]] == ["source.effort", "lamp.effort"]
    graph.add(Block("power", [("y", lambda i: 4.0 * i * i, ["i"])], inputs={"i": "lamp.flow"}))
    filtered = ("rate", lambda u, y: u - y, ["u", "y"])
    graph.add(Block("mean", [filtered], inputs={"u": "power.y"}, states={"y": 0.0}, rates={"y": "rate"}))
    assert [name for _, name in data_of(page(simulate(graph, 1.0, progress=False)))["open"]] == ["mean.y"]


def test_reactions_open_with_amounts() -> None:
    network = parts.chemical.network("enzyme", "E + S <-> ES : 1 1\nES <-> E + P : 1 1", {"E": 1.0, "S": 2.0})
    data = data_of(page(simulate(network, t_end=1.0, progress=False)))
    assert [name for _, name in data["open"]] == [f"amounts.{species}" for species in ("E", "S", "ES", "P")]


def everything() -> Graph:
    at = {
        place: np.asarray(pose(np.eye(3), place), dtype=float) for place in ((0.0, 0.0, 0.0), (0.0, -0.3, 0.0), (0.4, 0.0, 0.0))
    }
    inner = Link(
        "inner", revolute((0, 1, 0)), cylinder_inertia(1.0, 0.03, (0.0, 0.0, 0.0), (0.4, 0.0, 0.0)), np.eye(4), damping=0.5
    )
    tip = Link("tip", fixed(), None, at[0.4, 0.0, 0.0], surface=sphere(0.03))
    base = np.asarray(pose(np.eye(3), (0.0, 0.0, 0.2)), dtype=float)
    graph, table, wall = Graph("everything"), ground("table", surface=plane()), ground("wall")
    arm = chain_graph(Chain("arm", (inner, tip), base), ports=("tip",), gravity=(0.0, 0.0, -9.81), position=(0.3,))
    touch = contact("touch", table, arm.link("tip"), constrained="v_z", normal_stiffness=1e4, normal_damping=50.0)
    attach_contact(graph, touch, table, arm.link("tip"))
    moved: dict[str, Any] = {"position": (0.0, 0.0, 0.6), "velocity": (0.3, 0.0, 0.0), "angular_velocity": (1.0, 2.0, 0.5)}
    block = rigid_body("block", mass=1.0, inertia=(2e-3, 2e-3, 2e-3), **moved)
    attach_between(graph, point_spring("spring", 60.0, point_a=(0.2, 0.0, 0.9), point_b=(0.0, 0.0, 0.05)), wall, block)
    attach_force(graph, force("push", lambda t: (1.0 + t, 0.5, 0.0), at=(0.1, 0.0, 0.0), axes="body", signals=["time"]), block)
    attach_between(graph, spatial_spring("bush", rotational=1.0, translational=10.0, frame_a=base), wall, block)
    door = rigid_body(
        "door",
        mass=1.0,
        inertia=(1e-2, 1e-2, 1e-2),
        position=(0.0, 0.3, 0.0),
        velocity=(0.0, 0.0, 0.3),
        angular_velocity=(1.0, 0.0, 0.0),
    )
    hinge = joint_graph("hinge", revolute((1, 0, 0)), frame_a=at[0.0, 0.0, 0.0], frame_b=at[0.0, -0.3, 0.0])
    return attach_joint(graph, hinge, wall, door)


LOADED = """new Promise((done, no) => {
  const wait = () => globalThis.live ? done(1) : setTimeout(wait, 5);
  wait(); setTimeout(no, 60000); })"""


def arrays_of(data: dict[str, Any], count: int) -> dict[str, np.ndarray]:
    found = {}
    for name, packed in data["arrays"].items():
        if isinstance(packed, str) and re.search(r"_[pq]$|^force|^coil|_end$|_shown$", name):
            values = np.frombuffer(base64.b64decode(packed), "<f4").astype(float)
            size = 4 if name.endswith("_q") else 1 if name.endswith("_shown") else 3
            found[name] = np.broadcast_to(values.reshape(-1, size), (count, size))
    return found


@pytest.mark.thorough
@needs_chromium
def test_a_slider_moves_everything_as_another_run_does(tmp_path: Path, window: Browser) -> None:
    compiled, samples = compile_model(everything()), np.linspace(0.0, 0.4, 41)
    stiffness = "spring.spring.stiffness"
    path = page(compiled.simulate(0.4, samples=samples), live={stiffness: (20.0, 200.0)}, show=0.4).write(tmp_path / "all.html")
    window.open(path)
    window.run(LOADED)
    for value, changes in ((60.0, []), (150.0, [[0, 150.0]])):
        run = compiled.simulate(0.4, samples=samples, parameters={stiffness: value})
        window.run(f"live.again({changes}.map(([k, v]) => [live.S.live[k].index, v]))")
        data = data_of(page(run, plots=["block.pose"]))
        wanted = arrays_of(data, len(samples))
        assert {name[:4] for name in wanted} >= {"soli", "fram", "coil", "path", "forc"}
        got = window.run(f"Object.fromEntries({sorted(wanted)}.map(name => [name, [...A[name]]]))")
        for name, rows in wanted.items():
            values = np.broadcast_to(np.reshape(got[name], (-1, rows.shape[1])), rows.shape)
            turned = np.sign(np.sum(values * rows, axis=1, keepdims=True)) if name.endswith("_q") else 1.0
            np.testing.assert_allclose(turned * values, rows, atol=2e-5 * max(1.0, np.abs(rows).max()), err_msg=name)
        assert window.run("$('status').textContent").startswith(f"{run.statistics.steps} steps, {len(run.events)} events in")
        times = window.run("M.events")
        assert times == run.events.times[~run.events.internal].tolist()
        bonds = window.run("M.bonds.map(bond => [bond.name, [...curve(bond.power).values], [...curve(bond.power).times]])")
        for name, power, at in bonds:
            _, first = np.unique(at, return_index=True)
            rows = np.isin(np.asarray(at)[first], samples)
            values, expected = np.asarray(power)[first][rows], run.bond_values(name).power
            np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12 * max(1.0, np.abs(expected).max()), err_msg=name)
    quiet(window, path)


def test_models_that_cannot_run_in_a_page_are_refused(driven: Result) -> None:
    sliders = {"bearing.resistance": (0.005, 0.02)}
    with pytest.raises(ModelError, match=r"E624[\s\S]*in this process"):
        page(pickle.loads(pickle.dumps(driven)), live=sliders)  # noqa: S301 its own
    still = Solid("pot", np.tile(np.eye(4), (201, 1, 1)), cuboid((1.0, 1.0, 1.0)))
    with pytest.raises(ModelError, match=r'E625[\s\S]*"pot"'):
        page(replace(scene_of(driven), solids=(still,)), live=sliders)
    with pytest.raises(ModelError, match=r"E626[\s\S]*settings"):
        page(driven, live=sliders, settings={"rtol": 1e-11})
    of_taylor = replace(driven, statistics=replace(driven.statistics, method="taylor", steps=1))
    with pytest.raises(ModelError, match=r'E626[\s\S]*try: simulate\(..., method="dop853"\): a page has no taylor method'):
        page(of_taylor, live=sliders)
    of_radau = replace(driven, statistics=replace(driven.statistics, method="radau5", steps=1))
    with pytest.raises(ModelError, match=r"E626[\s\S]*settings=\{'method': 'radau5'\}"):
        page(of_radau, live=sliders)


def test_a_page_without_webassembly_shows_the_run_and_says_so(driven: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "is_available", lambda: False)
    found = re.search(r'id="run">(.*?)</script>', page(driven, live={"bearing.resistance": (0.005, 0.02)}).text, re.DOTALL)
    assert found is not None
    facts = json.loads(found[1])
    assert "cannot write WebAssembly" in facts["why"] and "solver" not in facts
