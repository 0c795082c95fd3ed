"""Source code of a model in other languages agrees with machine code in every mode, at impacts and at ticks."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bondgraph.export import SymPyModel, SymPyRoutine, c_source, matlab_source, numpy_source
from tests.export.twin_models import MODELS, Case, assert_same, case, expressions_of
from tests.inner.compile import consistent, point_of
from tests.inner.emit import address_of
from tests.inner.output import labels_of
from tests.inner.run import Bound

GCC = shutil.which("gcc")
OCTAVE = shutil.which("octave-cli") or shutil.which("octave")


LARGEST = "hand"
WITH_LARGEST = [pytest.param(model, marks=pytest.mark.thorough) if model == LARGEST else model for model in MODELS]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ctypes.CDLL]:
    if GCC is None:
        pytest.skip("gcc is not installed: the C source cannot be compiled")
    others = tuple(model for model in MODELS if model != LARGEST)
    build = functools.cache(lambda models: shared_library(models, tmp_path_factory.mktemp("c")))
    return lambda model: build((LARGEST,) if model == LARGEST else others)


def shared_library(models: tuple[str, ...], folder: Path) -> ctypes.CDLL:
    paths = [c_source(case(model).compiled, model.replace(" ", "_")).write(folder)[1] for model in models]
    flags = ["-std=c99", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    built = folder / "twins.so"
    done = subprocess.run([str(GCC), *flags, *map(str, paths), "-lm", "-o", str(built)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(built))


@pytest.mark.parametrize("model", WITH_LARGEST)
def test_c(model: str, library: Callable[[str], ctypes.CDLL]) -> None:
    this, n, built = case(model), model.replace(" ", "_"), library(model)
    p = np.concatenate([this.own, np.full(len(this.p) - len(this.own), np.nan)])
    getattr(built, f"{n}_prepare")(ctypes.c_void_p(address_of(p)))
    assert_same(p, this.p, "prepare")
    for word, number, kernel in this.kernels():
        wanted = this.wanted(kernel)
        found = np.full_like(wanted, 7.0)
        function = getattr(built, f"{n}_{word}_{number}" if word == "loop" else f"{n}_{word}")
        first = [] if number is None or word == "loop" else [ctypes.c_int(number)]
        for t, x, m, out in zip(this.t, this.x, this.m, found, strict=True):
            function(*first, ctypes.c_double(t), *(ctypes.c_void_p(address_of(block)) for block in (x, p, m, out)))
        assert_same(found, wanted, f"{word} {number}", this.beside(word))


@pytest.fixture(scope="module")
def module_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ModuleType]:
    folder = tmp_path_factory.mktemp("numpy")

    def load(model: str) -> ModuleType:
        path = numpy_source(case(model).compiled).write(folder)
        specification: Any = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module

    return functools.cache(load)


@pytest.mark.parametrize("model", WITH_LARGEST)
def test_numpy(model: str, module_of: Callable[[str], ModuleType]) -> None:
    this, module = case(model), module_of(model)
    assert_same(module.prepare(this.own), this.p, "prepare")
    start = consistent(this.compiled, point_of(this.compiled))
    for letter in "xpm":
        np.testing.assert_array_equal(getattr(module, f"{letter}0"), getattr(start, letter))
    for word, number, kernel in this.kernels():
        wanted, first = this.wanted(kernel), [] if number is None else [number]
        function = getattr(module, word)
        many = function(*first, this.t, this.x, this.p, this.m)
        one = function(*first, this.t[0], this.x[0].tolist(), this.p, this.m[0])
        for found, expected in ((many, wanted), (one, wanted[0])):
            found = np.concatenate(found, axis=-1) if word == "push" else found
            assert_same(found, expected, f"{word} {number}", this.beside(word) if found.ndim == 2 else None)


OCTAVE_SCRIPT = """
function numbers = taken(folder, file, rows)
    handle = fopen(fullfile(folder, file), 'rb');
    numbers = fread(handle, [rows, Inf], 'double');
    fclose(handle);
end
function given(folder, file, numbers)
    handle = fopen(fullfile(folder, file), 'wb');
    fwrite(handle, numbers, 'double');
    fclose(handle);
end
function compared(folder, model, states, modes, own, jobs)
    t = taken(folder, [model '.t'], 1);
    x = taken(folder, [model '.x'], states);
    m = taken(folder, [model '.m'], max(modes, 1));
    p = feval([model '.prepare'], taken(folder, [model '.p'], own));
    given(folder, [model '.prepare'], p);
    for j = 1:rows(jobs)
        for i = 1:columns(t)
            if isnan(jobs{j, 2})
                out(:, i) = feval([model '.' jobs{j, 1}], t(i), x(:, i), p, m(:, i));
            else
                out(:, i) = feval([model '.' jobs{j, 1}], jobs{j, 2}, t(i), x(:, i), p, m(:, i));
            end
        end
        given(folder, sprintf('%s.%d', model, j), out);
        clear out
    end
    for i = 1:columns(t)
        out(:, i) = full(feval([model '.jacobian'], t(i), x(:, i), p, m(:, i)))(:);
    end
    given(folder, [model '.jacobian'], out);
