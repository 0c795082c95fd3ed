"""Large models need few Python calls per part, and give the same results whether or not parts are identical."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.front_end import calls_per_part, plate, uneven
from bondgraph import Graph, compile_model, errors
from tests.inner.output import LazyRow, LazyTable
from tests.schedule.graphs import chain

MOST = {"chain": 600, "uneven": 650, "plate": 570}
"""Maximum number of calls per part; a section of the chain has 6 elements and 6 bonds, and a node of the plate 5 and 7."""


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("make", [chain, uneven, plate])
def test_one_more_part_takes_few_calls(make: Callable[[int], Graph]) -> None:
    assert calls_per_part(make, (60, 160)) < MOST[make.__name__]


def test_tables_are_made_when_they_are_read() -> None:
    made = []

    def table() -> dict[str, float]:
        made.append("table")
        return {"a": 1.0}

    def row() -> tuple[str, ...]:
        made.append("row")
        return ("a", "b")

    late, list_of = LazyTable(table), LazyRow(row)
    assert not made
    assert late["a"] == 1.0 and "b" not in late and list(late) == ["a"] and len(late) == 1 and late == {"a": 1.0}
    assert list_of[1] == "b" and list(list_of) == ["a", "b"] and len(list_of) == 2 and list_of[:1] == ("a",)
    assert made == ["table", "row"]
    again = pickle.loads(pickle.dumps([late, list_of]))  # noqa: S301 - its own
    assert again == [{"a": 1.0}, ("a", "b")] and type(again[0]) is dict and type(again[1]) is tuple


def test_names_are_compared_when_the_message_of_a_missing_name_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(errors, "similar_names", lambda name, names: calls.append(name) or ["speed"])
    table = LazyTable(lambda: {"speed": 1.0})
    assert table.get("sped") is None and table.get("sped", 2.0) == 2.0
    assert LazyTable(lambda: {"a": 1.0}, {"b": 2.0}).get("c", 3.0) == 3.0
    chained = compile_model(chain(300)).program.layout
    assert chained.unit("k7.q") == "" and not calls
    with pytest.raises(KeyError) as missing:
        table["sped"]
    assert not calls and str(missing.value).endswith('"sped"; did you mean "speed"?') and calls == ["sped"]
    assert str(pickle.loads(pickle.dumps(missing.value))) == str(missing.value)  # noqa: S301 - its own


def test_a_result_of_a_large_model_goes_to_another_process_with_its_names() -> None:
    compiled = compile_model(chain(300))
    result = compiled.simulate(1e-3, progress=False)
    course = result["k7.q"]
    again = pickle.loads(pickle.dumps(result))  # noqa: S301 - its own
    assert again.bonds == result.bonds == compiled.bonds and len(again.bonds) == 1800
    assert again.names() == result.names()
    np.testing.assert_array_equal(again["k7.q"], course)
