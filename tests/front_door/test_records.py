"""Public records keep their values, and answer what Python asks of them, or refuse with a code and a cure."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import operator
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from screwbond.models.chains import BodyInertia, inverse_kinematics
from screwbond.models.motion import s_curve

import screwbond as sb
from bondgraph import Automaton, C, Graph, Parameter, ScrewbondError, Transition, analysis, export, signals
from bondgraph.estimation import Experiment, estimate, run_sensitivities, uncertainty
from bondgraph.sweeps import peak
from screws import joints, sphere
from tests.front_door.wrong import arm, ball, cart, model, run, simulate

DATA = {"mass.p": ([0.1, 0.2], [0.01, 0.04], 1.0)}
SHORT: dict[str, Any] = {"samples": 5, "progress": False}


def linear() -> Any:
    return model().linearise("gain.y", "spring.q")


def swept() -> Any:
    keep = {"top": peak("spring.q"), "q": "spring.q"}
    return sb.sweep(model(), {"spring.stiffness": [1.0, 2.0]}, 0.1, keep=keep, **SHORT)


def varied() -> Any:
    return run_sensitivities(model(), ["spring.stiffness"], 0.1, **SHORT)


def many() -> Any:
    prepared = model().prepare_run(0.1, **SHORT)
    return prepared.run_many(*prepared.start_values_many({"spring.stiffness": [1.0, 2.0]}), keep={"q": "spring.q"})


RECORDS: dict[str, Callable[[], Any]] = {
    "graph": cart,
    "frozen graph": lambda: cart().freeze(),
    "compiled model": model,
    "causality": lambda: model().causality,
    "parameters": lambda: model().parameters,
    "states": lambda: model().states,
    "element": lambda: cart()["spring"],
    "parameter": lambda: Parameter(2.0, "kg"),
    "bond": lambda: cart().freeze().bonds[0],
    "automaton": lambda: Automaton("door", ("open", "shut"), "open", [Transition("open", "shut", lambda t: t - 1.0, "time")]),
    "result": run,
    "result of some quantities": lambda: simulate(0.1, keep="spring.q"),
    "pickled result": lambda: pickle.loads(pickle.dumps(run())),  # noqa: S301 its own
    "copied result": lambda: copy.deepcopy(run()),
    "ledger": lambda: run().ledger,
    "events": lambda: run().events,
    "end of a run": lambda: run().final,
    "statistics": lambda: run().statistics,
    "bond values": lambda: run().bond_values("v -> mass"),
    "prepared run": lambda: model().prepare_run(0.1, progress=False),
    "many runs": many,
    "right-hand side": lambda: model().ode(),
    "runs of a sweep": swept,
    "run of a sweep": lambda: next(iter(swept())),
    "linear system": linear,
    "transfer function": lambda: linear().transfer_function(),
    "operating point": lambda: analysis.operating_point(model()),
    "steady sensitivities": lambda: analysis.sensitivities(model(), ["spring.q"], ["spring.stiffness"]),
    "derivatives": lambda: analysis.differentiate(model(), ["gain.y"], ["spring.q"]),
    "passivity": lambda: analysis.passivity(model().linearise("push", "spring.q")),
    "estimate": lambda: estimate(model(), {"spring.stiffness": (10.0, 200.0)}, DATA, progress=False),
    "experiment": lambda: Experiment(DATA),
    "sensitivities of a run": varied,
    "uncertainty": lambda: uncertainty(varied(), {"spring.stiffness": 0.1}),
    "source code": lambda: export.matlab_source(model()),
    "explanation": lambda: export.explain(model(), "spring.q"),
    "state equations": lambda: export.state_equations(model()),
    "port-Hamiltonian form": lambda: export.port_hamiltonian(model()),
    "diagram": lambda: cart().diagram(),
    "body": ball,
    "surface": lambda: sphere(1.0),
    "geometry": lambda: sphere(1.0).geometry((0.1, 0.2)),
    "joint": lambda: joints.revolute((0, 0, 1)),
    "chain": arm,
    "link": lambda: arm().links[0],
    "inverse kinematics": lambda: inverse_kinematics(arm(), "lower", (1.0, 1.0, 0.0)),
    "motion": lambda: s_curve(0.0, 1.0, jerk=1.0),
    "curve": lambda: signals.curve([0.0, 1.0], [0.0, 2.0]),
    "page": lambda: sb.page(run()),
    "flight": lambda: sb.attach_force(Graph("flight"), sb.force("push", (1.0, 0.0, 0.0)), ball()).simulate(0.1, **SHORT),
}
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "len": len,
    "iter": lambda each: list(each),
    "in": lambda each: "q" in each,
    "a number in brackets": lambda each: each[3],
    "a name in brackets": lambda each: each["no such name"],
    "an attribute": lambda each: each.no_such_name,
    "hash": hash,
    "sin": np.sin,
    "a sum of arrays": lambda each: np.array([1.0, 2.0]) + each,
    "sum": lambda each: each + each,
    "order": lambda each: each < each,
    "float": float,
    "format": lambda each: f"{each:.3f}",
    "set": lambda each: operator.setitem(each, "q", 1.0),
    "pickle": lambda each: pickle.loads(pickle.dumps(each)),  # noqa: S301 its own
}
"""What Python users ask of an object: each gives a value, or an error with a code and a cure."""


def members(record: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return the attributes, methods without arguments and named entries of a record, as functions that read them."""
    for name in dir(record):
        if name.startswith("_"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(record, name)
            except ScrewbondError:
                continue
        if not inspect.ismethod(value):
            yield name, lambda name=name: getattr(record, name)  # type: ignore[misc]
    for name in getattr(record, "_ipython_key_completions_", list)()[:12]:
        yield f"[{name}]", lambda name=name: record[name]  # type: ignore[misc]


def arrays(value: Any, depth: int = 3) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value] if value.size and value.dtype.kind in "fic" else []
    if hasattr(type(value), "as_immutable"):
        return [value]
    entries = list(value.values()) if isinstance(value, Mapping) else list(value) if isinstance(value, (tuple, list)) else []
    return [each for entry in entries[:12] if depth for each in arrays(entry, depth - 1)]


