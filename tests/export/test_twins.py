"""Source code of a model in other languages gives what machine code gives here, in every mode, at impacts and ticks too."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from bondgraph.emit.kernel import address_of
from bondgraph.export import c_source
from tests.export.twin_models import MODELS, assert_same, case

GCC = shutil.which("gcc")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All models in one library."""
    if GCC is None:
        pytest.skip("no gcc to compile the C source with")
    folder = tmp_path_factory.mktemp("c")
    paths = [c_source(case(model).compiled, model.replace(" ", "_")).write(folder)[1] for model in MODELS]
    flags = ["-std=c99", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    built = folder / "twins.so"
    done = subprocess.run([GCC, *flags, *map(str, paths), "-lm", "-o", str(built)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(built))


@pytest.mark.parametrize("model", MODELS)
def test_c(model: str, library: ctypes.CDLL) -> None:
    this, n = case(model), model.replace(" ", "_")
    p = np.concatenate([this.own, np.full(len(this.p) - len(this.own), np.nan)])
    getattr(library, f"{n}_prepare")(ctypes.c_void_p(address_of(p)))
    assert_same(p, this.p, "prepare")
    for word, number, kernel in this.kernels():
        wanted = this.wanted(kernel)
        found = np.full_like(wanted, 7.0)
        function = getattr(library, f"{n}_{word}_{number}" if word == "loop" else f"{n}_{word}")
        first = [] if number is None or word == "loop" else [ctypes.c_int(number)]
        for t, x, m, out in zip(this.t, this.x, this.m, found, strict=True):
            function(*first, ctypes.c_double(t), *(ctypes.c_void_p(address_of(block)) for block in (x, p, m, out)))
        assert_same(found, wanted, f"{word} {number}", this.beside(word))
