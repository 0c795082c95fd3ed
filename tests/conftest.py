"""Settings and switches shared by all tests, and a report of what was not tested because a program is missing."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Deadlines measure the machine, not the code; derandomised runs fail only when the code changes.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
if hasattr(providers, "_get_local_constants"):
    # Otherwise every worker would parse all modules for their constants, and any change in one would change every test's samples.
    providers._get_local_constants = lambda: providers._local_constants

LONGEST = (
    "tests/docs/test_gallery.py",
    "tests/front_door/test_typing.py",
    "tests/gallery/test_public_models.py",
    "tests/export/test_definitions.py",
    "tests/docs/test_site.py",
    "tests/test_benchmarks.py",
    "tests/render/test_laws.py",
    "tests/examples/test_notebooks.py",
    "tests/models/contacts/test_starts_in_touch.py",
    "tests/campaigns/test_modes.py",
    "tests/estimation/test_collisions.py",
    "tests/models/pictures/test_filling.py",
    "tests/render/test_random_graphs.py",
    "tests/models/pictures/test_many_pages.py",
    "tests/models/pictures/test_legible_pages.py",
    "tests/models/contacts/test_contact_scenarios.py",
    "tests/models/contacts/test_contact_places.py",
    "tests/models/hand/test_hand_pictures.py",
    "tests/models/parts/test_records.py",
    "tests/piles/test_piles.py",
    "tests/test_architecture.py",
    "tests/models/joints/test_closed_loops.py",
    "tests/emit/test_kernel_language.py",
    "tests/export/test_twins.py",
    "tests/export/test_run_in_c.py",
    "tests/models/contacts/test_law_invariance.py",
    "tests/models/test_without_extras.py",
    "tests/models/delta/test_delta_analysis.py",
    "tests/models/delta/test_delta_pictures.py",
    "tests/front_door/test_scripts.py",
    "tests/models/impact/test_impact_study.py",
    "tests/models/studies/test_artefacts.py",
    "tests/tracing/test_growth.py",
    "tests/examples/test_examples.py",
    "tests/schedule/test_loops.py",
    "tests/test_packaging.py",
    "tests/export/test_mechanical_forms.py",
    "tests/export/test_state_equations.py",
    "tests/models/hand/test_hand_graph.py",
)

AT_RELEASES = frozenset(
    {
        "tests/campaigns/test_algebraic_loops.py::test_the_known_solutions_are_found_however_the_loop_is_written[13]",
        "tests/campaigns/test_model_files.py::test_mutated_files_are_refused_with_a_code_or_are_models",
        "tests/campaigns/test_modes.py::test_a_difference_is_checked_again_with_smaller_steps",
        "tests/campaigns/test_modes.py::test_a_long_row_of_coupled_modes_is_solved_together[12537]",
        "tests/campaigns/test_mutants.py::test_mutants_are_functions_that_differ_from_the_source",
        "tests/docs/test_gallery.py::test_pictures_equal_those_that_the_code_draws[impact_laws.png]",
        "tests/docs/test_gallery.py::test_pictures_equal_those_that_the_code_draws[impact_order.png]",
        "tests/docs/test_gallery.py::test_pictures_equal_those_that_the_code_draws[twelve_measured_road.png]",
        "tests/examples/test_notebooks.py::test_notebooks_in_a_browser",
        "tests/examples/test_notebooks.py::test_notebooks_reproduce_their_stored_outputs[battery_to_road]",
        "tests/examples/test_notebooks.py::test_notebooks_reproduce_their_stored_outputs[delta_design]",
        "tests/examples/test_notebooks.py::test_notebooks_reproduce_their_stored_outputs[digging]",
        "tests/examples/test_notebooks.py::test_notebooks_reproduce_their_stored_outputs[exercises]",
        "tests/examples/test_notebooks.py::test_notebooks_reproduce_their_stored_outputs[grasp]",
        "tests/examples/test_notebooks.py::test_notebooks_reproduce_their_stored_outputs[heartbeat]",
        "tests/examples/test_notebooks.py::test_notebooks_reproduce_their_stored_outputs[own_surface]",
        "tests/export/test_c.py::test_c_agrees_with_machine_code_and_numpy_to_rounding[eggs]",
        "tests/export/test_c.py::test_c_gives_the_bits_of_the_reference[eggs]",
        "tests/export/test_code.py::test_functions_of_large_models_are_made_in_seconds[hand-6000000.0]",
        "tests/export/test_definitions.py::test_equations_of_the_large_models_are_the_compiled_ones[delta-True]",
        "tests/export/test_definitions.py::test_equations_of_the_large_models_are_the_compiled_ones[hand-False]",
        "tests/export/test_definitions.py::test_every_symbol_is_given_or_defined_before[delta]",
        "tests/export/test_document.py::test_every_symbol_is_explained_once[delta of rigid bodies]",
        "tests/export/test_document.py::test_pdflatex_takes_every_document",
        "tests/export/test_fmu.py::test_calls_leave_foreign_memory_unchanged",
        "tests/export/test_mechanical_forms.py::test_delta_robot_of_nine_coordinates_and_six_constraints",
        "tests/export/test_mechanical_forms.py::test_hamiltons_equations_are_the_compiled_ones[double pendulum-hamiltonian]",
        "tests/export/test_port_hamiltonian.py::test_random_graphs[rigid_graph-seeds1]",
        "tests/export/test_readers.py::test_the_page_is_the_model[delta of rigid bodies]",
        "tests/export/test_run_in_c.py::test_a_c_file_is_the_run[juggler-dop853-ball.inertia-air.flow-TOY_P_HELD_PERIOD]",
        "tests/export/test_state_equations.py::test_random_graphs_agree_with_the_compiled_model[rigid_graph]",
        "tests/export/test_twins.py::test_c[hand]",
        "tests/export/test_twins.py::test_sympy[hand]",
        "tests/export/test_typst.py::test_the_compiler_takes_it[hand]",
        "tests/front_door/test_short_words.py::test_repr_is_short_and_has_no_address[arm]",
        "tests/front_door/test_short_words.py::test_repr_is_short_and_has_no_address[hand]",
        "tests/front_door/test_typing.py::test_packages_idioms_and_scripts_pass_and_slips_are_found",
        "tests/models/contacts/test_contact_scenarios.py::test_agrees_with_independent_simulator[body 1 free, body 2 fixed]",
        "tests/models/contacts/test_contact_scenarios.py::test_agrees_with_independent_simulator[egg on a turntable]",
        "tests/models/contacts/test_contact_scenarios.py::test_agrees_with_independent_simulator[egg rolls on a plane]",
        "tests/models/contacts/test_contact_scenarios.py::test_agrees_with_independent_simulator[through a pole, frictionless]",
        "tests/models/contacts/test_contact_scenarios.py::test_constrained_components[omega_x+v_z]",
        "tests/models/contacts/test_contact_scenarios.py::test_constrained_components[omega_y+omega_z+v_z]",
        "tests/models/contacts/test_contact_scenarios.py::test_constrained_components[v_x+v_y+v_z]",
        "tests/models/contacts/test_contact_scenarios.py::test_constrained_components[v_y+v_z]",
        "tests/models/contacts/test_law_invariance.py::test_eggs_on_eggs_are_invariant_under_frame_and_order"
        "[Impact(restitution=0.6, friction=0.2)]",
        "tests/models/contacts/test_law_invariance.py::test_eggs_on_eggs_are_invariant_under_frame_and_order"
        "[Impact(restitution=0.6, friction=None)]",
        "tests/models/contacts/test_law_refusals.py::test_two_ideal_contacts_with_friction_in_a_groove_are_advised_to_be_compliant"
        "[Impact(restitution=0.5, friction=0.3)]",
        "tests/models/delta/test_delta_control.py::test_sampled_tracking_within_limits",
        "tests/models/delta/test_delta_pictures.py::test_poster",
        "tests/models/delta/test_delta_robot.py::test_linearise_command_with_pictures",
        "tests/models/hand/test_hand_graph.py::test_far_is_not_dropped_and_rotate_turns",
        "tests/models/hand/test_hand_pictures.py::test_a_lost_object_looks_lost",
        "tests/models/hand/test_hand_pictures.py::test_figure_6_shows_the_object_twice",
        "tests/models/hand/test_hand_pictures.py::test_movie",
        "tests/models/hand/test_hand_pictures.py::test_page",
        "tests/models/hand/test_hand_pictures.py::test_study_of_a_lost_object",
        "tests/models/impact/test_impact_study.py::test_the_command_takes_robots_from_files",
        "tests/models/joints/test_closed_loops.py::test_bodies_in_a_parallelogram_pass_its_flat_positions_on_their_branch[1e-06]",
        "tests/models/joints/test_friction_advice.py::test_friction_brings_a_loop_of_hinges_to_rest_where_one_coordinate_comes_to_rest",
        "tests/models/joints/test_friction_advice.py::test_friction_by_a_normal_force_in_a_loop_of_hinges_advises_other_joints",
        "tests/models/pictures/test_filling.py::test_every_picture_of_a_filled_scene[trough]",
        "tests/models/pictures/test_many_pages.py::test_diagrams_beside_a_scene_are_legible",
        "tests/models/pictures/test_many_pages.py::test_pages_of_every_kind[arm on a table]",
        "tests/models/pictures/test_many_pages.py::test_pages_of_every_kind[delta]",
        "tests/models/pictures/test_many_pages.py::test_pages_of_every_kind[eggs]",
        "tests/models/pictures/test_many_pages.py::test_pages_of_every_kind[gripper]",
        "tests/models/pictures/test_many_pages.py::test_pages_of_every_kind[hand]",
        "tests/models/pictures/test_pages.py::test_a_slider_moves_everything_as_another_run_does",
        "tests/models/pictures/test_pictures.py::test_poster_is_large_and_leaves_no_part",
        "tests/models/pictures/test_planes.py::test_pictures_of_a_plane",
        "tests/models/test_motion.py::test_the_shortest_time_is_a_property_of_the_way",
        "tests/render/test_laws.py::test_diagrams_of_scripts_can_be_read[arm_impact]",
        "tests/render/test_laws.py::test_diagrams_of_scripts_can_be_read[delta_pick_and_place]",
        "tests/run/test_bridges.py::test_bridges_in_series_add_their_line_voltages[4]",
        "tests/run/test_complementarity.py::test_a_row_of_masses_begins_to_move_in_one_instant_with_one_event_for_each_friction"
        "[20]",
        "tests/run/test_dead_centres.py::test_crank_rod_and_piston_as_rigid_bodies[0.0]",
        "tests/sweeps/test_executors.py::test_workers_of_mpi_give_equal_bytes",
        "tests/test_packaging.py::test_a_module_runs_by_both_names",
        "tests/test_packaging.py::test_a_user_package_called_models_still_works[models.py]",
        "tests/test_packaging.py::test_the_old_name_gives_the_same_objects[checkout]",
        "tests/tracing/test_almost_ideal_diodes.py::test_units_do_not_change_a_bridge_of_almost_ideal_diodes[0.001-1000.0]",
        "tests/tracing/test_growth.py::test_steps_of_a_multiplier_grow_with_its_stages",
    }
)
"""Tests that take seconds although smaller ones check the same rule, or that rarely fail; only `make release` runs them."""

DOCUMENTED = "tests/export/test_definitions.py"
TOGETHER = {
    "tests/docs/test_docs.py": "tests/docs/test_gallery.py",
    "tests/gallery/test_shown_units.py": "tests/gallery/test_public_models.py",
    "tests/models/delta/test_joints_delta.py": "tests/models/pictures/test_filling.py",
    "tests/test_names.py": "tests/test_architecture.py",
    **{
        f"tests/export/test_{name}.py": DOCUMENTED
        for name in ("document", "explain", "readers", "sampled_forms", "state_diagram", "typst", "units_of_models")
    },
}
"""File -> another file that needs the same pages, models or syntax trees, and runs in the same worker."""

OPTIMISED = ("tests/acceptance/", "tests/docs/", "tests/emit/", "tests/examples/", "tests/comparisons/", "tests/laws/")
"""Folders whose models run optimised machine code.

