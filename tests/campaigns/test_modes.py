"""The reference programs of the campaign of modes agree with closed forms, and a small sample of the campaign is correct."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bondgraph.errors import RunEndedWarning
from campaigns import ideal, modes
from campaigns.ideal.building import linkage_graph, network_graph
from campaigns.ideal.drawing import SAMPLES, drawn_linkage, drawn_masses, drawn_network
from campaigns.ideal.halving import Reference
from campaigns.ideal.linkages import Reduced, integrated, places
from campaigns.ideal.loop_analysis import analysed
from campaigns.ideal.moreau import stepped
from campaigns.ideal.records import Branch, DryFriction, Dyad, Link, Linkage, Mass, Masses, Network, Wave
from campaigns.ideal.verdicts import FAMILIES, Run, Verdict, compared, verdict_on
from campaigns.modes import drawn

SINE = Wave(size=1.0, omega=3.0)
SOURCE = Branch("V", "V", 1, 0, wave=SINE)


def agrees(known: Reference, channel: int, exact: np.ndarray, most: float) -> None:
    assert known.converged and known.error[channel] < most
    assert np.abs(known.values[:, channel] - exact).max() <= known.error[channel]


def test_rectifiers() -> None:
    half = Network((SOURCE, Branch("D", "D", 1, 2), Branch("R", "R", 2, 0, 2.0)))
    agrees(analysed(half, SAMPLES), 0, np.clip(np.sin(3.0 * SAMPLES), 0.0, None) / 2.0, 1e-4)
    ends = ((1, 2), (0, 2), (3, 1), (3, 0))
    bridge = Network((SOURCE, *(Branch("D", f"D{a}{b}", a, b) for a, b in ends), Branch("R", "R", 2, 3, 2.0)), grounded=False)
    agrees(analysed(bridge, SAMPLES), 0, np.abs(np.sin(3.0 * SAMPLES)) / 2.0, 1e-4)


def test_a_coil_charges_a_capacitor_through_a_diode() -> None:
    """The voltage is v = 1 - cos(t / sqrt(L C)) for half a period, and 2 thereafter."""
    parts = (
        Branch("V", "V", 1, 0, wave=Wave(mean=1.0)),
        Branch("L", "L", 1, 2, 0.1),
        Branch("D", "D", 2, 3),
        Branch("C", "C", 3, 0, 0.9),
    )
    known = analysed(Network(parts), SAMPLES)
    angle = np.minimum(SAMPLES / 0.3, math.pi)
    agrees(known, 1, 1.0 - np.cos(angle), 0.03)
    agrees(known, 0, 3.0 * np.sin(angle), 0.05)


def test_a_switch_leaves_a_coil_to_its_freewheel() -> None:
    switch = Branch("S", "S", 1, 2, times=(0.824,), closed=True)
    source, freewheel = Branch("V", "V", 1, 0, wave=Wave(mean=1.0)), Branch("D", "D", 0, 2)
    known = analysed(Network((source, switch, freewheel, Branch("R", "R", 2, 3, 1.0), Branch("L", "L", 3, 0, 0.5))), SAMPLES)
    rises, falls = 1.0 - np.exp(-2.0 * SAMPLES), np.exp(-2.0 * (SAMPLES - 0.824))
    agrees(known, 1, np.where(SAMPLES < 0.824, rises, (1.0 - math.exp(-1.648)) * falls), 5e-3)


def test_a_source_that_nothing_opposes_has_no_solution() -> None:
    known = analysed(Network((SOURCE, Branch("D", "D", 0, 1), Branch("R", "R", 1, 0, 1.0))), SAMPLES)
    assert known.converged and known.ends == pytest.approx(math.pi / 3.0, abs=3e-3)
    assert known.values.shape == (21, 1)


def test_a_source_of_a_few_millivolts_that_nothing_opposes_has_no_solution() -> None:
    """The diode shorts the source, which first rises by 2.5 mV; charging a capacitor instantly is not a short circuit."""
    wave = Wave(mean=-math.sin(1.5), size=1.0, omega=4.1, phase=1.5)
    shorted = Network((Branch("V", "V", 1, 0, wave=wave), Branch("D", "D", 1, 0), Branch("R", "R", 1, 0, 1.0)))
    assert analysed(shorted, SAMPLES).ends < 1e-3
    charged = Network((Branch("V", "V", 1, 0, wave=Wave(mean=1.0)), Branch("C", "C", 1, 0, 3.0)))
    agrees(analysed(charged, SAMPLES), 0, np.where(SAMPLES > 0.0, 1.0, 0.0), 1e-4)


def test_verdicts_do_not_depend_on_order_and_names_of_branches() -> None:
    network = drawn_network(20)
    known = analysed(network, SAMPLES)
    turned = analysed(replace(network, branches=network.branches[::-1]), SAMPLES)
    np.testing.assert_allclose(turned.values[:, ::-1], known.values, atol=1e-7)


def test_two_blocks() -> None:
    """The second block is on ice; friction of 2 N carries it along until t = 1, when the common acceleration 4 t / 4 reaches 2 /
    2."""
    blocks = Masses((Mass(2.0, Wave(slope=4.0)), Mass(2.0)), (DryFriction(0, 1, 2.0),))
    known = stepped(blocks, SAMPLES)
    after = SAMPLES - 1.0
    carried = 0.5 * SAMPLES**2
    agrees(known, 0, np.where(after < 0.0, carried, 0.5 + after + after**2), 1e-3)
    agrees(known, 1, np.where(after < 0.0, carried, 0.5 + after), 1e-3)


def test_more_frictions_than_masses_hold_a_row() -> None:
    """Nothing moves until the force 6 t exceeds 2.5 N, the sum of the friction at both ends (2 N) and of the drag behind the gear
    (0.5 N)."""
    row = Masses(
        (Mass(1.0), Mass(1.0, Wave(slope=6.0)), Mass(1.0)),
        (
            DryFriction(0, None, 1.0),
            DryFriction(1, 0, 9.0),
            DryFriction(1, 2, 9.0),
            DryFriction(2, None, 1.0),
            DryFriction(1, None, 1.0, 0.5),
        ),
    )
    late = np.clip(SAMPLES - 2.5 / 6.0, 0.0, None)
    known = stepped(row, SAMPLES)
    for channel in range(3):
        agrees(known, channel, late**2, 1e-3)


@pytest.mark.parametrize("seed", [12500, 12537])
def test_a_long_row_of_coupled_modes_is_solved_together(seed: int) -> None:
    assert verdict_on(drawn("masses", seed, 40)).kind == "right"


FOUR_BAR = Linkage(
    Link(0.1, 0.5, 0.02),
    (Dyad("rocker", Link(0.4, 1.0, 0.02), Link(0.3, 1.0, 0.02), (0.4, 0.0), 0.1),),
    start=1.0,
    rate=8.0,
    frictions=(("crank", 0.3),),
)


def test_a_slider_crank_has_its_closed_form() -> None:
    """x = r cos a + sqrt(l^2 - r^2 sin^2 a), and the energy of an undriven machine is constant."""
    crank, rod = Link(0.1, 0.0, 0.01), Link(0.4, 0.0, 0.0)
    machine = Linkage(crank, (Dyad("slider", rod, Link(0.1, 2.0, 0.02), (0.0, 0.0), 0.1),), start=0.5, rate=6.0)
    reduced, a = Reduced(machine), np.linspace(0.0, 6.0, 50)
    rate = -0.1 * np.sin(a) - 0.01 * np.sin(a) * np.cos(a) / np.sqrt(0.16 - 0.01 * np.sin(a) ** 2)
    np.testing.assert_allclose(reduced.k["base 0"](a), rate, atol=1e-9)
    np.testing.assert_allclose(reduced.M(a), 0.01 + 2.0 * rate**2, atol=1e-9)
    known = integrated(machine, SAMPLES)
    angle = np.arctan2(known.values[:, 1], known.values[:, 0]) % (2.0 * np.pi)
    energy = reduced.M(angle) * known.values[:, 2] ** 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-6)


def test_a_four_bar_closes_and_comes_to_rest() -> None:
    """The angle at rest, 3.987242, is from another program with another formula for the inertia."""
    links, _ = places(FOUR_BAR, np.linspace(0.0, 6.0, 9))
    ends = {name: place.begin + place.link.length * np.exp(1j * place.angle) for name, place in links.items()}
    np.testing.assert_allclose(ends["rod 0"], ends["follower 0"], atol=1e-15)
    known = integrated(FOUR_BAR, SAMPLES)
    assert known.converged
    np.testing.assert_allclose(known.values[-1], [math.cos(3.987242), math.sin(3.987242), 0.0], atol=1e-5)
    assert known.values[15, 2] > 0.0 and known.values[16, 2] == 0.0  # .762003 s


def test_a_stop_and_a_lock() -> None:
    light = Dyad("rocker", Link(0.4, 0.0, 0.0), Link(0.3, 0.0, 0.0), (0.4, 0.0), 0.1)
    wheel = Linkage(Link(0.1, 0.0, 0.5), (light,), start=0.0, rate=4.0, stop=(2.0, 0.5))
    known = integrated(wheel, SAMPLES)
    angle = np.where(SAMPLES < 0.5, 4.0 * SAMPLES, 2.0 - 2.0 * (SAMPLES - 0.5))
    np.testing.assert_allclose(known.values[:, :2], np.column_stack([np.cos(angle), np.sin(angle)]), atol=1e-6)
    driven = replace(wheel, stop=None, torque=Wave(mean=1.0), lock=("pin 0", 0.5, 1.5))
    rates = np.select([SAMPLES < 0.5, SAMPLES <= 1.5], [4.0 + 2.0 * SAMPLES, 0.0], 2.0 * (SAMPLES - 1.5))
    inside = SAMPLES != 0.5
    np.testing.assert_allclose(integrated(driven, SAMPLES).values[inside, 2], rates[inside], atol=1e-6)


def test_reference_programs_import_nothing_of_this_project() -> None:
    folder = Path(ideal.__file__).parent
    for name in ("records", "halving", "loop_analysis", "moreau", "linkages"):
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert str(module).split(".")[0] not in ("bondgraph", "screws", "screwbond", "models"), (name, module)


LINE = Reference(np.column_stack([SAMPLES, 0.0 * SAMPLES]), np.array([1e-3, 1e-3]), math.inf, True)
SHORTED = replace(LINE, values=LINE.values[:21], ends=1.02)


def seen(off: float = 0.0, last: int = 41, **more: str) -> Run:
    values = np.column_stack([SAMPLES + off * (SAMPLES > 0.5), 0.0 * SAMPLES])[:last]
    return Run(values, SAMPLES[:last], **more)


@pytest.mark.parametrize(
    ("run", "known", "kind"),
    [
        (seen(), LINE, "right"),
        (seen(0.9e-3), LINE, "right"),
        (seen(1.1e-3), LINE, "wrong"),
        (seen(np.nan), LINE, "wrong"),
        (seen(last=20, message="the run ended at t = 0.95 s: E314 chattering"), LINE, "ended early"),
        (seen(1.0, last=20, message="the run ended at t = 0.95 s: E314 chattering"), LINE, "wrong"),
        (seen(last=0, refusal='1 problem in "a"\n  E206 a loop of "b"'), LINE, "refused"),
        (seen(last=0, refusal='1 problem in "a"\n  E206 a loop of "b"'), SHORTED, "rightly refused"),
        (seen(last=21, message="the run ended at t = 1.02 s: E220 none"), SHORTED, "rightly refused"),
        (seen(last=10, message="the run ended at t = 0.45 s: E220 none"), SHORTED, "ended early"),
        (seen(), SHORTED, "wrong"),
        (seen(1.0), replace(LINE, converged=False), "undecided"),
        (replace(seen(), seconds=21.0), LINE, "slow"),
    ],
)
def test_verdicts(run: Run, known: Reference, kind: str) -> None:
    assert compared(run, known).kind == kind


def test_causes_have_no_names_and_numbers() -> None:
    assert compared(seen(refusal='1 problem in "a"\n  E212 17 modes of "b"\n  more'), LINE).cause == 'E212 # modes of "..."'
    assert compared(seen(last=3, message="the run ended at t = 2e-05 s: 5 events\nmore"), LINE).cause == "# events"


def test_a_campaign_continues_from_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(case: object) -> Verdict:
        asked.append(str(case))
        return Verdict("wrong", "differs") if len(asked) == 3 else Verdict("right")

    monkeypatch.setattr(modes, "verdict_in_process", answer)
    store = tmp_path / "verdicts.jsonl"
    first = list(modes.campaign(["networks", "masses"], range(2), store=store))
    store.write_text(store.read_text(encoding="utf-8") + '{"family": "netw', encoding="utf-8")  # killed while writing
    assert len(asked) == 4 and [t.verdict.kind for t in first] == ["right", "right", "wrong", "right"]
    assert list(modes.campaign(["networks", "masses"], range(2), store=store)) == first and len(asked) == 4
    assert "     1 masses, wrong: differs (seeds 0)" in modes.table(first)


def test_the_smallest_case_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(case: Masses) -> Verdict:
        return Verdict("wrong" if sum(friction.b is None for friction in case.frictions) >= 1 else "right", "x")

    monkeypatch.setattr(modes, "verdict_in_process", answer)
    less = modes.shrunk(drawn_masses(3), Verdict("wrong", "x"), tries=200)
    assert isinstance(less, Masses) and len(less.masses) == len(less.frictions) == 1


@pytest.mark.parametrize("draw", [drawn_network, drawn_masses, drawn_linkage])
def test_a_case_is_a_function_of_its_seed(draw) -> None:
    cases = [str(draw(seed)) for seed in range(30)]
    assert len(set(cases)) == 30 and cases == [str(draw(seed)) for seed in range(30)]


@pytest.mark.parametrize(("family", "seed"), [("networks", 53), ("networks", 43), ("masses", 9), ("masses", 16)])
def test_models_agree_with_their_reference_programs(family: str, seed: int) -> None:
    assert verdict_on(FAMILIES[family](seed)).kind == "right"


@pytest.mark.thorough
def test_a_difference_is_checked_again_with_smaller_steps() -> None:
    """Steps of all sizes end together just before an event, so halving them reveals only a small part of the error."""
    row = Masses(
        (Mass(0.35, Wave(slope=-0.97)), Mass(1.0, Wave(size=1.4, omega=5.2, phase=1.4))),
        (DryFriction(1, 0, 1.1), DryFriction(0, None, 1.1)),
    )
    assert verdict_on(row).kind == "right"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [7, 13])
def test_linkages_agree_with_their_reference_programs(seed: int) -> None:
    assert verdict_on(drawn_linkage(seed)).kind == "right"


NETWORKS = {
    3084: "an impulse has right sides in which all terms cancel",
    5077: "diagonal pivots of skew couplings cancel to zero",
    6041: "a diode that goes round must not turn a timed switch early",
    2101: "a switch shorts a capacitor through a conducting diode beside another one",
    7125: "diodes of a floating source without losses were pushed the wrong way",
    6018: "a source whose terms cancel at the start",
    3045: "a source whose terms cancel at the start, and which diodes short later",
    5043: "a diode across a source that never drives it",
    7073: "a diode across a source that drives it at once",
}
WITHOUT_SOLUTION = {6041, 7125, 3045, 7073}


@pytest.mark.parametrize("seed", NETWORKS)
def test_networks_that_were_wrong_or_refused(seed: int) -> None:
    assert verdict_on(drawn_network(seed)).kind == ("rightly refused" if seed in WITHOUT_SOLUTION else "right")


def test_a_search_for_modes_does_not_turn_a_timed_switch() -> None:
    """The diode of network 6041 opens and closes at 0.113 s; no solution exists after 1.19 s."""
    graph = network_graph(drawn_network(6041))[0]
    with pytest.warns(RunEndedWarning, match="E220"):
        run = graph.simulate(SAMPLES[-1], samples=SAMPLES, progress=False)
    turns = [event.time for event in run.events if event.kind.startswith("S5 turns")]
    assert turns == pytest.approx([0.374], abs=1e-9)


def test_linkages_are_graphs() -> None:
    for seed in (1, 3, 8):
        case = drawn_linkage(seed)
        names = {part.name for part in linkage_graph(case)[0].freeze().elements.values()}
        assert {f"friction{k}" for k in range(len(case.frictions))} <= names
        assert ("stop" in names, "lock" in names) == (case.stop is not None, case.lock is not None)


def test_the_lock_of_a_linkage_is_free_before_and_after_its_time() -> None:
    graph, _ = linkage_graph(replace(drawn_linkage(1), lock=("crank", 0.5, 1.0)))
    assert graph.freeze().elements["lock"].law.active == ("lock 0", "lock 2")  # an ideal closed switch has no effort
