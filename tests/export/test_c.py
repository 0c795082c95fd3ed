"""The C source compiles without warnings, matches the NumPy reference bit for bit, and resembles the model."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J0, J1, X1, Automaton, Block, C, Graph, I, ModelError, R, Se, StateSpec, Transition, compile_model
from bondgraph.export import CSource, c_source
from examples import rolling_eggs
from screws.scalars import array, cos, exp, sin, sqrt, where
from tests.analysis.models import diode
from tests.emit.expressions import FORMULAS
from tests.inner.compile import Compiled
from tests.inner.emit import address_of
from tests.inner.emit import numpy as reference
from tests.inner.export import C_LOOKUPS, c_functions, c_number
from tests.inner.run import Bound
from tests.inner.tape import NUMPY_FUNCTIONS, Alternatives, Listing, Routine, Tape, TapeScalar, listing
from tests.inner.tape import opcodes as op
from tests.inner.tracing import trace
from tests.tracing.test_impulses import boost

GCC = shutil.which("gcc")
needs_compiler = pytest.mark.skipif(GCC is None, reason="gcc is not installed: the C source cannot be compiled")
STRICT = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
POINTS = 6


def libm(name: str, arguments: int) -> Callable[..., float]:
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * arguments
    return lambda *values: np.float64(function(*values))


def library_functions() -> dict[int, Callable[..., float]]:
    """Return the C library's elementary functions by operation code, since NumPy's differ from them in the last bit."""
    names = {
        op.SIN: "sin",
        op.COS: "cos",
        op.TAN: "tan",
        op.ASIN: "asin",
        op.ACOS: "acos",
        op.ATAN: "atan",
        op.EXP: "exp",
        op.EXPM1: "expm1",
        op.LOG: "log",
        op.TANH: "tanh",
    }
    two = {op.ATAN2: libm("atan2", 2), op.POWER: libm("pow", 2)}
    return {code: libm(name, 1) for code, name in names.items()} | two


def oscillator() -> Graph:
    graph = Graph("oscillator")
    velocity = J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0, initial=0.3))
    graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))
    return graph


def bounced(p, q):
    return array([-0.8 * p[0], p[1] * cos(q[1]), p[2]])


def switched() -> Graph:
    graph = Graph("2 masses */ (switched)")
    graph.add_automaton(
        Automaton(
            "stop",
            ("open", "closed", "broken"),
            "open",
            (
                Transition(
                    "open", "closed", lambda q: q[0] - 0.4, ("spring.q",), resets=(("mass.p", bounced, ("mass.p", "spring.q")),)
                ),
                Transition("closed", "open", lambda q: 0.2 - q[0], ("spring.q",), kind="stop opens"),
                Transition("closed", "broken", lambda q: q[0] - 9.0, ("spring.q",), error="the stop broke"),
            ),
        )
    )
    velocity = J1("velocity", dimension=3, domain="translation")
    law = C(
        "spring",
        output=lambda q, k: k * (q + q * (q @ q)),
        energy=lambda q, k: k * (q @ q / 2 + (q @ q) ** 2 / 4),
        parameters={"k": 3.0},
        initial=np.array([0.1, -0.2, 0.3]),
        dimension=3,
    )
    graph.connect(velocity, law)
    graph.connect(velocity, I("mass", inertia=np.diag([1.0, 2.0, 3.0]) + 0.1, initial=np.array([0.5, 0.4, -0.6])))
    buffer = X1("buffer", automaton="stop", active=["closed"], dimension=3)
    split = J0("split", dimension=3)
    graph.connect(velocity, split).connect(split, C("elastic", stiffness=np.full(3, 40.0), initial=np.zeros(3)))
    graph.connect(split, buffer)
    graph.connect(buffer, R("rub", effort=lambda f, r: r * f * sqrt(1e-4 + f @ f), parameters={"r": 2.0}, dimension=3))
    graph.connect(buffer, I("slug", inertia=0.5, initial=np.zeros(3)))
    graph.connect(
        Se(
            "wind",
            effort=lambda t, a: array([a * sin(t), exp(-t), where(t < 1.0, 0.0, a)]),
            signals=["time"],
            parameters={"a": 0.7},
            dimension=3,
        ),
        velocity,
    )
    graph.add(
        Block(
            "filter",
            [("rate", lambda y, p: p[0] - y, ["y", "p"])],
            inputs={"p": "mass.p"},
            states={"y": StateSpec(0.1)},
            rates={"y": "rate"},
        )
    )
    return graph


def eggs() -> Graph:
    return rolling_eggs.build()[0]


def chain(sections: int) -> Graph:
    graph = Graph("chain")
    before = J1("v0", domain="translation")
    graph.connect(Se("push", 1.0), before)
    for k in range(sections):
        mass = J1(f"v{k}", domain="translation") if k else before
        graph.connect(mass, I(f"m{k}", 1.0 + 0.01 * k, initial=0.1))
        gap = J0(f"gap{k}", domain="translation")
        inner = J1(f"inner{k}", domain="translation")
        if k:
            link = J0(f"link{k}", domain="translation")
            graph.connect(before, link).connect(link, mass)
            graph.connect(link, inner)
        else:
            graph.connect(mass, gap)
            graph.connect(gap, inner)
        graph.connect(inner, C(f"k{k}", stiffness=50.0)).connect(inner, R(f"d{k}", 0.3))
        before = mass
    return graph


MODELS = {"oscillator": oscillator, "switched": switched, "eggs": eggs, "diode": diode}


def shared_library(source: CSource, folder: Path, flags: list[str] = STRICT) -> ctypes.CDLL:
    _, path = source.write(folder)
    library = folder / f"lib{source.name}.so"
    done = subprocess.run([str(GCC), *flags, str(path), "-lm", "-o", str(library)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(library))


def pointer(values: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(address_of(values))


def call(library: ctypes.CDLL, name: str, count: int, t: float, *blocks: np.ndarray) -> np.ndarray:
    out = np.full(count, np.nan)
    getattr(library, name)(ctypes.c_double(t), *map(pointer, blocks), pointer(out))
    return out


def table(library: ctypes.CDLL, kind: type, name: str, count: int) -> np.ndarray:
    return np.array((kind * count).in_dll(library, name))


def points(compiled: Compiled) -> list[tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    x0, m0 = compiled.initial()
    count = sum(int(np.size(v)) for v in compiled.system.parameters.values())
    p0 = compiled.parameters()[:count]
    found = [(0.0, x0, p0, m0)]
    sizes = [len(mode.states) for mode in compiled.system.modes.values()]
    for _ in range(POINTS):
        x = x0 + 0.05 * compiled.program.nominal * rng.normal(size=len(x0))
        p = p0 * (1.0 + 0.01 * rng.normal(size=count))
        found.append((float(rng.uniform(0, 3)), x, p, np.array([float(rng.integers(n)) for n in sizes])))
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    return functools.cache(
        lambda name: shared_library(c_source(compile_model(MODELS[name](), backend="numpy"), "it"), tmp_path_factory.mktemp("c"))
    )


def plain(routine: Routine | Alternatives) -> Routine:
    return routine.reference if isinstance(routine, Alternatives) else routine


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
def test_c_gives_the_bits_of_the_reference(
    model: str, built: Callable[[str], ctypes.CDLL], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = compile_model(MODELS[model](), backend="numpy")
    library = built(model)
    routines = {name: plain(routine) for name, routine in trace(compiled.system)[0].items()}
    for code, function in library_functions().items():
        monkeypatch.setitem(NUMPY_FUNCTIONS, code, function)
    for t, x, own, m in points(compiled):
        added = reference.numpy_kernel(routines["prepare"])(own)
        p = np.concatenate([own, added])
        inside = np.concatenate([own, np.full(len(added), np.nan)])
        library.it_prepare(pointer(inside))
        np.testing.assert_array_equal(inside, p)
        for name in ("rates", "jacobian", "outputs", "guards", "powers", "energies"):
            wanted = reference.numpy_kernel(routines[name])(t, x, p, m)
            np.testing.assert_array_equal(call(library, f"it_{name}", len(wanted), t, x, p, m), wanted, err_msg=name)
        for k in range(len(compiled.program.loops)):
            wanted = reference.numpy_kernel(routines[f"newton_{k}"])(t, x, p, m)
            np.testing.assert_array_equal(call(library, f"it_loop_{k}", len(wanted), t, x, p, m), wanted)
        for k in range(len(compiled.system.events)):
            after, expected = np.full(len(x), np.nan), routines.get(f"reset_{k}")
            changed = library.it_reset(k, ctypes.c_double(t), *map(pointer, (x, p, m, after)))
            assert changed == (expected is not None)
            if expected is not None:
                np.testing.assert_array_equal(after, reference.numpy_kernel(expected)(t, x, p, m))


@needs_compiler
@pytest.mark.parametrize("model", MODELS)
def test_c_agrees_with_machine_code_and_numpy_to_rounding(model: str, built: Callable[[str], ctypes.CDLL]) -> None:
    pytest.importorskip("llvmlite")
    compiled = compile_model(MODELS[model](), backend="llvm")
    library = built(model)
    routines = trace(compiled.system)[0]
    for t, x, own, m in points(compiled)[:5]:
        p = np.concatenate([own, reference.numpy_kernel(plain(routines["prepare"]))(own)])
        its_p = np.concatenate([own, compiled.prepare(own)])
        for name in ("rates", "jacobian", "outputs", "guards", "powers", "energies"):
            kernel = getattr(compiled.program, name)
            if kernel is None:
                continue
            found = call(library, f"it_{name}", kernel.n_out, t, x, p, m)
            for wanted in (kernel(t, x, its_p, m), reference.numpy_kernel(plain(routines[name]))(t, x, p, m)):
                size = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-300)
                np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12 * size + 1e-20, err_msg=name)


@needs_compiler
def test_every_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's functions differ from the C library's by up to one unit in the last place, and tanh by up to three."""
    tape = Tape()
    x = tape.inputs("x", 3)
    outputs = [formula(*x) for formula, _ in FORMULAS.values()]
    alone = [code for code in library_functions() if code not in (op.ATAN2, op.POWER)]
    outputs += [TapeScalar(tape, tape.function(op.NAMES[code], x[0].index)) for code in alone]
    routine = Routine("f", tape, (("x", 3),), tuple(outputs))
    text = (
        "#include <math.h>\n"
        + "".join(C_LOOKUPS.values())
        + c_functions(
            "f",
            listing(routine),
            ("const double *restrict x", "double *restrict out"),
            lambda _, k: f"x[{k}]",
            lambda k: f"out[{k}]",
        )
    )
    library = shared_library(CSource("f", "", text, ""), tmp_path)
    rng = np.random.default_rng(1)
    samples = [rng.uniform(low, high, 3) for low, high in ((-2, 2), (0.1, 3), (-0.95, 0.95)) for _ in range(50)]
    samples += [np.array(v) for v in ((0.0, -0.0, 1.0), (np.nan, 1.0, 2.0), (1.0, np.nan, np.inf), (-1.0, 2.0, -np.inf))]

    def compare(exact: bool) -> None:
        for sample in samples:
            wanted, found = reference.numpy_kernel(routine)(sample), np.full(len(outputs), 7.0)
            library.f(pointer(sample), pointer(found))
            if exact:
                np.testing.assert_array_equal(found, wanted)
            else:
                for code, a, b in zip(alone, found[-len(alone) :], wanted[-len(alone) :], strict=True):
                    np.testing.assert_array_max_ulp(np.array([a]), np.array([b]), 3 if code == op.TANH else 1)

    compare(exact=False)
    for code, function in library_functions().items():
        monkeypatch.setitem(NUMPY_FUNCTIONS, code, function)
    compare(exact=True)