Elsewhere LLVM builds unoptimised code in a third of the time, with bit-identical results (`tests/emit/test_backends.py`).
"""

MADE = pytest.StashKey[list[int]]()
_COMPARED = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files, to inspect their diff")
    parser.addoption("--procedures-by", metavar="COMPILER", help="build the solvers' procedures from C: gcc, 'clang -O3'")
    parser.addoption(
        "--both-loops", action="store_true", help="have CPython handle the events of every run too, and compare bit for bit"
    )


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(50_000)  # the default, 700 new objects, took a quarter of the collection time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in background jobs; tests send it
    if compiler := config.getoption("--procedures-by"):
        from tests.compilers import replace_procedures

        config.stash[MADE] = replace_procedures(compiler)


@pytest.fixture(autouse=True, scope="session")
def _both_loops(request: pytest.FixtureRequest) -> Iterator[None]:
    """With --both-loops, compare every run with a run whose events CPython handles."""
    if not request.config.getoption("--both-loops"):
        yield
        return
    from tests.twin_runs import compared  # only after a C compiler has replaced LLVM

    with compared() as told:
        yield
        request.config.stash[_COMPARED] = dict(told)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    from tests.inner.emit import llvm  # only after a C compiler has replaced LLVM

    llvm.LEVEL = 1 if item.nodeid.startswith(OPTIMISED) else 0


@pytest.fixture
def rough_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the nodes of a diagram in their first cells, because the search for better cells takes most of the time."""
    from tests.inner.render import layout

    monkeypatch.setattr(layout, "improve", lambda cells, *_: cells)