end
"""


@pytest.fixture(scope="module")
def octave(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if OCTAVE is None:
        pytest.skip("Octave is not installed: the MATLAB source cannot run")
    folder = tmp_path_factory.mktemp("matlab")
    lines = [OCTAVE_SCRIPT]
    for model in MODELS:
        this, n = case(model), model.replace(" ", "_")
        matlab_source(this.compiled, n).write(folder)
        modes = this.m.shape[1]
        blocks = {"t": this.t, "x": this.x, "m": this.m if modes else np.zeros(len(this.t)), "p": this.own}
        for letter, numbers in blocks.items():
            (folder / f"{n}.{letter}").write_bytes(np.ascontiguousarray(numbers).tobytes())
        jobs = [f"'{'resets' if word == 'reset' else word}', {'NaN' if k is None else k + 1}" for word, k, _ in this.kernels()]
        lines.append(f"compared('{folder}', '{n}', {this.x.shape[1]}, {modes}, {len(this.own)}, {{{'; '.join(jobs)}}});")
    (folder / "twins_script.m").write_text("1;\n" + "\n".join([*lines, "disp('done')\n"]))
    done = subprocess.run([OCTAVE, "--no-init-file", "-q", "twins_script.m"], cwd=folder, capture_output=True, text=True)
    assert done.stdout == "done\n" and "warning" not in done.stderr, done.stderr[:2000]
    return folder


@pytest.mark.parametrize("model", MODELS)
def test_matlab(model: str, octave: Path) -> None:
    this, n = case(model), model.replace(" ", "_")
    assert_same(np.fromfile(octave / f"{n}.prepare"), this.p, "prepare")
    for j, (word, number, kernel) in enumerate(this.kernels(), start=1):
        wanted = this.wanted(kernel)
        found = np.fromfile(octave / f"{n}.{j}").reshape(len(this.t), -1)
        assert_same(found, wanted, f"{word} {number}", this.beside(word))


@pytest.mark.parametrize("model", WITH_LARGEST)
def test_sympy(model: str) -> None:
    this = case(model)
    found = expressions_of(model)
    names = dict(zip((found.names[symbol] for symbol in (*found.u, *found.p)), np.concatenate(found.start[1:3]), strict=True))
    assert_same(np.array([names[label] for label in labels(this)]), this.own, "parameters")
    routines: dict[tuple[str, int | None], SymPyRoutine] = {("rates", None): found.rates, ("outputs", None): found.outputs}
    routines[("guards", None)] = found.guards
    for word, numbered in numbered_routines(found):
        routines |= {(word, k): routine for k, routine in numbered.items()}
    kernels = {(word, k): kernel for word, k, kernel in this.kernels() if word not in ("powers", "energies")}
    assert set(routines) == set(kernels)
    for (word, k), kernel in kernels.items():
        function = routines[word, k].function()
        with np.errstate(all="ignore"):
            got = [function(t, x, *found.start[1:3], m) for t, x, m in zip(this.t, this.x, this.m, strict=True)]
        assert_same(np.array(got, dtype=float).reshape(len(this.t), -1), this.wanted(kernel), f"{word} {k}", this.beside(word))


def numbered_routines(found: SymPyModel) -> list[tuple[str, Mapping[int, SymPyRoutine]]]:
    ticks, loops = dict(enumerate(found.ticks)), {k: routine for k, (routine, _) in enumerate(found.loops)}
    return [("reset", found.resets), ("push", found.pushes), ("tick", ticks), ("loop", loops)]


def labels(this: Case) -> list[str]:
    given = this.compiled.system.parameters.items()
    return [label for name, value in given for label in labels_of(name, np.shape(value))]


SMALL = [model for model in MODELS if model not in ("eggs", "delta", "hand")]


def dense(this: Case) -> np.ndarray:
    bound = Bound(this.compiled.program, this.p)
    return np.array([bound.jacobian(t, x, m).ravel() for t, x, m in zip(this.t, this.x, this.m, strict=True)])


@pytest.mark.parametrize("model", SMALL)
def test_jacobians_are_matrices(model: str, module_of: Callable[[str], ModuleType]) -> None:
    this = case(model)
    points, states = this.x.shape
    found = module_of(model).jacobian(this.t, this.x, this.p, this.m)
    assert found.shape == (points, states, states)
    assert_same(found.reshape(points, -1), dense(this), "NumPy")


@pytest.mark.parametrize("model", SMALL)
def test_jacobians_of_matlab_are_matrices(model: str, octave: Path) -> None:
    this, n = case(model), model.replace(" ", "_")
    points, states = this.x.shape
    by_columns = np.fromfile(octave / f"{n}.jacobian").reshape(points, states, states)
    assert_same(by_columns.transpose(0, 2, 1).reshape(points, -1), dense(this), "MATLAB")
