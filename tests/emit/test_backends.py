"""Every back end reproduces the formulas evaluated with floats."""

import threading

import numpy as np
import pytest

import screws.scalars as s
from tests.emit.expressions import FORMULAS
from tests.inner.emit import (
    KernelError,
    compile_routines,
    link,
    llvm,
    machine_kernel,
    numpy_kernel,
    object_code,
    optimised,
    routines_text,
    target_machine,
    text,
)
from tests.inner.tape import Alternatives, Routine, Tape, jacobian, listing

BACKENDS = {"numpy": numpy_kernel, "llvm": lambda routine: compile_routines([routine]).kernel(routine.name)}


@pytest.fixture(params=BACKENDS)
def compiled(request):
    return BACKENDS[request.param]


def traced(formulas, n=3):
    tape = Tape()
    x = tape.inputs("x", n)
    return Routine("f", tape, (("x", n),), tuple(formula(*x) for formula in formulas))


def test_all_expressions(compiled):
    kernel = compiled(traced([formula for formula, _ in FORMULAS.values()]))
    rng = np.random.default_rng(3)
    with np.errstate(invalid="ignore", divide="ignore"):
        for column, (name, (formula, (low, high))) in enumerate(FORMULAS.items()):
            points = rng.uniform(low, high, (50, 3))
            got = kernel.many(points)[:, column]
            expected = [float(formula(*point)) for point in points]
            np.testing.assert_allclose(got, expected, rtol=2e-14, atol=1e-14, err_msg=name)


def test_every_level_of_llvm_has_the_same_bits(monkeypatch):
    """The numbers have all sizes and signs, and include NaN; most tests use the lowest level (`tests/conftest.py`)."""
    rng, routine = np.random.default_rng(4), traced([formula for formula, _ in FORMULAS.values()])
    extremes = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan])
    points = np.concatenate([rng.uniform(-3.0, 3.0, (400, 3)), rng.choice(extremes, (400, 3))])
    results, codes = [], set()
    monkeypatch.setattr(
        llvm, "object_code", lambda *how, make=llvm.object_code, **more: codes.add(code := make(*how, **more)) or code
    )
    for level in (0, 1, 2):
        monkeypatch.setattr(llvm, "LEVEL", level)
        values = compile_routines([routine]).kernel("f").many(points)
        results.append(np.where(np.isnan(values), np.nan, values).tobytes())
    assert len(set(results)) == 1 and len(codes) > 1


def test_nan_propagates(compiled):
    formulas = [
        lambda a, b, c: a + b,
        lambda a, b, c: s.minimum(a, b) + s.maximum(b, a),
        lambda a, b, c: s.maximum(a, b),
        lambda a, b, c: s.minimum(b, a),
        lambda a, b, c: s.sign(a),
        lambda a, b, c: s.sqrt(b - 2.0),
        lambda a, b, c: s.where(s.less(b, 2.0), c, a),
        lambda a, b, c: 1.0 / (c - c * b),
        lambda a, b, c: s.less(a, b),
    ]
    values = compiled(traced(formulas))(np.array([np.nan, 1.0, 3.0]))
    assert np.isnan(values[:6]).all()
    assert values[6] == 3.0 and np.isinf(values[7]) and values[8] == 0.0


def test_sign_and_ties(compiled):
    kernel = compiled(traced([lambda a, b, c: s.sign(a), lambda a, b, c: s.less_equal(a, b), lambda a, b, c: ~(a < b)]))
    for point, expected in [((0, 0, 0), (0, 1, 1)), ((-3, 1, 0), (-1, 1, 0)), ((2, 1, 0), (1, 0, 1))]:
        np.testing.assert_array_equal(kernel(point), expected)


