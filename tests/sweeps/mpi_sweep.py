"""Script for `mpiexec -n 3 python -m mpi4py.futures tests/sweeps/mpi_sweep.py STORE`, in which two workers fill a store."""

from __future__ import annotations

import sys

from bondgraph.sweeps import last, normal, peak, sweep
from tests.inner.sweeps import workers_of
from tests.sweeps.oscillators import extremes, oscillator

DRAWN = {"spring.stiffness": normal(50.0, 10.0), "damper.resistance": normal(3.0, 2.0)}
KEPT = {"q": last("spring.q"), "top": peak("spring.q"), "ends": extremes, "course": "spring.q"}


def run(store, executor=None):
    return sweep(
        oscillator(), DRAWN, 1.0, keep=KEPT, runs=40, seed=2, samples=0.25, store=store, executor=executor, progress=False
    )


if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as pool:
        print(run(sys.argv[1], pool), "by", workers_of(pool), "workers")
