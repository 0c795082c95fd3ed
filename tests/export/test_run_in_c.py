"""A run exported as one C file takes the same steps as the native run."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J0, J1, TF, Automaton, C, Constraint, Diode, Graph, I, ModelError, R, Se, Transition, compile_model, signals
from bondgraph.export import CRun, c_run
from screws.scalars import sin
from tests.inner.compile import Compiled
from tests.inner.run import EventOutcome
from tests.run.test_singular_positions import crank

GCC = shutil.which("gcc")
needs_compiler = pytest.mark.skipif(GCC is None, reason="gcc is not installed: the C source cannot be compiled")
STRICT = ["-std=c99", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]

MAIN = """
#include "toy.h"
#include <stdio.h>

static toy_memory memory;
static double events[100 * TOY_EVENT_WIDTH], outputs[TOY_OUTPUTS + 1];

static void show(int status, int room)
{
    printf("%d %d %d %d %.17g\\n", status, memory.steps, memory.events, memory.samples, memory.end);
    for (int k = 0; k < memory.samples; k++) {
        printf("%.17g ", toy_times[k]);
        for (int i = 0; i < TOY_WIDTH; i++)
            printf("%.17g ", memory.rows[k][i]);
        printf("\\n");
    }
    for (int k = 0; k < memory.events && k < room; k++)
        printf("%.17g ", events[k * TOY_EVENT_WIDTH + TOY_EVENT_TIME]);
    printf("\\n");
}

