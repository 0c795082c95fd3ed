"""Compare the exported CasADi and JAX functions with the kernels, in values and derivatives, and a diffrax run with `simulate`.

`python -m campaigns.functions [MODEL ...]` prints, for ten models, the largest relative differences at 100 points: of the rates,
of CasADi's Jacobian from finite differences of the kernels, and of JAX's forward and reverse derivatives from CasADi's. Then it
compares a diffrax run, and its gradient with respect to a parameter, with `simulate` and finite differences. The exit
status is 1 if a bound is exceeded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

import numpy as np

from bondgraph import compile_model
from bondgraph.compile.compiled import Compiled
from bondgraph.export import to_casadi, to_jax
from bondgraph.output.extras import missing_package
from campaigns.exports import MODELS

NAMES = ("oscillator", "van der Pol", "ball on a constraint", "servo", "bridge", "Newton loop", "stiff", "eggs", "delta", "maze")
VALUES, SLOPES, RUN, GRADIENT = 1e-14, 1e-8, 1e-9, 1e-6
"""Bounds of the relative differences."""


def differences(compiled: Compiled, points: int, seed: int = 0) -> dict[str, float]:
    """Return the largest differences at points near the start, relative to the size of all rates or slopes at each point: of the
    rates by CasADi ("values") and JAX ("callback", "xla"), of CasADi's Jacobian ("slopes"), and of JAX's Jacobian in forward and
    reverse mode."""
    import jax

    jax.config.update("jax_enable_x64", True)
    (x, m), p, kernels = compiled.initial(), compiled.parameters(), compiled.program
    function = to_casadi(compiled)
    own = p[: function.size1_in("p")]
    jacobian = function.factory("slopes", function.name_in(), [f"jac:rates:{block}" for block in "txp"])
    called, written = to_jax(compiled), to_jax(compiled, lower="xla")
    mappings = [jax.jit(differentiate(called, (0, 1, 2))) for differentiate in (jax.jacfwd, jax.jacrev)]
    rng, worst = np.random.default_rng(seed), dict.fromkeys(("values", "callback", "xla", "slopes", "forwards", "backwards"), 0.0)

    def note(name: str, there: np.ndarray, here: np.ndarray) -> None:
        size = np.max(np.abs(here), initial=0.0)
        worst[name] = max(worst[name], float(np.max(np.abs(there - here), initial=0.0) / (size or 1.0)))

    written = jax.jit(written)
    for _ in range(points):
        t, y = float(rng.random()), x + 1e-2 * (0.1 + np.abs(x)) * rng.standard_normal(len(x))
        rates = kernels.rates(t, y, p, m)
        note("values", np.asarray(function(t, y, own, m)).ravel(), rates)
        note("callback", np.asarray(called(t, y, own, m)), rates)
        note("xla", np.asarray(written(t, y, own, m)), rates)
        by_casadi = np.hstack([np.asarray(part) for part in jacobian(t, y, own, m)])
        for name, mapping in zip(("forwards", "backwards"), mappings, strict=True):
            note(name, np.hstack([np.asarray(part).reshape(len(x), -1) for part in mapping(t, y, own, m)]), by_casadi)
        step = 1e-6 * (0.1 + np.abs(y))
        central = [(kernels.rates(t, y + h, p, m) - kernels.rates(t, y - h, p, m)) / (2.0 * h.sum()) for h in np.diag(step)]
        note("slopes", np.asarray(by_casadi[:, 1 : 1 + len(x)]), np.stack(central, axis=1))
    return worst


def with_diffrax(compiled: Compiled, t_end: float, changed: Mapping[str, float]) -> tuple[float, float]:
    """Return two relative errors of a diffrax run: of the final state compared with `simulate`, and of the derivative of the
    first state with respect to a parameter compared with a finite difference of native runs."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    (x, m), p, rates = compiled.initial(), compiled.parameters(), to_jax(compiled)

    def end(p: jax.Array) -> jax.Array:
        term = diffrax.ODETerm(lambda t, y, p: rates(t, y, p, m))
        control = diffrax.PIDController(rtol=1e-11, atol=1e-13)
        solver = diffrax.Dopri8()
        return diffrax.diffeqsolve(term, solver, 0.0, t_end, 1e-3, jnp.asarray(x), args=p, stepsize_controller=control).ys[-1]

    there = np.asarray(end(jnp.asarray(p)))

    def ending(parameters: Mapping[str, float]) -> np.ndarray:
        return compiled.simulate(t_end, rtol=1e-12, parameters=parameters, progress=False).x[-1]

    here = ending({})
    gradient = np.asarray(jax.grad(lambda p: end(p)[0])(jnp.asarray(p)))
    ((name, h),) = changed.items()
    value = p[place := compiled.program.layout[name].start]
    slope = (ending({name: value + h})[0] - ending({name: value - h})[0]) / (2.0 * h)
    return float(np.max(np.abs(there - here)) / np.max(np.abs(here))), float(abs(gradient[place] - slope) / abs(slope))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", choices=[[], *NAMES], help="all by default")
    parser.add_argument("--points", type=int, default=100)
    asked = parser.parse_args()
    if missing := missing_package("casadi", "jax", "diffrax"):
        print(missing)
        return 0
    bounds = {"values": VALUES, "callback": VALUES, "xla": VALUES, "slopes": SLOPES, "forwards": SLOPES, "backwards": SLOPES}
    beyond = 0
    print("| model |", " | ".join(bounds), "|")
    print("|---" * (1 + len(bounds)) + "|")
    for name in asked.models or NAMES:
        worst = differences(compile_model(MODELS[name].make(), progress=False), asked.points)
        beyond += sum(worst[word] > bound for word, bound in bounds.items())
        print(f"| {name} |", " | ".join(f"{worst[word]:.1e}" for word in bounds), "|", flush=True)
    gap, slope = with_diffrax(compile_model(MODELS["van der Pol"][0](), progress=False), 5.0, {"c.stiffness": 1e-5})
    print(f"diffrax: end {gap:.1e}, gradient {slope:.1e}")
    return int(beyond > 0 or gap > RUN or slope > GRADIENT)


if __name__ == "__main__":
    sys.exit(main())
