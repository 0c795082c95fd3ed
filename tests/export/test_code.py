"""Exported source code has valid identifiers and instructions, performs ticks in order, and is written fast."""

from __future__ import annotations

import importlib.util
import keyword
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sympy

from benchmarks.front_end import calls
from bondgraph import J1, C, Domain, Friction, Graph, I, ModelError, R, Se, compile_model
from bondgraph.errors import FileError
from bondgraph.export import OPERATIONS, SymPyRoutine, c_source, matlab_source, numpy_source, straight_lines, sympy_model
from tests.export.twin_models import MODELS, case, clutch, every, expressions_of, rc, servo
from tests.inner.export import MATLAB, MAX_LENGTH, NUMPY, Dialect, identifier, identifiers, model_identifier, pieces
from tests.inner.export import C as C_DIALECT
from tests.inner.export import sympy as in_sympy
from tests.inner.tape import Listing
from tests.inner.tape import opcodes as op

# --- names ---


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("egg 2.pose", "egg_2_pose"),
        ("ω1", "omega1"),
        ("Δθ'", "Deltatheta_dot"),
        ("für", "fur"),
        ("µ²", "mu2"),
        ("中", "u4e2d"),
        ("a->b", "a_b"),
        ("2 masses", "n2_masses"),
        ("lambda", "lambda_"),
        ("λ", "lambda_"),
        ("end", "end_"),
        ("Switch", "Switch_"),
        ("v12", "v12_"),
        ("x", "x_"),
        ("+-", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_an_identifier(name: str, wanted: str) -> None:
    assert identifier(name) == wanted


def test_names_that_differ_in_signs_or_capitals_are_numbered() -> None:
    found = identifiers(["a b", "a-b", "a_b", "A.B", "λ", "lambda", "Lambda"])
    assert found == ["a_b", "a_b_2", "a_b_3", "A_B_4", "lambda_", "lambda__2", "Lambda__3"]
    assert identifiers(["t", "q"], taken=["Q"]) == ["t_", "q_2"]


def test_long_names_stay_apart() -> None:
    found = identifiers(["a" * 80 + "1", "a" * 80 + "2"])
    assert len(set(found)) == 2 and all(len(one) <= MAX_LENGTH for one in found)


@pytest.mark.parametrize(
    "word", [*keyword.kwlist, "end", "elseif", "otherwise", "restrict", "double", "i", "pi", "sin", "select"]
)
def test_no_word_of_a_language_is_an_identifier(word: str) -> None:
    assert identifier(word) == f"{word}_"


def test_a_model_is_called_as_no_word_and_no_module_of_python() -> None:
    names = ("rc", "class", "random", "numpy", "2 masses (switched)", "", "Größe µ")
    found = [model_identifier(name) for name in names]
    assert (
        found
        == ["rc", "model_class", "model_random", "model_numpy", "model_2_masses_switched", "model_", "grosse_mu"][:4] + found[4:]
    )
    assert found[4] == "model_2_masses_switched" and found[6] == "grou00dfe_mu" and found[5].isidentifier()


@pytest.mark.parametrize("target", [c_source, numpy_source, matlab_source])
@pytest.mark.parametrize("name", ["my model", "class", "end", "numpy", "random", "_x", "2x", "a" * 64, "ω"])
def test_a_name_that_code_cannot_have_is_refused(target: Callable[..., object], name: str) -> None:
    with pytest.raises(ModelError, match="E270"):
        target(case("rc").compiled, name=name)


def test_the_tables_lead_back_to_the_users_names(tmp_path: Path) -> None:
    module = loaded(numpy_source(clutch()).write(tmp_path))
    assert {key: place.name for key, place in module.STATES.items()} == {
        "end_p": "end.p",
        "End_p_2": "End.p",
        "alpha_Deltatheta": "α.Δθ",
    }
    x = np.arange(6.0).reshape(2, 3)
    assert module.STATES["End_p_2"].of(x).tolist() == [1.0, 4.0]
    found = sympy_model(clutch())
    assert [found.names[symbol] for symbol in found.x] == ["end.p", "End.p", "α.Δθ"]
    assert "CLASS_X_ALPHA_DELTATHETA = 2, /* α.Δθ */" in c_source(clutch()).header
    assert "out.states.alpha_Deltatheta = one('α.Δθ', 3:3" in matlab_source(clutch()).files["names.m"]


def test_places_of_arrays_have_their_shape(tmp_path: Path) -> None:
    this = case("eggs")
    module = loaded(numpy_source(this.compiled).write(tmp_path))
    values = module.outputs(this.t, this.x, this.p, this.m)
    program, shaped = this.compiled.program, 0
    for place in module.OUTPUTS.values():
        slot = program.layout[place.name]
        assert (slot.start, slot.shape, program.layout.unit(place.name)) == (place.start, place.shape, place.unit)
        assert place.of(values).shape == (len(this.t), *slot.shape)
        shaped += bool(slot.shape)
    assert shaped > 10


def loaded(path: Path) -> ModuleType:
    specification: Any = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


# --- instructions ---


def test_every_instruction_has_a_form_in_every_target() -> None:
    computed = [one for one in OPERATIONS if "{" in one.llvm]
    for dialect in (C_DIALECT, NUMPY, MATLAB):
        assert not [one.name for one in computed if not dialect.form(one)], dialect.language
    assert {OPERATIONS[code] for code in in_sympy.forms()} == set(computed)


def test_every_instruction_is_compared_by_its_numbers() -> None:
    used = {step[0] for step in straight_lines(every())["outputs"].steps}
    assert used == {one.name for one in OPERATIONS}


@pytest.mark.parametrize("dialect", [C_DIALECT, NUMPY, MATLAB], ids=lambda dialect: dialect.language)
def test_an_instruction_without_a_form_is_refused(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op, "OPERATIONS", [*op.OPERATIONS, op.Operation("besselj", 1, np.sin, "", "")])
    strange = Listing(((op.INPUT, 0, 0), (len(op.OPERATIONS) - 1, 0)), (1,))
    with pytest.raises(ModelError, match=f'E271 the operation "besselj" has no form in {dialect.language}'):
        pieces(dialect, strange, lambda b, k: f"x{k}", str)


def test_an_instruction_without_a_form_in_sympy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = in_sympy.forms()
    monkeypatch.setattr(in_sympy, "forms", lambda: {code: form for code, form in forms.items() if code != op.MULTIPLY})
    with pytest.raises(ModelError, match='E271 the operation "multiply" has no form in SymPy'):
        sympy_model(rc())


# --- files ---


@pytest.mark.parametrize("target", [numpy_source, matlab_source])
def test_a_place_that_cannot_be_written_is_refused(target: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="E413"):
        target(case("rc").compiled).write(tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_the_files_of_a_package(tmp_path: Path) -> None:
    package = matlab_source(case("servo").compiled).write(tmp_path / "new")
    assert package == tmp_path / "new" / "+servo"
    assert {path.name for path in package.iterdir()} == set(matlab_source(case("servo").compiled).files)
    assert numpy_source(case("servo").compiled).write(tmp_path / "new") == tmp_path / "new" / "servo.py"


def test_nothing_is_left_of_an_earlier_package(tmp_path: Path) -> None:
    matlab_source(case("servo").compiled, "it").write(tmp_path)
    (tmp_path / "+it" / "own.m").write_text("mine")
    package = matlab_source(case("rc").compiled, "it").write(tmp_path)
    assert {path.name for path in package.iterdir()} == {"own.m", *matlab_source(case("rc").compiled).files}


def test_powers_and_energies_have_the_units_of_their_domain(tmp_path: Path) -> None:
    thermal = Domain("own", "temperature", "K", "heat flow", "W", "J", "")
    graph = Graph("wall")
    graph.connect(C("c", capacitance=2.0, domain=thermal, initial=300.0), J1("j", domain=thermal))
    graph.connect(graph["j"], R("r", 3.0, domain=thermal))
    module = loaded(numpy_source(graph).write(tmp_path))
    assert (module.POWERS["r"].unit, module.ENERGIES["c"].unit) == ("K W", "K W s")


def test_a_module_needs_nothing_but_numpy(tmp_path: Path) -> None:
    numpy_source(rc()).write(tmp_path)
    script = (
        f"import sys; sys.path += {[str(tmp_path), *sys.path]!r}; import rc; p = rc.prepare(rc.p0)\n"
        "print(rc.rates(0.0, rc.x0, p, rc.m0).tolist())\n"
        "known = {*sys.stdlib_module_names, *sys.builtin_module_names, 'rc', 'numpy', '__main__'}\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - known))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"[{(2.0 - 0.2 / 0.5) / 3.0}]", "[]"], done.stderr


# --- ticks ---


def test_a_run_by_hand_ticks_as_the_run_does(tmp_path: Path) -> None:
    module, end = loaded(numpy_source(servo()).write(tmp_path)), 0.2
    p, m, x, t = module.prepare(module.p0), module.m0, module.x0, 0.0
    counts = [0] * len(module.CLOCKS)
    assert len(counts) == 3
    while True:
        times = [p[offset] + n * p[period] for (offset, period), n in zip(module.CLOCKS, counts, strict=True)]
        until = min(*times, end)
        for h in np.diff(np.linspace(t, until, 9)) if until > t else ():  # Runge-Kutta step
            slopes = [module.rates(t, x, p, m)]
            for part in (0.5, 0.5, 1.0):
                slopes.append(module.rates(t, x + part * h * slopes[-1], p, m))
            x = x + h / 6.0 * (slopes[0] + 2.0 * slopes[1] + 2.0 * slopes[2] + slopes[3])
        t = until
        if t >= end:
            break
        for k, time_of in enumerate(times):
            if time_of <= t * (1.0 + 1e-12):
                x, counts[k] = module.tick(k, t, x, p, m), counts[k] + 1
        assert module.STATES["copy_y"].of(x) == module.STATES["control_y"].of(x) or counts[0] != counts[1]
    run = compile_model(servo()).simulate(end, rtol=1e-11, atol=1e-13)
    assert run.statistics.ticks == sum(counts)
    for place in module.STATES.values():
        assert place.of(x) == pytest.approx(run[place.name][-1], rel=1e-9, abs=1e-10), place.name
    assert abs(run["control.y"][-1]) > 0.01


def test_parameters_may_be_many_too(tmp_path: Path) -> None:
    module = loaded(numpy_source(rc()).write(tmp_path))
    resistances = np.array([1.0, 2.0, 4.0])
    p = module.prepare(np.stack([np.broadcast_to(v, 3) if k != 1 else resistances for k, v in enumerate(module.p0)], axis=-1))
    assert list(module.PARAMETERS)[1] == "r_resistance"
    np.testing.assert_allclose(module.rates(0.0, module.x0, p, module.m0)[:, 0], (2.0 - 0.2 / 0.5) / resistances, rtol=1e-15)


def test_the_notes_name_every_mode_that_a_transition_may_enter() -> None:
    x = J1("x", domain="translation")
    rubbing = Graph("rubbing").connect(x, I("m", 1.0)).connect(x, C("k", stiffness=9.0)).connect(x, Friction("rub", 1.0))
    for graph in (rubbing, MODELS["bouncing ball"]()):
        modes = [(e.passes, e.accumulates) for e in compile_model(graph).system.events]
        targets = [mode for pair in modes for mode in pair if mode is not None]
        for text in (c_source(graph).header, numpy_source(graph).source, matlab_source(graph).files["Contents.m"]):
            words = " ".join(text.split())
            assert targets and words.count("the mode becomes") == len(targets)
            assert all(f"the mode becomes {mode}" in words for mode in targets)


def test_steps_for_ones_own_language_have_the_ticks_too() -> None:
    codes = straight_lines(servo())
    assert [len(code.outputs) for name, code in codes.items() if name.startswith("tick_")] == [9, 9, 9]


def test_the_tables_of_clocks() -> None:
    source = c_source(servo())
    assert "const int servo_clock_offset[SERVO_CLOCKS] = {" in source.source and "int servo_tick(int clock, " in source.header
    assert "0: control" in source.header and "1: copy" in source.header and "2: slow" in source.header
    assert "tick" not in c_source(rc()).header and "tick.m" not in matlab_source(rc()).files
    found = sympy_model(servo())
    assert [tuple(found.names[time] for time in times) for times in found.clocks] == [
        (f"{name}.offset", f"{name}.period") for name in ("control", "copy", "slow")
    ]


# --- SymPy ---


def test_cases_inside_a_comparison() -> None:
    """SymPy would simplify `Eq(0, Piecewise(...))` inside another `Piecewise` to false."""
    found = in_sympy.expressions(
        Listing(
            (
                (op.INPUT, 0, 0),
                (op.CONSTANT, 0.0),
                (op.LESS, 0, 1),
                (op.CONSTANT, 1.0),
                (op.WHERE, 2, 3, 1),
                (op.EQUAL, 1, 4),
                (op.WHERE, 5, 0, 1),
                (op.EQUAL, 1, 2),
                (op.WHERE, 7, 0, 1),
            ),
            (6, 8),
        ),
        [sympy.symbols("x,", real=True)],
    )
    function = SymPyRoutine(sympy.symbols("x,", real=True), *found).function()
    assert function(2.0) == [2.0, 2.0] and function(-2.0) == [0.0, 0.0]


def test_expressions_are_those_of_the_textbook() -> None:
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", inertia=2.0)).connect(v, C("spring", stiffness=50.0))
    found = sympy_model(graph.connect(v, R("damper", resistance=5.0)))
    p, q = found.x
    (F,), (M, k, r) = found.u, found.p
    assert [found.names[symbol] for symbol in (F, M, k, r)] == [
        "push.value",
        "mass.inertia",
        "spring.stiffness",
        "damper.resistance",
    ]
    assert found.units[p] == "N s" and found.labels["states"] == ("mass.p", "spring.q")
    force, speed = found.rates.expanded()
    assert sympy.simplify(force - (F - k * q - r * p / M)) == 0 and sympy.simplify(speed - p / M) == 0
    assert found.function()(0.0, [0.3, 0.01], [1.0], [2.0, 50.0, 5.0], []) == pytest.approx([-0.25, 0.15])


def test_a_step_uses_only_earlier_values() -> None:
    found = expressions_of("eggs")
    for routine in (found.rates, found.outputs, found.guards, *found.resets.values()):
        known = {found.t, *found.x, *found.u, *found.p, *found.m}
        for symbol, expression in routine.steps:
            assert expression.free_symbols <= known and symbol not in known
            known.add(symbol)
        assert all(result.free_symbols <= known for result in routine.results)
        assert not any(result.atoms(sympy.core.function.AppliedUndef) for result in routine.results)


def test_many_points_at_once() -> None:
    this = case("stick slip")
    found = expressions_of("stick slip")
    got = found.function()(this.t, this.x.T, *found.start[1:3], this.m.T)
    wanted = this.wanted(this.compiled.program.rates)
    for column, one in enumerate(got):
        np.testing.assert_allclose(np.broadcast_to(one, this.t.shape), wanted[:, column], rtol=1e-12, atol=1e-13)


def test_expressions_beyond_reading_are_refused() -> None:
    with pytest.raises(ModelError, match="E272"):
        expressions_of("eggs").rates.expanded()


@pytest.mark.parametrize(("model", "most"), [("eggs", 2e6), pytest.param("hand", 6e6, marks=pytest.mark.thorough)])
def test_functions_of_large_models_are_made_in_seconds(model: str, most: float) -> None:
    """Calls are counted instead of seconds; a million calls take about half a second."""
    compiled = case(model).compiled
    assert calls(lambda: sympy_model(compiled).function()) < most