@pytest.fixture
def few_objects() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture
def one_loop(request: pytest.FixtureRequest) -> None:
    """If each run is repeated (--both-loops), skip tests that count its work."""
    if request.config.getoption("--both-loops"):
        pytest.skip("this test counts the calls of a run, and each run is repeated here")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of `AT_RELEASES`, and put files with the slowest tests first and doctests last, so that no worker starts a slow
    file near the end."""
    whole = {item.nodeid.partition("::")[0] for item in items} if not any("::" in argument for argument in config.args) else set()
    gone = {name for name in AT_RELEASES if name.partition("::")[0] in whole} - {item.nodeid for item in items}
    if gone:
        raise pytest.UsageError(f"tests of AT_RELEASES that no file has: {', '.join(sorted(gone))}")
    for item in items:
        if item.nodeid in AT_RELEASES:
            item.add_marker(pytest.mark.release)
    places = {name: place for place, name in enumerate(LONGEST)}

    def place(item: pytest.Item) -> tuple[int, bool, str]:
        file = item.nodeid.partition("::")[0]
        return places.get(_scope(item.nodeid), len(places)), not file.startswith("tests/"), file

    items.sort(key=place)


def _scope(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return TOGETHER.get(file, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _scope(nodeid)

    return Together(config, log)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if (made := config.stash.get(MADE, None)) is not None:
        terminalreporter.write_line(f"{sum(made)} procedures in C, {len(made)} texts, by {config.getoption('--procedures-by')}")
    told = config.stash.get(_COMPARED, None)
    if told is not None:
        terminalreporter.write_line(f"compared with CPython at events: {told}")
    reasons = Counter(str(report.longrepr[-1]) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} not tried: {reason.removeprefix('Skipped: ')}", yellow=True, bold=True)