@needs_compiler
def test_tables_and_start_values(tmp_path: Path) -> None:
    compiled = compile_model(switched(), backend="numpy")
    library = shared_library(c_source(compiled, "it"), tmp_path)
    x0, m0 = compiled.initial()
    own = compiled.parameters()[: sum(int(np.size(v)) for v in compiled.system.parameters.values())]
    for letter, values in (("x", x0), ("p", own), ("m", m0)):
        np.testing.assert_array_equal(table(library, ctypes.c_double, f"it_{letter}0", len(values)), values)
    columns, rows = compiled.program.jacobian_pattern
    np.testing.assert_array_equal(table(library, ctypes.c_int, "it_jacobian_columns", len(columns)), columns)
    np.testing.assert_array_equal(table(library, ctypes.c_int, "it_jacobian_rows", len(rows)), rows)
    for word, wanted in (("slot", [0, 0, 0]), ("source", [0, 1, 1]), ("target", [1, 0, 2])):
        assert table(library, ctypes.c_int, f"it_transition_{word}", 3).tolist() == wanted


@needs_compiler
def test_a_long_chain_is_cut_into_parts(tmp_path: Path) -> None:
    compiled = compile_model(chain(120), backend="numpy")
    source = c_source(compiled, "chain")
    assert "static CHAIN_APART void chain_outputs_part1(" in source.source
    # A compiler's time grows with the square of a function's length.
    lengths = [function.count("const double v") for function in re.split(r"^}$", source.source, flags=re.MULTILINE)]
    assert sum(lengths) > 4000 and max(lengths) <= 200
    library = shared_library(source, tmp_path)
    t, x, own, m = points(compiled)[1]
    routines = trace(compiled.system)[0]
    p = np.concatenate([own, reference.numpy_kernel(plain(routines["prepare"]))(own)])
    for name in ("rates", "jacobian", "outputs"):
        wanted = reference.numpy_kernel(plain(routines[name]))(t, x, p, m)
        np.testing.assert_array_equal(call(library, f"chain_{name}", len(wanted), t, x, p, m), wanted)
    rates = compiled.program.rates(t, x, np.concatenate([own, compiled.prepare(own)]), m)
    np.testing.assert_allclose(call(library, "chain_rates", len(rates), t, x, p, m), rates, rtol=1e-12)