int main(void)
{
    toy_begin(&memory);
    show(toy_run(&memory, events, 100), 100);
    toy_outputs(&memory, TOY_SAMPLES - 1, outputs);
    printf("%.17g\\n", outputs[SHOWN]);
    printf("%d %d %d\\n", toy_set(&memory, CHANGED, 1.5), toy_set(&memory, TOY_PARAMETERS, 1.0), toy_set(&memory, FIXED, 1.0));
    show(toy_run(&memory, NULL, 0), 0);
    toy_begin(&memory);
    show(toy_run(&memory, events, 2), 2);
    return 0;
}
"""


def juggler() -> Graph:
    graph, velocity = Graph("toy"), J1("velocity", domain="translation")
    graph.add(signals.hold("held", "ball.p", period=0.05))
    graph.connect(Se("pull", lambda t, p: -9.81 + 0.3 * sin(5.0 * t) - 0.1 * p, signals=["time", "held.y"]), velocity)
    graph.connect(velocity, I("ball", inertia=1.0)).connect(velocity, R("air", resistance=0.1))
    hit = Transition("free", "free", lambda h: -h, ("floor.h",), kind="hit", impact=("floor",), accumulates="rest")
    off = Transition("rest", "free", lambda f: -f, ("floor.multiplier",), kind="off")
    graph.add_automaton(Automaton("contact", ("free", "rest"), "free", (hit, off)))
    return graph.connect(velocity, Constraint("floor", initial=0.5, automaton="contact", active=["rest"], restitution=0.6))


def stiff() -> Graph:
    graph, velocity = Graph("toy"), J1("velocity")
    graph.connect(velocity, I("mass", inertia=1.0, initial=1.0)).connect(velocity, C("spring", stiffness=1e3, initial=1.0))
    return graph.connect(velocity, R("damper", resistance=1e4))


def shown(run: CRun, folder: Path, **constants: str) -> list[str]:
    run.write(folder)
    (folder / "main.c").write_text(MAIN)
    defined = [f"-D{name}={value}" for name, value in constants.items()]
    command = ["gcc", *STRICT, *defined, "toy.c", "main.c", "-lm", "-o", "toy"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "toy"], capture_output=True, text=True, check=True).stdout.splitlines()


@functools.cache
def exported(model: Callable[[], Graph]) -> tuple[Compiled, CRun, float, dict[str, float]]:
    compiled, t_end = compile_model(model()), 3.0 if model is juggler else 50.0
    settings = {"samples": 0.1, "rtol": 1e-6, "t_start": 2.0} if model is juggler else {"samples": 5.0, "rtol": 1e-8}
    return compiled, c_run(compiled, t_end, name="toy", **settings), t_end, settings


CASES = [
    (juggler, "dop853", "ball.inertia", "air.flow", "TOY_P_HELD_PERIOD"),
    pytest.param(stiff, "rodas5p", "damper.resistance", "spring.effort", "-1", marks=pytest.mark.thorough),
]


@needs_compiler
@pytest.mark.parametrize(("model", "method", "changed", "output", "fixed"), CASES)
def test_a_c_file_is_the_run(model, method, changed, output, fixed, tmp_path):
    compiled, run, t_end, settings = exported(model)
    assert run.method == method
    parameter, index = (f"TOY_{letter}_{name.replace('.', '_').upper()}" for letter, name in (("P", changed), ("Y", output)))
    lines = iter(shown(run, tmp_path, CHANGED=parameter, FIXED=fixed, SHOWN=index))

    def agrees(parameters, room):
        here = compiled.simulate(t_end, parameters=parameters, method=method, **settings)
        status, steps, events, samples, end = next(lines).split()
        assert (int(status), int(events), int(samples), float(end)) == (0, len(here.events), len(here.t), here.since[-1])
        assert int(steps) == here.statistics.steps
        rows = np.array([[float(number) for number in next(lines).split()] for _ in here.t])
        expected = np.hstack([here.t[:, None], here.x, here.integrals])
        np.testing.assert_array_equal(rows, expected)
        times = [float(time) for time in next(lines).split()]
        np.testing.assert_array_equal(times, here.events.times[:room])
        return here

    here = agrees({}, 100)
    assert model is stiff or len(here.events) == 3
    assert float(next(lines)) == here[output][-1]
    assert next(lines).split() == ["1", "0", "0"]
    agrees({changed: 1.5}, 0)
    agrees({}, 2)


def test_names_have_the_prefix_and_data_is_constant():
    lines = exported(juggler)[1].text.splitlines()
    outer = [line for line in lines if re.match(r"[a-z]\w* ", line)]
    assert not [line for line in outer if not re.search(r"[ *]toy_\w+[\[(]", line.partition(")")[0])]
    assert not [line for line in outer if "=" in line and "const" not in line]
    seen = {name for line in outer if not line.startswith("static ") for name in re.findall(r"toy_\w+(?=[\[(])", line)}
    assert seen == {"toy_begin", "toy_set", "toy_run", "toy_outputs", "toy_times"}


def cradle(speed: float) -> Graph:
    """Return three bodies whose two gaps close at the same time, t = 0.25 / speed, unless a push closes one gap earlier."""
    graph, velocity = Graph("cradle"), [J1(f"v{k}", domain="translation") for k in range(3)]
    graph.connect(Se("push", 0.0), velocity[0])
    for k, node in enumerate(velocity):
        graph.connect(node, I(f"m{k}", 1.0, initial=(speed, 0.0, -speed)[k]))
    for i in range(2):
        gap = J0(f"gap{i}", domain="translation")
        for k, sign in ((i, -1.0), (i + 1, 1.0)):
            arm = TF(f"arm{i}{k}", sign)
            graph.connect(velocity[k], arm).connect(arm, gap)
        graph.connect(gap, Constraint(f"c{i}", initial=0.25, automaton=f"a{i}", active=["rest"], restitution=0.5))
        hit = Transition("free", "free", lambda h: -h, (f"c{i}.h",), kind="hit", impact=(f"c{i}",), accumulates="rest")
        off = Transition("rest", "free", lambda f: -f, (f"c{i}.multiplier",), kind="off")
        graph.add_automaton(Automaton(f"a{i}", ("free", "rest"), "free", (hit, off)))
    return graph


def test_collisions_at_the_same_time_are_refused():
    compiled = compile_model(cradle(1.0))
    with pytest.raises(ModelError, match=r'E281[\s\S]*"a0"[\s\S]*impacts="sequential"'):
        c_run(compiled, 0.3)
    assert c_run(compiled, 0.3, impacts="sequential").steps


def test_a_run_that_passes_or_ends_in_a_singular_position_is_refused():
    """Machine code alone would reach the end on another branch, so the advice is to end the run before the first dead centre."""
    with pytest.raises(ModelError, match=r'E281[\s\S]*singular="keep"'):
        c_run(crank(), 3.0, singular="keep")
    with pytest.raises(ModelError, match=r"E281[\s\S]*ends at t = [\s\S]*t_end before the singular position"):
        c_run(crank(), 3.0)
    steps = crank().simulate(0.2, singular="keep").statistics.steps
    assert c_run(crank(), 0.2, singular="keep").steps == steps


ENDS = """
#include "toy.h"
#include <stdio.h>

