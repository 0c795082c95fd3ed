"""Pages that simulate in WebAssembly reproduce the native run bit for bit."""

from __future__ import annotations

import functools
import math
import random
import re

import numpy as np
import pytest
from screwbond.models.pictures import page

from bondgraph import J1, C, Graph, I, ModelError, compile_model, simulate
from bondgraph.export import LivePage, live_page
from tests.browser import browser, needs_chromium
from tests.export.live_models import CASES, Case, oscillator, resistive
from tests.export.live_pages import facts_of, needs_node, runs_in_node
from tests.export.test_run_in_c import cradle, juggler
from tests.inner.compile import Compiled
from tests.inner.emit import fma
from tests.inner.export import live_page_module, multiply_add

JUGGLER = Case(
    juggler, 3.0, {"rtol": 1e-6, "t_start": 2.0}, ("ball.inertia", 0.5, 3.0, 1.5), ("air.flow", "pull.effort", "contact.mode")
)


def case_of(name: str) -> Case:
    return JUGGLER if name == "juggler" else CASES[name]


@functools.cache
def exported(name: str) -> tuple[Compiled, LivePage]:
    case = case_of(name)
    compiled = compile_model(case.graph())
    parameter, low, high, _ = case.slider
    settings = {**case.settings, "samples": samples(case)}
    return compiled, live_page(compiled, t_end=case.t_end, live={parameter: (low, high)}, show=case.show, **settings)


def samples(case: Case) -> np.ndarray:
    return np.linspace(case.settings.get("t_start", 0.0), case.t_end, 101)


def assert_same(got, name, parameters):
    case, (compiled, _) = case_of(name), exported(name)
    run = compiled.simulate(case.t_end, parameters=parameters, samples=samples(case), **case.settings)
    columns = np.concatenate([run[shown].reshape(len(run.t), -1) for shown in case.show], axis=1)
    assert (got["wrong"], got["steps"], len(got["events"])) == ("", run.statistics.steps, len(run.events))
    np.testing.assert_array_equal(got["t"], run.t)
    np.testing.assert_array_equal(np.transpose(got["columns"]), columns)
    np.testing.assert_array_equal([time for time, _ in got["events"]], run.events.times)
    sides = [np.concatenate([np.ravel(part) for part in parts]) for parts in sides_of(run, case.show)]
    np.testing.assert_array_equal(np.ravel(got["jumps"]), np.ravel(sides))


def sides_of(run, names):
    values = [run.at_events(name) for name in names]
    return [[each[side][k] for each in values] for k in range(len(run.events)) for side in (0, 1)]


@needs_node
@pytest.mark.parametrize("name", ["juggler", pytest.param("van der Pol", marks=pytest.mark.thorough)])
def test_a_page_gives_the_bits_of_the_run(name, tmp_path):
    """The multiply-add is emulated, as in browsers without relaxed SIMD."""
    (parameter, *_, other), page = case_of(name).slider, exported(name)[1]
    own, changed = runs_in_node(page, tmp_path, {parameter: other})
    assert_same(own, name, {})
    assert_same(changed, name, {parameter: other})
    assert own["columns"] != changed["columns"]
    assert page.steps == own["steps"]


@needs_node
def test_a_model_without_states_runs(tmp_path):
    compiled = compile_model(resistive())
    (got,) = runs_in_node(live_page(compiled, t_end=1.0, show=["r.flow"], samples=0.1), tmp_path)
    np.testing.assert_array_equal(got["columns"], [compiled.simulate(1.0, samples=0.1)["r.flow"]])


TIES = (
    ("0x1.0001p-5", "0x1.0000000008p+42", "0x1.b03511181d7c8p-95"),
    ("0x1.000000000001p+59", "0x1.08p+52", "0x1.0p+0"),
    ("0x1.01p+10", "0x1.000000000008p+47", "0x1.fa0cbf4e74c2p-61"),
    ("0x1.000000004p+44", "0x1.1655ep+19", "-0x1.25b205e7467p-59"),
)
"""Products halfway between two numbers, whose rounding a far smaller summand decides."""