def test_text_is_in_the_users_names() -> None:
    source = c_source(compile_model(oscillator(), backend="numpy"))
    assert source.name == "oscillator"
    for line in (
        "    OSCILLATOR_X_MASS_P = 0, /* mass.p, N s */",
        "    OSCILLATOR_X_SPRING_Q = 1, /* spring.q, m */",
        "    OSCILLATOR_P_DAMPER_RESISTANCE = 3, /* damper.resistance, N s/m */",
        "    OSCILLATOR_POWER_PUSH = 0, /* push, W, supplied */",
        "/* out: dx/dt, OSCILLATOR_STATES numbers. */",
    ):
        assert line in source.header.splitlines(), line
    assert source.build_line in source.header and source.build_line in source.source
    assert "out[OSCILLATOR_X_MASS_P] = " in source.source
    assert set(re.findall(r"#include (.*)", source.source)) == {'"oscillator.h"', "<math.h>"}


def test_names_that_c_does_not_like() -> None:
    compiled = compile_model(switched(), backend="numpy")
    source = c_source(compiled)
    assert source.name == "model_2_masses_switched"
    assert 'the model "2 masses * / (switched)"' in source.header
    assert "2: stop: closed to broken; ends the run: the stop broke" in source.header
    assert "0: stop: open to closed, with a reset" in source.header
    graph = Graph("twins")
    flow = J1("j")
    graph.connect(flow, C("a b", capacitance=1.0)).connect(flow, I("a-b", 1.0)).connect(flow, R("a_b", 1.0)).connect(
        flow, C("a/b", capacitance=1.0)
    )
    header = c_source(compile_model(graph, backend="numpy")).header
    constants = re.findall(r"^    (TWINS_\w+) = ", header, re.MULTILINE)
    assert len(set(constants)) == len(constants)
    assert "TWINS_P_A_B_CAPACITANCE_2 = " in header


