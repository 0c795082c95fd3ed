"""Whole runs are bit-identical for every target processor, alone and in lanes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emit.test_fusions import processors

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.release
ROOT = Path(__file__).parents[2]
SCRIPT = """
import hashlib
import numpy as np
from benchmarks.delta import DeltaParameters, DeltaRobot
from benchmarks.graphs import GRAPHS
from bondgraph import compile_model

for name, model, end in (
    ("eggs that roll", compile_model(GRAPHS["s2a"]()), 0.2),
    ("eggs that collide", compile_model(GRAPHS["s1a"]()), 0.3),
    ("delta robot", DeltaRobot(DeltaParameters.fit(), form="lagrangian").compiled, 0.1),
):
    run = model.simulate(end, rtol=1e-8, progress=False)
    print(name, hashlib.sha256(np.ascontiguousarray(run.x).tobytes()).hexdigest()[:16])
"""


def test_runs_have_the_same_bits_on_all_processors():
    digests = {}
    for processor in processors():
        settings = {**os.environ, "SCREWBOND_PROCESSOR": processor, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-c", SCRIPT], env=settings, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.stdout.count("\n") == 3, done.stderr[-2000:]
        digests[processor] = done.stdout
    assert len(set(digests.values())) == 1, digests