def test_multiply_add_rounds_once():
    draw, cases = random.Random(3), [tuple(map(float.fromhex, tie)) for tie in TIES]
    for _ in range(3000):
        x, y = (
            draw.choice([draw.uniform(-2.0, 2.0), 1.0 + draw.randrange(9) * 2.0**-52, 3.0 ** draw.randrange(-30, 30)])
            for _ in "xy"
        )
        z = draw.choice([-x * y, -x * y * (1.0 + 2.0**-52), draw.uniform(-1.0, 1.0), x * y * 2.0 ** draw.randrange(-60, 60), 0.0])
        cases += [(x, y, z), (x, y, -0.0)]
    for case in cases:
        got, expected = (float(rule(*map(np.float64, case))) for rule in (multiply_add, fma))
        assert got == expected
        assert math.copysign(1.0, got) == math.copysign(1.0, expected)
    with np.errstate(all="ignore"):
        for numbers in (
            (math.inf, 1.0, 1.0),
            (1e200, 1e200, 1.0),
            (1.0, 1.0, -math.inf),
            (math.nan, 1.0, 1.0),
            (math.inf, 0.0, 1.0),
        ):
            np.testing.assert_equal(multiply_add(*map(np.float64, numbers)), fma(*map(np.float64, numbers)))


@needs_node
def test_a_run_that_ends_early_says_why(tmp_path):
    page = live_page(cradle(0.5), t_end=0.4, live={"push.value": (0.0, 20.0)}, show=["m0.flow"])
    whole, ended = runs_in_node(page, tmp_path, {"push.value": 10.0})
    assert whole["wrong"] == ""
    assert "need Python" in ended["wrong"]
    assert len(ended["t"]) < len(whole["t"])


NASTY = '</script><script>alert(1)</script><!-- Ω "q" \\'
INSIDE = "document.querySelector('iframe').contentWindow"
LOADED = """new Promise((done, no) => {{
  const wait = () => {}.live ? done(1) : setTimeout(wait, 5);
  wait(); setTimeout(no, 60000); }})"""


@pytest.fixture(scope="module")
def window():
    with browser(webgl=False) as found:
        yield found
        assert found.complaints == []


@needs_chromium
def test_sliders_and_keys_move_the_run(tmp_path, window):
    path = tmp_path / "page.html"
    sliders = {"spring.stiffness": (10.0, 200.0), "push.value": (-2.0, 2.0)}
    compiled = exported("oscillator")[0]
    page = live_page(compiled, path, t_end=5.0, live=sliders, show=["mass.flow", "spring.q"], title=NASTY)
    assert path.read_text(encoding="utf-8") == page.text
    window.open(path)
    window.run(LOADED.format("globalThis"))
    assert window.run("[document.title, document.querySelectorAll('script').length]") == [NASTY, 3]
    window.run("document.querySelector('input').focus()")
    for key, stiffness in (("Home", 10.0), ("ArrowRight", 10.95), ("ArrowLeft", 10.0), ("End", 200.0)):
        window.press(key)
        label = window.run("document.querySelector('label').innerText").split("\n")
        assert label[:2] == ["spring.stiffness", f"{stiffness:g} N/m"]
        steps = compiled.simulate(5.0, parameters={"spring.stiffness": stiffness}).statistics.steps
        assert f"{steps} steps in" in window.run("document.getElementById('status').textContent")
    window.resize(390, 844)
    window.rest()
    assert window.overflow() == 0
    assert window.asked == [path.resolve().as_uri()]


@needs_chromium
@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_a_browser_gives_the_bits_of_the_run_at_both_ends_of_a_slider(name, tmp_path, window):
    page, (parameter, *ends, _) = exported(name)[1], case_of(name).slider
    path = page.write(tmp_path / "page.html")
    assert path.stat().st_size < 102_400
    window.open(path)
    window.run(LOADED.format("globalThis"))
    for end in ends:
        run = f"live.run([[live.S.live[0].index, {end}]])"
        plain = "(run => ({ ...run, t: [...run.t], columns: run.columns.map(column => [...column]) }))"
        assert_same(window.run(f"{plain}({run})"), name, {parameter: end})
    assert window.asked == [path.resolve().as_uri()]