def changed(read: Callable[[], Any]) -> bool:
    for k, array in enumerate(arrays(read())):
        before = array.copy()
        try:
            array[(0,) * array.ndim if isinstance(array, np.ndarray) else (0, 0)] += 1
        except (ValueError, TypeError):  # of NumPy or SymPy: read-only
            continue
        after = arrays(read())[k]
        if not (np.array_equal(after, before, equal_nan=True) if isinstance(array, np.ndarray) else after == before):
            return True
    return False


@pytest.mark.parametrize("name", RECORDS)
def test_arrays_of_a_record_cannot_be_changed_in_place(name: str) -> None:
    record = RECORDS[name]()
    assert [member for member, read in members(record) if changed(read)] == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_answers_what_python_asks(name: str) -> None:
    record, bare = RECORDS[name](), []
    for question, ask in QUESTIONS.items():
        try:
            ask(record)
        except ScrewbondError as error:
            text = str(error)
            if not ("try: " in text or "did you mean" in text or "known: " in text):
                bare.append(f"{question}: {text}")
        except Exception as error:
            bare.append(f"{question}: {type(error).__name__}: {error}")
    assert bare == []
    assert bool(record) in (True, False) and len(repr(record)) < 500
    for copied in (copy.copy(record), copy.deepcopy(record)):
        assert type(copied) is type(record) and repr(copied) == repr(record)
    for key in getattr(record, "_ipython_key_completions_", list)():
        record[key]


def test_a_quantity_cannot_be_scaled_in_place_but_copied() -> None:
    with pytest.raises(ValueError, match="read-only"):
        run()["spring.q"] *= 2.0
    free = run()["spring.q"].copy()
    free *= 2.0
    np.testing.assert_array_equal(free, 2.0 * run()["spring.q"])


FROM_ARRAYS: dict[str, tuple[Any, Callable[[np.ndarray], Any], Callable[[Any], Any]]] = {
    "parameter": ([1, 2], lambda v: Parameter(v, "N/m"), lambda made: made.value),
    "coefficient": ([1, 2], lambda v: C("c", stiffness=v), lambda made: made.parameters["stiffness"].value),
    "start value": ([1, 2], lambda v: C("c", stiffness=1.0, initial=v), lambda made: made.law.spec.initial),
    "curve": ([0, 1, 2], lambda v: signals.curve([0.0, 1.0, 2.0], v), lambda made: made(0.5)),
    "experiment": ([1, 2], lambda v: Experiment({"q": ([0.0, 1.0], v)}), lambda made: made.data["q"][1]),
    "axis": ([0, 0, 1], joints.revolute, lambda made: made.screws),
    "home pose": (np.eye(4), lambda v: dataclasses.replace(arm().links[0], home=v), lambda made: made.home),
    "inertia": (np.eye(3), lambda v: BodyInertia(1.0, v), lambda made: made.rotational),
}
"""An array, a record that the user makes from it, and the values that the record then has."""


@pytest.mark.parametrize("name", FROM_ARRAYS)
def test_a_record_does_not_follow_an_array_that_the_user_changes_later(name: str) -> None:
    start, make, read = FROM_ARRAYS[name]
    array = np.array(start, dtype=float)
    made = make(array)
    before = np.array(read(made))
    array += 1.0
    np.testing.assert_array_equal(read(made), before)


def test_a_data_set_is_the_users_own() -> None:
    pytest.importorskip("xarray")
    table = run().to_xarray(["spring.q"])
    table["spring.q"] *= 2.0
    np.testing.assert_array_equal(table["spring.q"], 2.0 * run()["spring.q"])


def test_a_record_differs_from_an_array() -> None:
    values, record = np.zeros(3), run()
    assert record not in [values]
    for one, other in ((record, values), (values, record)):
        assert operator.ne(one, other) and operator.eq(one, other) is False