static toy_memory memory;

int main(void)
{
    toy_begin(&memory);
    printf("%d %d %d\\n", toy_run(&memory, NULL, 0) == TOY_DONE, memory.outcome, memory.transition);
    toy_set(&memory, TOY_P_PUSH_VALUE, 10.0);
    const int status = toy_run(&memory, NULL, 0);
    printf("%d %d %d\\n", status == TOY_STOPPED, memory.outcome == TOY_OUTCOME_STOPPED, memory.transition);
    return 0;
}
"""


@needs_compiler
@pytest.mark.thorough
def test_a_run_that_needs_python_stops_and_says_so(tmp_path):
    compiled = compile_model(cradle(0.5))
    c_run(compiled, 0.4, name="toy").write(tmp_path)
    (tmp_path / "main.c").write_text(ENDS)
    subprocess.run(["gcc", *STRICT, "toy.c", "main.c", "-lm", "-o", "toy"], cwd=tmp_path, check=True)
    lines = subprocess.run([tmp_path / "toy"], capture_output=True, text=True, check=True).stdout.splitlines()
    (event,) = compiled.simulate(0.4, parameters={"push.value": 10.0}).events[:1]
    transitions = [(edge.name, edge.kind) for edge in compiled.program.transitions]
    assert lines == ["1 0 -1", f"1 1 {transitions.index((event.name, event.kind))}"]


def test_the_header_has_each_reason_why_an_event_ends_a_run():
    listed = dict(re.findall(r"TOY_OUTCOME_(\w+) = (\d+)", exported(juggler)[1].header))
    assert listed == {outcome.name: str(int(outcome)) for outcome in EventOutcome if outcome != EventOutcome.CONSISTENT}


def test_ticks_that_solve_loops_are_refused():
    graph, v = Graph("loop"), J1("v")
    graph.add(signals.hold("held", "c.q", period=0.1))
    graph.connect(Se("source", lambda u: 1.0 - u, signals=["held.y"]), v).connect(v, R("r", 1.0))
    graph.connect(v, R("d", effort=lambda i: i + i**3)).connect(v, C("c", capacitance=0.3))
    with pytest.raises(ModelError, match=r'E281[\s\S]*"held"[\s\S]*the nonlinear loop of'):
        c_run(graph, 1.0)


@needs_compiler
def test_a_model_without_states_has_all_its_functions(tmp_path):
    graph, ring = Graph("toy"), J1("ring", domain="electrical")
    graph.connect(Se("source", lambda t: sin(t), signals=["time"]), ring).connect(ring, Diode("diode"))
    run = c_run(graph.connect(ring, R("load", 1.0)), 5.0)
    run.write(tmp_path)
    subprocess.run(["gcc", *STRICT, "-fsyntax-only", "toy.c"], cwd=tmp_path, check=True)


@needs_compiler
@pytest.mark.thorough
def test_the_program_of_the_page_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "code.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```c\n(.*?)```", page, flags=re.DOTALL)
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", inertia=2.0))
    graph.connect(v, C("spring", stiffness=50.0)).connect(v, R("damper", resistance=5.0))
    compiled, settings = compile_model(graph), {"samples": 0.5, "rtol": 1e-8}
    c_run(compiled, 5.0, name="swing", **settings).write(tmp_path)
    (tmp_path / "main.c").write_text(program)
    subprocess.run(["gcc", *STRICT, "swing.c", "main.c", "-lm", "-o", "swing"], cwd=tmp_path, check=True)
    *rows, last = subprocess.run([tmp_path / "swing"], capture_output=True, text=True, check=True).stdout.splitlines()
    expected = compiled.simulate(5.0, **settings)["spring.q"]
    np.testing.assert_array_equal([float(row.split()[2]) for row in rows], expected)
    stiffer = compiled.simulate(5.0, parameters={"spring.stiffness": 80.0}, **settings)
    assert float(last.split()[2]) == stiffer["spring.q"][-1]
