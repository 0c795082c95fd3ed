"""Machine code and CPython handle events with the same bits; `pytest --both-loops` compares every run of any test."""

import pytest

from benchmarks.events import boost as converter
from bondgraph import J1, Automaton, C, Graph, R, Se, Transition, by_mode, compile_model
from examples.bouncing_ball import on_constraint, with_restitution
from tests.elements import test_friction
from tests.inner.run import EventHandler
from tests.run import (
    test_accumulation,
    test_breaks,
    test_events,
    test_friction_in_collisions,
    test_jumping_guards,
    test_modes_at_an_event,
    test_newton_cycles,
    test_settling,
    test_ticks,
    test_together,
)
from tests.tracing.test_impulses import boost
from tests.twin_runs import compared


def ringing():
    full = Transition("up", "down", lambda q: q - 0.6, ("store.q",))
    empty = Transition("down", "up", lambda q: 0.2 - q, ("store.q",))
    graph, ring = Graph("ring").add_automaton(Automaton("drive", ("up", "down"), "up", (full, empty))), J1("ring")
    graph.connect(Se("u", by_mode("drive", {"up": 3.0, "down": -2.0})), ring).connect(ring, C("store", capacitance=0.5))
    graph.connect(ring, R("linear", 2.0)).connect(ring, R("cubic", effort=lambda f: f**3 + 0.5 * f))
    return graph


ALL_IN_MACHINE_CODE = {
    "turns": lambda: compile_model(converter()).simulate(2e-4, progress=False),
    "answered impulses": lambda: compile_model(boost("open", 4.196961, 24.109746)).simulate(2e-4, progress=False),
    "accumulation and rest": lambda: compile_model(with_restitution()).simulate(6.0, progress=False),
    "constraints that close and open": lambda: compile_model(on_constraint(10.0)).simulate(6.0, progress=False),
    "guards that jump": lambda: test_jumping_guards.JUMPING.simulate(2.5, progress=False),
    "Newton loops": lambda: compile_model(ringing()).simulate(20.0, progress=False),
}

WITH_PYTHON = {
    "Newton steps back and forth": lambda: test_newton_cycles.shut_at_an_event(1e-9).simulate(1.0, progress=False),
    "a ball comes to rest": lambda: test_accumulation.test_a_ball_comes_to_rest_where_its_impacts_accumulate(0.8, 4.063713),
    "many impacts without a limit": test_accumulation.test_dense_impacts_on_a_rising_floor_become_rest,
    "a rest that is left": test_accumulation.test_a_resting_body_may_move_again,
    "a rest that is left at once": lambda: test_accumulation.test_a_rest_that_is_left_at_once_ends_the_run("contact"),
    "a dead bounce": lambda: test_settling.test_a_mass_on_a_spring_rests_against_its_stop(0.0),
    "transitions without end": test_events.test_transitions_without_end_are_chattering,
    "sliding": lambda: test_events.test_sliding_between_two_modes_is_chattering("dop853"),
    "a fixed point": test_events.test_transitions_at_one_time_are_iterated_to_a_fixed_point,
    "grazing": lambda: test_events.test_short_crossings_within_a_step_are_seen(1e-3),
    "the start": test_events.test_an_active_guard_at_the_start_fires_at_once,
    "an error": test_events.test_a_terminal_transition_ends_the_run_with_its_reason,
    "too many": test_events.test_too_many_events,
    "not finite": test_events.test_a_reset_that_is_not_finite,
    "a clock": test_ticks.test_events_between_ticks_leave_the_clock_alone,
    "a guard at a tick": lambda: test_ticks.test_a_guard_that_jumps_at_a_tick_fires_there({}),
    "a break": test_breaks.test_a_guard_of_time_fires_in_a_window_that_no_step_would_meet,
    "together": lambda: test_together.test_a_ball_falls_straight_into_a_wedge((0, 1)),
    "friction in a collision": test_friction_in_collisions.test_a_block_that_sticks_gives_way_to_a_blow,
    "dry friction": test_friction.test_friction_sticks_in_its_cone_and_slips_along_the_force,
}


@pytest.mark.parametrize("kind", ALL_IN_MACHINE_CODE)
def test_events_known_to_machine_code_stay_there(kind):
    with compared() as told:
        result = ALL_IN_MACHINE_CODE[kind]()
    assert result.ok and told["runs"] == 1 and len(result.events) > 10
    assert result.statistics.events_in_python == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WITH_PYTHON)
def test_python_callbacks_are_called_when_needed(kind):
    with compared() as told:
        WITH_PYTHON[kind]()
    assert told["runs"] >= 1 and told["asked_again"] == told["asked"]


def test_modes_that_agree_are_searched_for_there_too():
    with compared() as told:
        test_modes_at_an_event.test_the_consistent_mode_is_taken(test_modes_at_an_event.circuit, 2)
    assert told["runs"] == 4 and told["asked"] == 0


def test_a_full_log_is_handed_over_on_the_way(monkeypatch):
    pieces, emptied = [], EventHandler.take_rows

    def noted(self):
        rows = emptied(self)
        pieces.append(len(rows))
        return rows

    monkeypatch.setattr(EventHandler, "take_rows", noted)
    monkeypatch.setattr("bondgraph.run.events.handler.BUFFER_BYTES", 0)
    with compared():
        result = compile_model(converter()).simulate(4e-3, progress=False)
    assert len(result.events) == 399 and result.statistics.events_in_python == 0
    assert len(pieces) > 2 and all(pieces)
