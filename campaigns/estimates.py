"""Estimates from noisy data: `python -m campaigns.estimates --count 100 --seed 0`.

The data are runs with known parameters plus seeded noise. The 95 % confidence ellipsoid contains the true values for about 95 %
of the seeds; by chance, one campaign in a thousand has fewer than `least` such seeds.

A check without estimates shows whether a shortfall is due to chance: with the derivatives J = U S V^T of the clean run, divided
by sigma, the linear problem has the error |U^T noise|, whose square is chi-square distributed. With the same noise, an estimate
differs from the linear problem only by the curvature of the model.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta import DeltaParameters, DeltaRobot

from bondgraph import GY, J1, Compiled, Graph, I, R, Se, compile_model
from bondgraph.estimation import Experiment, estimate, run_sensitivities
from campaigns.processes import Progress, each
from examples.bouncing_ball import with_restitution


@dataclass(frozen=True)
class Study:
    """Model, its true parameter values with their search bounds, and its measurements with their noise.

    `data` maps names to (sample times, standard deviation); `parameters` are those of the experiment.
    """

    compiled: Compiled
    truth: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    data: Mapping[str, tuple[np.ndarray, float]]
    parameters: Mapping[str, Any]


def motor() -> Study:
    graph, armature, rotor = Graph("motor"), J1("armature", domain="electrical"), J1("rotor", domain="rotation")
    emf = GY("emf", 0.00954)
    graph.connect(Se("supply", 5.0), armature).connect(armature, R("winding", resistance=4.0)).connect(
        armature, I("coil", 1.5e-5)
    )
    graph.connect(armature, emf).connect(emf, rotor).connect(rotor, I("inertia", 1e-6)).connect(rotor, R("friction", 1e-6))
    t = np.linspace(0.0, 0.1, 51)[1:]
    truth = {"winding.resistance": 4.0, "emf.ratio": 0.00954, "inertia.inertia": 1e-6}
    return Study(compile_model(graph), truth, _around(truth), {"rotor.flow": (t, 2.0), "armature.flow": (t, 0.02)}, {})


def ball() -> Study:
    truth = {"weight.value": -9.81, "floor.restitution": 0.8, "floor.h": 1.0}
    bounds = {"weight.value": (-12.0, -8.0), "floor.restitution": (0.6, 0.95), "floor.h": (0.8, 1.2)}
    return Study(compile_model(with_restitution()), truth, bounds, {"floor.h": (np.linspace(0.0, 2.0, 81)[1:], 5e-3)}, {})


def delta() -> Study:
    truth = {"arm 1.mechanism.M1": 0.4, "arm 1.mechanism.M3": 0.1, "arm 1.damping.resistance": 0.04}
    compiled = compile_model(DeltaRobot(DeltaParameters.fit()).graph())
    data = {"y": (np.linspace(0.0, 0.6, 31)[1:], 2e-3)}
    return Study(compiled, truth, _around(truth), data, {"motor 1.torque": 1.0})


def _around(truth: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    return {name: (0.3 * value, 3.0 * value) for name, value in truth.items()}


STUDIES: Mapping[str, Callable[[], Study]] = {"motor": motor, "ball": ball, "delta": delta}


@functools.cache
def study(name: str) -> Study:
    return STUDIES[name]()


@functools.cache
def noise_free(name: str) -> Mapping[str, np.ndarray]:
    own = study(name)
    times = np.unique(np.concatenate([t for t, _ in own.data.values()]))
    result = own.compiled.simulate(times[-1], samples=times, parameters=own.parameters, progress=False)
    return {name: result[name][np.searchsorted(result.t, t)] for name, (t, _) in own.data.items()}


@functools.cache
def estimate_basis(name: str) -> np.ndarray:
    """Return an orthonormal basis (rows, parameters) of the noise, divided by sigma, that changes the linear estimate."""
    own, measured = study(name), noise_free(name)
    times = np.unique(np.concatenate([[0.0], *(t for t, _ in own.data.values())]))
    end, names = float(times[-1]), list(own.truth)
    run = run_sensitivities(own.compiled, names, end, samples=times, parameters=own.parameters, progress=False)
    rows = []
    for channel, (t, sigma) in own.data.items():
        slopes = run[channel][np.searchsorted(times, t)] / sigma
        rows.append(slopes.reshape(measured[channel].size, len(own.truth)) * np.array(list(own.truth.values())))
    return np.linalg.svd(np.concatenate(rows), full_matrices=False)[0]


@dataclass(frozen=True)
class Trial:
    """Result of a seed: the distances of the true values, in standard deviations, from the estimate and from the solution
    of the linear problem, and whether the 95 % confidence ellipsoid contains the true values."""

    distance: float
    linear: float
    holds: bool


def trial(case: tuple[str, int]) -> Trial:
    name, seed = case
    own, rng = study(name), np.random.default_rng(seed)
    noise = {channel: rng.normal(size=noise_free(name)[channel].shape) for channel in own.data}
    data = {channel: (t, noise_free(name)[channel] + s * noise[channel], s) for channel, (t, s) in own.data.items()}
    answer = estimate(own.compiled, own.bounds, Experiment(data, parameters=own.parameters), progress=False)
    linear = estimate_basis(name).T @ np.concatenate([rows.ravel() for rows in noise.values()])
    return Trial(answer.mahalanobis_distance(own.truth), float(np.linalg.norm(linear)), answer.in_confidence_region(own.truth))


def count_within(distances: np.ndarray) -> int:
    """Return how many distances, in standard deviations of three parameters, lie within the 95 % confidence region."""
    from scipy.stats import chi2

    return int(np.sum(distances**2 <= chi2.ppf(0.95, 3)))


def least(count: int) -> int:
    """Return the least number of successes that is not improbable: of series of `count` trials with probability 0.95, fewer than
    one in a thousand have fewer successes."""
    chances = np.cumsum([math.comb(count, k) * 0.95**k * 0.05 ** (count - k) for k in range(count + 1)])
    return int(np.searchsorted(chances, 1e-3))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--study", choices=list(STUDIES), action="append")
    given = parser.parse_args(arguments)
    status = 0
    for name in given.study or STUDIES:
        cases = [(name, given.seed + k) for k in range(given.count)]
        rows, watched = [], Progress(given.count, f"estimates of the {name}")
        for row in each(trial, cases, given.processes):
            rows.append(row)
            watched.add()
        held, far = sum(row.holds for row in rows), np.array([(row.distance, row.linear) for row in rows])
        bad = held < least(given.count)
        linear = f"{count_within(far[:, 1])} of the linear problem with the same noise"
        said = f"{held} of {given.count} ellipsoids contain the true values, {linear}"
        squares = " and ".join(f"{square:.2f}" for square in np.mean(far**2, axis=0))
        print(f"{name}: {said}; mean square distance {squares}, for 3 parameters{'; too few' if bad else ''}", flush=True)
        status |= bad
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
