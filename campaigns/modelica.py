"""Models as Modelica: the random graphs of `random_graphs`, run by rumoca, and compared with the run here at grid times.

`python -m campaigns.modelica --count N --seed S` counts the graphs that agree, that are refused, by code, and that differ. A
graph whose run here ends early, or whose states grow beyond measure, is not compared. It exits with 1 if any differ.
"""

from __future__ import annotations

import argparse
import collections
import sys

import numpy as np

from bondgraph import ModelError, compile_model
from bondgraph.compile.compiled import Compiled
from bondgraph.export import modelica_source
from bondgraph.export.code.modelica.words import quoted
from bondgraph.output.extras import missing_package
from campaigns.random_graphs import drawn

SAMPLES = 51
T_END = 0.0973
"""End of the runs, s: no grid time is a tick or the instant of all events, where one side may show what was before."""
TOLERANCE = 1e-6
WALL_SECONDS = 60.0


def course(compiled: Compiled, t_end: float, samples: int = SAMPLES) -> np.ndarray:
    """States (samples, n) of a model as rumoca runs its Modelica source; rows that a tool adds at events are left out."""
    import rumoca

    source = modelica_source(compiled)
    errors = [str(each) for each in rumoca.validate_source(source.source) if "error" in str(each)]
    if errors:
        raise ValueError(errors[0])
    model = rumoca.Session().loads(source.source, model=source.name)
    config = rumoca.SimConfig(rtol=1e-9, atol=1e-12, max_wall_seconds=WALL_SECONDS)
    result = model.simulate(t=(0.0, t_end), dt=t_end / (samples - 1), config=config)
    times = np.asarray(result.time)
    grid = np.linspace(0.0, t_end, samples)
    rows = [int(np.argmin(np.abs(times - t))) for t in grid]
    assert np.allclose(times[rows], grid, atol=1e-9 * t_end), "the run ended early"
    layout, columns = compiled.program.layout, []
    for state in compiled.system.states:
        names = [quoted(state.name, index) for index in np.ndindex(*layout[state.name].shape)]
        columns += [np.asarray(result[name], dtype=float)[rows] for name in names]
    return np.stack(columns, axis=1) if columns else np.zeros((samples, 0))


def difference(compiled: Compiled, t_end: float, samples: int = SAMPLES) -> float:
    """Largest difference from the run here, relative to the size of each state along it; nan if that run ends early."""
    here = compiled.simulate(t_end, samples=np.linspace(0.0, t_end, samples), rtol=1e-10, progress=False)
    if len(here.t) < samples or not np.all(np.isfinite(here.x)) or np.any(np.abs(here.x) > 1e8):
        return float("nan")
    there = course(compiled, t_end, samples)
    sizes = np.maximum(np.abs(here.x).max(axis=0), 1e-6 * max(np.abs(here.x).max(initial=0.0), 1e-6))
    return float(np.max(np.abs(there - here.x) / sizes, initial=0.0))


def trial(seed: int, number: int) -> tuple[str, str]:
    """Verdict on one graph, and what is known of it."""
    try:
        compiled = compile_model(drawn(seed, number).graph, progress=False)
    except ModelError:
        return "no model", ""
    try:
        gap = difference(compiled, T_END)
    except ModelError as error:
        return f"refused, {error.problems[0].code}", ""
    except Exception as error:  # whatever the judge says
        return "failed", f"{type(error).__name__}: {str(error)[:300]}"
    if np.isnan(gap):
        return "not compared", ""
    return ("agrees", "") if gap <= TOLERANCE else ("differs", f"{gap:.1e}")


def main() -> int:
    """Judge the graphs and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if missing := missing_package("rumoca"):
        print(missing)
        return 0
    counts: collections.Counter[str] = collections.Counter()
    for number in range(asked.count):
        verdict, remark = trial(asked.seed, number)
        counts[verdict] += 1
        if remark:
            print(f"{number}: {verdict}, {remark}", flush=True)
    print(*(f"{count} {verdict}" for verdict, count in counts.most_common()), sep="\n")
    return int(counts["differs"] + counts["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