def chain(links):
    tape = Tape()
    x, p = tape.inputs("x", links), tape.inputs("p", 2)
    R, r, places = np.eye(3), np.zeros(3), []
    for i, q in enumerate(x):
        c, d = s.cos(q), s.sin(q)
        Q = s.array([[c, -d, 0], [d, c, 0], [0, 0, 1]] if i % 2 else [[1, 0, 0], [0, c, -d], [0, d, c]])
        R = R @ Q
        r = r + R @ s.array([p[0], p[1] / (2.0 + c), 0.1])
        places += [*(r / s.sqrt(1.0 + r @ r)), s.where(s.less(q, 0.0), r[0], r[1])]
    return Routine("f", tape, (("x", links), ("p", 2)), (*places, *jacobian(places, list(x)).values))


def test_long_program_in_parts():
    routine = chain(9)
    assert len(listing(routine).steps) > llvm.SINGLE_LIMIT
    x, p = np.linspace(-1.0, 1.0, 9), np.array([0.5, 0.3])
    expected = numpy_kernel(routine)(x, p)
    for part in (7, 100, 500):
        code = object_code(routines_text([routine], 0, part), 0, 1)
        keep, addresses = link(code, ["f", "f.many"], {})
        kernel = machine_kernel("f", routine.sizes, len(routine.outputs), addresses["f"], addresses["f.many"], keep)
        np.testing.assert_allclose(kernel(x, p), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(BACKENDS["llvm"](routine)(x, p), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("place, limit", [(llvm, "QUICK"), (text, "HEAP")])
def test_very_long_program(place, limit, monkeypatch):
    monkeypatch.setattr(place, limit, 10)
    routine = chain(9)
    x, p = np.linspace(-1.0, 1.0, 9), np.array([0.5, 0.3])
    expected = numpy_kernel(routine)(x, p)
    np.testing.assert_allclose(BACKENDS["llvm"](routine)(x, p), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("links, whole", [(5, llvm.SINGLE_LIMIT), (9, llvm.SINGLE_LIMIT), (5, 100)])
@pytest.mark.parametrize("chosen", [False, True])
def test_a_routine_shares_the_code_of_a_longer_routine(links, whole, chosen, monkeypatch):
    monkeypatch.setattr(llvm, "SINGLE_LIMIT", whole)
    long = chain(links)
    count = len(long.outputs) - 2

    def routine(name, outputs):
        plain = Routine(name, long.tape, long.blocks, outputs)
        if not chosen:
            return plain
        cases = [Routine(f"{name}_{k}", long.tape, long.blocks, outputs) for k in range(2)]
        return Alternatives(name, "p", (1,), (2,), tuple(cases), plain)

    short, both = routine("short", long.outputs[:count]), routine("both", long.outputs)
    code = routines_text([short, both])
    assert code.count("@both.both(") and "define void @short_0" not in code
    library = compile_routines([short, both])
    x, p = np.linspace(-1.0, 1.0, links), np.array([0.5, 1.0])
    expected = numpy_kernel(long)(x, p)
    np.testing.assert_allclose(library.kernel("both")(x, p), expected, rtol=1e-12, atol=1e-13)
    out = np.full(count + 2, np.nan)
    np.testing.assert_array_equal(library.kernel("short")(x, p, out=out[:count]), library.kernel("both")(x, p)[:count])
    assert np.isnan(out[count:]).all()
    np.testing.assert_allclose(library.kernel("short").many(np.array([x, x]), p)[1], expected[:count], rtol=1e-12, atol=1e-13)


def test_different_routines_share_no_code():
    """Code is not shared if steps are few, outputs differ, or one routine is far longer."""
    short, long = chain(2), chain(6)
    twice = Routine("twice", short.tape, short.blocks, (*short.outputs, short.outputs[0] * short.outputs[1]))
    other = Routine("other", long.tape, long.blocks, (*long.outputs[1:], long.outputs[0]))
    part = Routine("part", long.tape, long.blocks, long.outputs[: len(long.outputs) // 2])
    for pair in ([short, twice], [long, other], [part, long]):
        assert ".both(" not in routines_text(pair)


def test_products_and_sums_are_one_instruction(monkeypatch):
    import llvmlite.binding

    monkeypatch.setenv("SCREWBOND_PROCESSOR", "host")
    if not llvmlite.binding.get_host_cpu_features().get("fma"):
        pytest.skip("this processor has no fused multiply-add")
    text, target = routines_text([traced([lambda a, b, c: a * b + c])]), target_machine(1)
    assert "vfmadd" in target.emit_assembly(optimised(text, 0, target))


def test_many_equals_a_loop(compiled):
    tape = Tape()
    t, x, p, _ = (tape.inputs(block, n) for block, n in (("t", 1), ("x", 3), ("p", 2), ("m", 0)))
    kernel = compiled(Routine("f", tape, (("t", 1), ("x", 3), ("p", 2), ("m", 0)), (t[0] * x[1], s.sin(x[2]) * p[1], 7.0, x[0])))
    rng = np.random.default_rng(1)
    times, states, fixed, modes = rng.random(9), rng.random((9, 3)), rng.random(2), np.zeros((9, 0))
    expected = [kernel(t, x, fixed, np.zeros(0)) for t, x in zip(times, states, strict=True)]
    np.testing.assert_array_equal(kernel.many(times, states, fixed, modes), expected)
    np.testing.assert_array_equal(kernel.many(times[:, None], states, np.tile(fixed, (9, 1)), modes), expected)
    np.testing.assert_array_equal(kernel.many(0.5, states, fixed, ())[:, 0], 0.5 * states[:, 1])
    assert kernel.many(times[:0], states[:0], fixed, modes[:0]).shape == (0, 4)
    out = np.empty((9, 4))
    assert kernel.many(times, states, fixed, modes, out=out) is out


def test_call_forms(compiled):
    kernel = compiled(traced([lambda a, b, c: a - b, lambda a, b, c: c * c]))
    assert kernel((1, 2, 3)).tolist() == [-1.0, 9.0]
    assert kernel(np.arange(6.0)[::2]).tolist() == [-2.0, 16.0]
    x, out = np.array([1.0, 2.0, 4.0]), np.empty(2)
    assert kernel(x, out=out) is out and out.tolist() == [-1.0, 16.0]
    call = kernel.bind(x, out=out)
    x[2] = 5.0
    call()
    assert out.tolist() == [-1.0, 25.0]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda k: k(np.zeros(2)), r"block 0 is an array \(2,\)"),
        (lambda k: k(), "called with 0 blocks"),
        (lambda k: k(np.zeros(3), out=np.zeros(3)), "`out` is an array"),
        (lambda k: k.many(np.zeros((4, 2))), r"block 0 is an array \(4, 2\)"),
        (lambda k: k.bind([1.0, 2.0, 3.0], out=np.zeros(2)), "not a contiguous array"),
        (lambda k: k((buffer := np.zeros(5))[:3], out=buffer[2:4]), "overlaps block 0"),
    ],
)
def test_unsuitable_blocks_are_named(compiled, call, message):
    kernel = compiled(traced([lambda a, b, c: a, lambda a, b, c: c]))
    with pytest.raises(KernelError, match=message):
        call(kernel)


def test_samples_must_agree(compiled):
    tape = Tape()
    kernel = compiled(Routine("f", tape, (("x", 2), ("p", 2)), (tape.inputs("x", 2)[0], tape.inputs("p", 2)[0])))
    with pytest.raises(KernelError, match="3 and 4 samples"):
        kernel.many(np.zeros((3, 2)), np.zeros((4, 2)))


def test_two_threads_share_a_kernel():
    routine = chain(8)
    kernel = BACKENDS["llvm"](routine)
    rng = np.random.default_rng(2)
    samples = [rng.uniform(-1, 1, (200, 8)) for _ in range(2)]
    p = np.array([0.5, 0.3])
    expected = [kernel.many(x, p) for x in samples]
    got = [[], []]

    def work(k):
        for _ in range(5):
            got[k].append(kernel.many(samples[k], p))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        assert len(got[k]) == 5 and all(np.array_equal(result, expected[k]) for result in got[k])
