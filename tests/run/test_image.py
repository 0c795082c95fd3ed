"""The image of a run holds no addresses: the same model and settings give the same image."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, R, Se, compile_model
from tests.inner.emit import compile_procedures, translate
from tests.inner.run import (
    Control,
    EventOutcome,
    FieldTable,
    Image,
    Status,
    StructureCache,
    Workspace,
    image_of,
    image_of_tables,
    pattern_in_buffer,
    provide_pattern_buffers,
    stop_unanswered,
)
from tests.run.test_together import cradle, start


def image(t_end: float, **settings) -> Image:
    graph, v = Graph("fall"), J1("v", domain="translation")
    graph.connect(Se("weight", -9.81), v).connect(v, I("ball", 1.0)).connect(v, R("air", 0.1))
    compiled = compile_model(graph.connect(v, C("floor", stiffness=1e4, initial=0.2)))
    run = compiled.prepare_run(t_end, progress=False, **settings)
    prepared, (x, p, m) = run.program, run.start_values()
    assert prepared.in_machine_code
    return image_of(Workspace(prepared.program, prepared.settings, prepared.choice, prepared.requested_times), p, x, m)


def test_an_image_is_a_function_of_the_model():
    """An image contains no address; in the image of a run twice as long, fewer than 20 words differ, each by the factor 2."""
    one, same, longer = image(1.0), image(1.0), image(2.0)
    for other in (same, longer):
        assert (one.places, one.calls) == (other.places, other.calls)
    assert np.array_equal(one.words, same.words)
    differ = np.flatnonzero(one.words != longer.words)
    assert 0 < len(differ) < 20
    np.testing.assert_array_equal(longer.words[differ].view(float), 2.0 * one.words[differ].view(float))
    pointing = [word for word, _ in (*one.places, *one.calls)]
    assert len(set(pointing)) == len(pointing) and not one.words[pointing].any()
    assert all(0 <= place < len(one.words) for _, place in one.places)


def test_segments_hold_all_that_is_not_zero():
    whole = image(1.0)
    rebuilt = np.zeros_like(whole.words)
    for first, words in whole.segments():
        rebuilt[first : first + len(words)] = words
    assert np.array_equal(rebuilt, whole.words)
    assert sum(len(words) for _, words in whole.segments()) < len(whole.words) / 2


def test_unknown_code_is_refused():
    table = FieldTable(Control)
    table.point("rates", 4096)
    with pytest.raises(ValueError, match=r"Control\.rates is the address of an unknown function"):
        image_of_tables({"weights": table}, {}, {})


def test_a_question_that_nobody_answers_ends_the_run():
    run = cradle(3).prepare_run(0.2, progress=False)
    x, p, m = run.start_values(initial=start(np.ones(3), np.eye(3)[0], [0.1, 0.0]))
    prepared = run.program
    space = Workspace(prepared.program, prepared.settings, prepared.choice, prepared.requested_times)
    alone = compile_procedures(translate([stop_unanswered], ["stop_unanswered"]))
    for name in ("compile_kernels", "enlarge_log", "collide"):
        space.handler.table.point(name, alone.address("stop_unanswered"))
    course = space.run(p, x, m, prepared.requested_times[0])
    assert (course.status, space.handler.table["outcome"]) == (Status.EVENT_ENDS, EventOutcome.STOPPED)


@pytest.mark.parametrize("seed", range(4))
def test_preallocated_patterns_equal_those_of_python(seed):
    random, n = np.random.default_rng(seed), 7
    indptr = np.concatenate([[0], np.cumsum(random.integers(0, n + 1, n))])
    indices = np.concatenate([np.sort(random.permutation(n)[:k]) for k in np.diff(indptr)])
    structures = StructureCache(indptr, indices)
    table = FieldTable(Control)
    entries = len(indices)
    table.allocate(n=n, quadratures=0, storages=0, modes=0, parameters=0, entry_count=entries, number_count=0)
    table["n"], table["entry_count"] = n, entries
    for name in ("rows", "columns"):
        table.point(f"entry_{name}", np.ascontiguousarray(getattr(structures, name), dtype=np.int64))
    provide_pattern_buffers(table)
    for oldest in (1, 2, 0, 1):
        flags = random.integers(0, 2, entries)
        table.arrays["nonzero_flags"][:] = flags
        table["oldest"] = oldest
        pattern = pattern_in_buffer(table.view())
        structure, on_diagonal, off_diagonal = structures.structure(flags == 1)
        assert np.array_equal(pattern.nonzero_flags, flags)
        assert np.array_equal(pattern.on_diagonal[: pattern.diagonal_count], on_diagonal)
        assert np.array_equal(pattern.diagonal_rows[: pattern.diagonal_count], structures.rows[on_diagonal])
        assert np.array_equal(pattern.off_diagonal[: pattern.off_diagonal_count], off_diagonal)
        lengths = {"inner": pattern.structure.inners, "drivers": len(off_diagonal), "ear_from": pattern.structure.ears}
        lengths |= {"rows": len(off_diagonal), "columns": len(off_diagonal), "ear_at": pattern.structure.ears + 1}
        lengths |= dict.fromkeys(("ear_couplings", "ear_states"), len(structure.ear_states))
        for name, expected in vars(structure).items():
            if isinstance(expected, np.ndarray):
                made = getattr(pattern.structure, name)
                assert np.array_equal(made[: lengths.get(name, len(expected))], expected), name
