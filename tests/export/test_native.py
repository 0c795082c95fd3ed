"""C with the package's own functions and fusions gives the bits of machine code, for any compiler and processor."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

from screws import scalars as s
from tests.emit.expressions import FORMULAS
from tests.emit.test_elementary import odd_points
from tests.emit.test_lanes import assert_same_bits
from tests.inner.compile import native_steps
from tests.inner.emit import ELEMENTARY, FAR, compile_routines, steps_in_machine_code
from tests.inner.export import C_LOOKUPS, c_functions, native_dialect, own_functions
from tests.inner.tape import Alternatives, Listing, Routine, SpecialisedRoutine, Tape, TapeScalar
from tests.inner.tape import opcodes as op

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
needed = pytest.mark.skipif(not COMPILERS, reason="no C compiler is installed")


def by_c(programs: dict[str, Listing], blocks: int, folder, compiler: str, *more: str):
    dialect, names = native_dialect("own_"), [f"b{k}" for k in range(blocks)]
    signature = [*(f"const double *restrict {name}" for name in names), "double *restrict out"]
    texts = [
        c_functions(name, program, signature, lambda block, k: f"b{block}[{k}]", "out[{}]".format, dialect=dialect)
        for name, program in programs.items()
    ]
    text = "\n".join(texts)
    lookups = [lookup for name, lookup in C_LOOKUPS.items() if re.search(rf"\b{name}\(", text)]
    source, made = folder / "kernels.c", folder / "kernels.so"
    source.write_text("\n".join(["#include <math.h>", own_functions(text, "own_"), *lookups, text]))
    done = subprocess.run(
        [compiler, *FLAGS, *more, str(source), "-lm", "-o", str(made)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    library = ctypes.CDLL(str(made))

    def called(name: str, rows: np.ndarray) -> np.ndarray:
        out = np.zeros((len(rows), len(programs[name].outputs)))
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)((name, library))
        for row, results in zip(np.ascontiguousarray(rows), out, strict=True):
            function(row.ctypes.data, results.ctypes.data)
        return out

    return called


def assert_native(routines: list, points: dict[str, np.ndarray], folder, compiler: str = "", *more: str) -> None:
    library, programs = compile_routines(routines), steps_in_machine_code(routines)
    called = by_c(programs, 1, folder, compiler or COMPILERS[0], *more)
    for name, rows in points.items():
        assert_same_bits(called(name, rows), library.kernel(name).many(rows), name)


@needed
@pytest.mark.parametrize("compiler", [(COMPILERS or [""])[0], *(f"{name} -march=native" for name in COMPILERS[-1:])])
def test_formulas_have_the_bits_of_machine_code(compiler, tmp_path):
    tape = Tape()
    x = tape.inputs("x", 3)
    formulas = {f"f{k}": (formula, span) for k, (formula, span) in enumerate(FORMULAS.values())}
    routines = [Routine(name, tape, (("x", 3),), (f(*x), f(x[1], x[2], x[0]))) for name, (f, _) in formulas.items()]
    random = np.random.default_rng(3)
    assert_native(
        routines, {name: random.uniform(*span, (60, 3)) for name, (_, span) in formulas.items()}, tmp_path, *compiler.split()
    )


@needed
def test_own_functions_have_the_bits_of_machine_code_for_odd_numbers(tmp_path):
    tape, routines, points = Tape(), [], {}
    x = tape.inputs("x", 2)
    names = {"pow": "power"}
    for name in ELEMENTARY:
        two = name in ("pow", "atan2")
        position = tape.apply(op.CODES[names.get(name, name)], *[each.index for each in x[: 2 if two else 1]])
        routines.append(Routine(f"{name}_", tape, (("x", 2),), (TapeScalar(tape, position),)))
        rows = odd_points(name)
        points[f"{name}_"] = rows if two or name not in ("sin", "cos", "tan") else np.append(rows, [[2.0 * FAR, 0.0]], axis=0)
    assert_native(routines, points, tmp_path)


@needed
def test_shared_code_rounds_identically(tmp_path):
    """A routine rounds like the longer or shared routine, or the cases of `Alternatives`, whose code it shares."""
    tape = Tape()
    x = tape.inputs("x", 4)
    values, products = list(x), []
    for k in range(160):
        products.append(values[-1] * values[-3] * 0.9)
        values.append(s.sin(values[-2]) + products[-1] + 0.1 * k)
    first = Routine("rates", tape, (("x", 4),), tuple(values[-3:]))
    longer = Routine("rates_and_powers", tape, (("x", 4),), (*values[-3:], products[-1]))
    shared = Routine("reset", tape, (("x", 4),), (x[0] * x[1] + x[2], x[1] * x[2] - x[3] * x[0]))
    fixed = SpecialisedRoutine("reset_1", shared, "x", (1, 0.3), (1,))
    cases = tuple(Routine(f"chosen_{k}", tape, (("x", 4),), (x[k] * x[2] + x[3],)) for k in range(2))
    chosen = Alternatives("chosen", "x", (0,), (2,), cases, cases[0])
    rows = np.random.default_rng(5).normal(size=(40, 4))
    names = ("rates", "rates_and_powers", "reset", "reset_1")
    assert_native([first, longer, shared, fixed], dict.fromkeys(names, rows), tmp_path)
    assert steps_in_machine_code([chosen]).keys() == {"chosen_0", "chosen_1"}
    alone, both = steps_in_machine_code([first])["rates"], steps_in_machine_code([first, longer])["rates"]
    assert sum(step[0] == op.MULTIPLY for step in both.steps) == sum(step[0] == op.MULTIPLY for step in alone.steps) + 1
    assert native_steps({"rates": first, "rates_and_powers": longer, "outputs": shared}).keys() == {"rates", "rates_and_powers"}
