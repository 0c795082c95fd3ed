"""One table defines the integration methods, and one record adds another."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, simulate, warming
from bondgraph.errors import RunEndedWarning, RunError
from bondgraph.methods import AUTO, METHODS, RETIRED, START, STIFF, MethodEntry, help_text, migrated_settings, names
from bondgraph.run_arguments import SETTINGS
from campaigns.saved import unequal
from campaigns.small_models import SMALL
from tests.inner.run import integrator, prepare
from tests.inner.run import simulate as run
from tests.run.bogacki_shampine import BS32
from tests.run.problems import ball, decay, oscillator, program

PAGE = Path(__file__).parents[2] / "docs" / "runs.md"
OFFERED: Mapping[str, str | MethodEntry] = {**{name: name for name in names()}, "bs32": BS32}


def page_table() -> str:
    rows = [("method", "what it is", "order, order of the dense output", "for"), ("---",) * 4]
    rows.append(('`"auto"`', f"`{START.name}`; `{STIFF.name}` once the model turns out to be stiff", "", "nearly everything"))
    rows += [
        (f'`"{entry.name}"`', entry.meaning, ", ".join(dict.fromkeys(entry.orders)), entry.use) for entry in METHODS.values()
    ]
    return "\n".join(f"| {' | '.join(row)} |" if row[0] != "---" else f"|{'|'.join(row)}|" for row in rows)


def forgotten(page: str, table: str) -> list[str]:
    return [row for row in table.splitlines() if row not in page.splitlines()]


def test_the_page_has_every_method():
    assert forgotten(PAGE.read_text(encoding="utf-8"), page_table()) == []


def test_a_method_that_the_page_forgets_is_found(monkeypatch):
    monkeypatch.setitem(METHODS, "bs32", BS32)
    (row,) = forgotten(PAGE.read_text(encoding="utf-8"), page_table())
    assert row.startswith('| `"bs32"` |') and BS32.meaning in row and BS32.use in row


def test_help_messages_and_warm_follow_from_the_table():
    assert SETTINGS["method"][1].meaning == help_text() and help_text() in (simulate.__doc__ or "")
    for entry in METHODS.values():
        assert f'"{entry.name}"' in help_text()
        assert any(part.startswith(entry.name) for part in warming.PARTS)
        assert entry.meaning and entry.use and 0.0 < entry.least <= entry.safety <= 1.0
    with pytest.raises(RunError, match="available: " + ", ".join(names())):
        run(decay(), [1.0], [1.0], [], 1.0, method="euler")


def test_methods_of_earlier_versions_have_one_that_takes_their_place():
    assert set(RETIRED.values()) <= {AUTO, *METHODS} and not RETIRED.keys() & {AUTO, *METHODS}
    stored = {"method": "Radau", "solver": "scipy", "iteration": "newton", "rtol": 1e-6}
    assert migrated_settings(stored) == {"method": "rodas5p", "rtol": 1e-6}
    assert migrated_settings({"method": "dop853"}) == {"method": "dop853"} and migrated_settings({"samples": 0.1}) == {
        "samples": 0.1
    }


FAMILIES = {
    "dopri5": "RK45 RK23 ode45 ode23 RK4 rk4 euler Euler runge-kutta dopri",
    "rodas5p": "BDF Radau ode15s ode23tb CVODE cvode_bdf ImplicitEuler backward_euler Rodas5",
    "dop853": "Adams",
    "radau5": "RadauIIA",
    "auto": "LSODA automatic best",
}
"""Names in other programs, by the method of this project that is nearest."""


@pytest.mark.parametrize(("method", "names_elsewhere"), FAMILIES.items())
def test_a_method_of_another_program_is_refused_with_the_nearest(method: str, names_elsewhere: str) -> None:
    for name in names_elsewhere.split():
        with pytest.raises(RunError, match="E304") as refused:
            run(decay(), [1.0], [1.0], [], 1.0, method=name)
        assert f'try: method="{method}"' in str(refused.value), name


@pytest.mark.parametrize("method", OFFERED)
def test_every_method_follows_an_oscillator(method: str) -> None:
    graph, v = Graph("oscillator"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, C("spring", stiffness=1.0, initial=1.0))
    result = simulate(graph, 3.0, method=OFFERED[method], rtol=1e-7, progress=False)
    np.testing.assert_allclose(result["spring.q"], np.cos(result.t), atol=1e-6)
    assert result.statistics.method == (method if method != AUTO else "dop853")


@pytest.mark.parametrize("method", OFFERED)
def test_every_one_ends_after_max_steps(method: str) -> None:
    graph, v = Graph("oscillator"), J1("v")
    graph.connect(v, I("m", 1.0)).connect(v, C("spring", stiffness=1.0, initial=1.0))
    with pytest.warns(RunEndedWarning):
        result = simulate(graph, 6e6, samples=[1.0, 6e6], method=OFFERED[method], max_steps=3000, progress=False)
    assert result.failure is not None and result.failure.kind == "too many steps"
    assert result.statistics.steps == 3001 and result.t[-1] < 6e6
    np.testing.assert_allclose(result["spring.q"][result.t == 1.0], np.cos(1.0), atol=1e-6)


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        (METHODS["dop853"], (8, 16)),
        (METHODS["dopri5"], (32, 64)),
        (METHODS["rodas5p"], (64, 128)),
        (METHODS["radau5"], (64, 128)),
        (BS32, (200, 400)),
    ],
)
def test_orders_are_those_of_the_table(entry: MethodEntry, parts: tuple[int, int]) -> None:
    """Orders are observed for x'' = -9 x, with equal steps except the first few."""
    w, errors = 3.0, []
    exact = np.array([np.cos(2.0 * w), -w * np.sin(2.0 * w)])
    for count in parts:
        fixed = {"rtol": 1e-1, "atol": 1e6, "max_step": 2.0 / count, "samples": [2.0], "progress": False}
        found = run(oscillator(), [1.0, 0.0], [w * w, 0.0], [], 2.0, method=entry, **fixed)
        errors.append(np.abs(found.x[-1] - exact).max())
    assert entry.order - 0.4 < np.log2(errors[0] / errors[1]) < entry.order + 1.2


def test_a_method_from_outside_has_events_clocks_and_many_runs():
    ours, theirs = (run(ball(), [1.0, 0.0], [9.81, 0.8], [0.0], 2.0, method=method, rtol=1e-7) for method in (BS32, "dop853"))
    np.testing.assert_allclose(ours.events.times, theirs.events.times, atol=1e-6)
    tick = (0.1, 0.0, lambda t, x, p, m: [x[0], x[1] + 1.0])
    ticking = program(lambda t, x, p, m: [x[1] - x[0], 0.0], (2, 0, 0), ticks=[tick])
    ours, theirs = (run(ticking, [0.0, 0.0], [], [], 1.0, method=method, rtol=1e-7) for method in (BS32, "dop853"))
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-6)
    prepared = prepare(decay(), 1.0, method=BS32, progress=False)
    ends = prepared.run_many(np.array([[1.0], [2.0]]), [1.0], [])
    assert prepared.in_machine_code and ends.x[:, 0] == pytest.approx(np.exp([-1.0, -2.0]), abs=1e-6)


@pytest.mark.parametrize("most", [40, 10**7])
@pytest.mark.parametrize("name", ["drive", "bouncing"])
def test_no_result_depends_on_how_often_a_run_pauses(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of machine code end after a limited time, which depends on the speed of the machine."""
    compiled = SMALL[name]().compile()
    runs = []
    for budget, patience in ((1, 1e-12), (10**7, 1e9)):
        monkeypatch.setattr(integrator, "_FIRST_CALL_STEPS", budget)
        monkeypatch.setattr(integrator, "_CALL_SECONDS", patience)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RunEndedWarning)
            runs.append(compiled.simulate(0.3 if name == "drive" else 2.0, max_steps=most, samples=0.01, progress=False))
    assert unequal(*runs) == [] and str(runs[0].failure) == str(runs[1].failure)
    assert runs[0].statistics.steps == runs[1].statistics.steps and runs[0].ok == (most > 40)