def test_a_name_must_be_an_identifier() -> None:
    with pytest.raises(ModelError, match="E270"):
        c_source(compile_model(oscillator(), backend="numpy"), "my model")


def test_an_operation_without_a_form_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op, "OPERATIONS", [*op.OPERATIONS, op.Operation("besselj", 1, np.sin, "", "")])
    strange = Listing(((op.INPUT, 0, 0), (len(op.OPERATIONS) - 1, 0)), (1,))
    with pytest.raises(ModelError, match='E271 the operation "besselj"'):
        c_functions("f", strange, (), lambda b, k: f"x[{k}]", lambda k: f"out[{k}]")


@pytest.mark.parametrize("value", [0.1, -2.5e-308, 1e22, 5e-324, 123456789.123456789, -1.0])
def test_constants_keep_their_bits(value: float) -> None:
    assert float(c_number(value).strip("()")) == value


def test_numbers_that_are_none() -> None:
    assert [c_number(v) for v in (np.inf, -np.inf, np.nan)] == ["INFINITY", "(-INFINITY)", "NAN"]


@needs_compiler
def test_impulses_include_triggered_transitions(tmp_path: Path) -> None:
    """A transistor interrupts a coil's current, so the diode must close; the header says how a program detects that."""
    compiled = compile_model(boost("open", 4.0, 24.0))
    source = c_source(compiled, "boost")
    assert "a diode closes instead of" in source.header.replace("\n * ", " ") and "int boost_push(" in source.header
    library = shared_library(source, tmp_path)
    x, m, p = *compiled.initial(), compiled.parameters()
    bound = Bound(compiled.program, p)
    out = np.zeros(len(compiled.program.transitions) + len(x))
    seen = 0
    for k in range(len(compiled.program.transitions)):
        expected = bound.pushed(k, 0.0, x, m)
        given = [address_of(block) for block in (x, p, m, out)]
        push = library.boost_push
        push.argtypes = [ctypes.c_int, ctypes.c_double, *[ctypes.c_void_p] * 4]
        assert push(k, 0.0, *given) == (expected is not None)
        if expected is not None:
            seen += 1
            np.testing.assert_allclose(out, np.concatenate(expected), rtol=1e-12, atol=1e-15)
    assert seen
    assert "_push" not in c_source(compile_model(switched()), "switched").header
