"""The check of exported runs, and the page that it writes."""

import numpy as np
import pytest

from campaigns import exports
from campaigns.exports import COLUMNS, FACTS, MODELS, PAGE, cells, gap, page_text, rows_of, short, verdict

HERE = np.array([[1.0, np.nan, 0.0], [-4.0, 2.0, 0.0]])


@pytest.mark.parametrize(
    ("there", "size"),
    [
        (HERE.copy(), 0.0),
        (np.array([[1.0, -np.nan, 0.0], [-4.0, 2.0, 0.0]]), 0.0),
        (np.array([[1.0 + 4e-9, np.nan, 0.0], [-4.0, 2.0, 0.0]]), pytest.approx(1e-9)),
        (np.array([[1.0, np.nan, -0.0], [-4.0, 2.0, 0.0]]), 5e-324),
        (np.array([[1.0, 3.0, 0.0], [-4.0, 2.0, 0.0]]), np.inf),
        (HERE[:1], np.inf),
    ],
)
def test_a_gap_is_zero_for_the_same_bits_alone(there, size):
    assert gap(HERE, there) == size


def test_a_verdict_names_the_difference():
    assert verdict({"steps": (3, 3)}, {"states": (HERE, HERE)}) == "same"
    said = verdict({"steps": (3, 4)}, {"states": (HERE, HERE), "outputs": (np.ones((2, 1)), np.full((2, 1), 1.5))})
    assert said == "differs: steps 4, not 3, outputs by 5e-01"


def test_the_page_has_models_of_today_and_comes_back():
    page = PAGE.read_text(encoding="utf-8")
    rows = rows_of(page)
    assert list(rows) == [name for name in MODELS if name in rows]
    assert page_text(rows) == page
    assert not {cell for row in rows.values() for cell in row.values() if cell.startswith(("differs", "fails"))}
    assert short("E281: the run cannot be exported: why") == "E281"
    for row in (dict.fromkeys((*FACTS, *COLUMNS), "same"), {**dict.fromkeys((*FACTS, *COLUMNS), "same"), "wasm": "E281"}):
        assert rows_of(page_text({"servo": row})) == {"servo": row}


@pytest.mark.skipif(not hasattr(exports.os, "fork"), reason="processes cannot be forked here")
def test_a_model_that_takes_too_long_or_dies_fails(monkeypatch):
    def slow(name, columns, compiler, runner, tell):
        tell("gcc", "same")
        exports.signal.pause()

    def dying(name, columns, compiler, runner, tell):
        exports.os._exit(3)

    monkeypatch.setattr(exports, "compare_model", slow)
    assert cells("bridge", ["gcc", "wasm"], "gcc", "", seconds=0.2) == {"gcc": "same", "wasm": "fails: no result in 0.2 s"}
    monkeypatch.setattr(exports, "compare_model", dying)
    assert cells("bridge", ["gcc"], "gcc", "")["gcc"] == "fails: the process ended with exit code 3"