@needs_chromium
@pytest.mark.thorough
def test_names_do_no_harm_and_a_notebook_shows_the_page(tmp_path, window):
    graph, v = Graph(NASTY), J1("v", domain="translation")
    graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, C(NASTY, stiffness=10.0))
    result, sliders = simulate(graph, 1.0), {f"{NASTY}.stiffness": (1.0, 20.0)}
    for made in (live_page(graph, t_end=1.0, live=sliders, show=[f"{NASTY}.q"]), page(result, live=sliders)):
        notebook = tmp_path / "notebook.html"
        notebook.write_text(f"<!DOCTYPE html><title>cell</title>{made._repr_html_()}", encoding="utf-8")
        window.open(notebook)
        window.run(LOADED.format(INSIDE))
        assert window.run(f"{INSIDE}.document.title") == NASTY
        assert window.run(f"{INSIDE}.document.querySelector('label span').textContent") == f"{NASTY}.stiffness"
        told = f"{INSIDE}.document.getElementById('status').textContent"
        assert window.run(told).startswith(f"{result.statistics.steps} steps")
        window.run(f"{INSIDE}.document.querySelector('input').value = 1, {INSIDE}.document.querySelector('input').oninput()")
        window.rest()
        window.rest()
        steps = simulate(graph, 1.0, parameters={f"{NASTY}.stiffness": 1.0}).statistics.steps
        assert window.run(told).startswith(f"{steps} steps")


def test_a_page_shows_the_validity_warnings():
    """The run's atol permits errors far larger than its rtol promises."""
    graph, v = Graph("loose"), J1("v", domain="translation")
    graph.connect(v, I("m", 1.0)).connect(v, C("k", stiffness=4.0, initial=1.0))
    with pytest.warns(UserWarning, match="cannot be trusted"):
        made = live_page(graph, t_end=50.0, atol=1e-2, rtol=1e-9, show=["m.flow"])
    (doubt,) = facts_of(made)["doubts"]
    assert re.search(r'off by .*, at about t = [0-9.]+ s \("[mk]"\)$', doubt)


def test_a_page_without_webassembly_replays(monkeypatch):
    monkeypatch.setattr(live_page_module, "is_available", lambda: False)
    compiled = compile_model(oscillator())
    page = live_page(compiled, t_end=1.0, live={"spring.stiffness": (10.0, 200.0)}, show=["spring.q"], samples=0.1)
    facts = facts_of(page)
    np.testing.assert_array_equal(facts["replay"]["columns"], [compiled.simulate(1.0, samples=0.1)["spring.q"]])
    assert facts["why"] == "this page only replays a run: it was made with an llvmlite that cannot write WebAssembly"
    assert "solver" not in facts


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"live": {"ball.inertai": (0.5, 2.0)}}, "E620", '"ball.inertia"'),
        ({"live": {"floor.h": (0.5, 2.0)}}, "E620", "it is not a parameter"),
        ({"live": {"held.period": (0.01, 0.1)}}, "E621", "times of clocks"),
        ({"live": {"ball.inertia": (2.0, 0.5)}}, "E622", "a minimum and a maximum"),
        ({"live": {"ball.inertia": (2.0, 3.0)}}, "E622", "the current value 1 between"),
        ({"live": {"ball.inertia": 2.0}}, "E622", r'live=\{"ball.inertia": \(0.5, 2\)\}'),
        ({"show": ["ball.inertia"]}, "E623", r"one value in a run\n.*\n  try: states"),
        ({"show": [[]]}, "E623", "an empty panel"),
    ],
)
def test_models_that_pages_cannot_simulate_are_refused(options, code, words):
    with pytest.raises(ModelError, match=rf"{code}[\s\S]*{words}"):
        live_page(exported("juggler")[0], t_end=0.1, **options)


def test_pure_numbers_have_no_unit():
    facts = facts_of(live_page(exported("juggler")[0], t_end=0.1, live={"floor.restitution": (0.1, 0.9)}, show=["contact.mode"]))
    assert facts["live"][0]["unit"] == facts["panels"][0]["unit"] == ""


def test_a_page_stands_in_a_notebook():
    page = exported("juggler")[1]
    assert re.fullmatch(r'LivePage\("toy", \d+ KB\)', repr(page))
    cell = page._repr_html_()
    assert cell.startswith('<iframe title="toy"') and cell.count("<") == 2 and "srcdoc=" in cell
