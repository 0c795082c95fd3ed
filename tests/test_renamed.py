"""Old public names lead to the new names, and files written before names changed are read."""

import copy
import importlib
import inspect
import json
import pickle
import pkgutil
import re
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import screwbond.models
from screwbond.models.cli import main

import bondgraph
import screws
from bondgraph import Graph, I, R, RunError, load_model, parse_model
from bondgraph.errors import ModelError
from bondgraph.interchange import dump_model
from bondgraph.run_arguments import SETTINGS as SETTINGS_NOW
from bondgraph.stepping import stepper
from bondgraph.sweeps import load_runs
from tests.inner.models_studies import select_names
from tests.inner.models_sweeping import read_plan
from tests.inner.screws import FILES, KEYWORDS, MEMBERS, MODULES, NAMES, SETTING_VALUES, SETTINGS

BEFORE = Path(__file__).parent / "written_before"


def packages():
    for root in (bondgraph, screws, screwbond.models):
        yield root
        for entry in pkgutil.walk_packages(root.__path__, root.__name__ + "."):
            if entry.ispkg:
                yield importlib.import_module(entry.name)


def modules():
    for package in packages():
        yield package
        for entry in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            if not entry.ispkg and not entry.name.endswith("__main__"):
                yield importlib.import_module(entry.name)


@pytest.fixture(scope="module")
def owners() -> dict[str, list[object]]:
    found: dict[str, dict[int, object]] = {}
    for module in modules():
        for value in vars(module).values():
            if not (inspect.isclass(value) or inspect.isfunction(value)) or value.__module__ != module.__name__:
                continue
            found.setdefault(value.__qualname__, {})[id(value)] = value
            for inner in vars(value).values() if inspect.isclass(value) else ():
                if inspect.isfunction(inner):
                    found.setdefault(inner.__qualname__, {})[id(inner)] = inner
    return {name: list(values.values()) for name, values in found.items()}


def says(old: str, new: str) -> str:
    return re.escape(f"`{old}` is now `{new}`")


@pytest.mark.parametrize(("old", "new"), MODULES.items())
def test_an_old_module_names_the_new_one(old: str, new: str) -> None:
    assert importlib.import_module(new)
    with pytest.raises(ImportError, match=says(old, new)):
        importlib.import_module(old)


@pytest.mark.parametrize(("old", "new"), NAMES.items())
def test_an_old_name_of_a_package_names_the_new_one(old: str, new: str) -> None:
    homes = [package for package in packages() if new in getattr(package, "__all__", ())]
    assert homes, f"no package has {new}"
    for package in homes:
        assert hasattr(package, new) and not hasattr(package, old)
        with pytest.raises(AttributeError, match=says(old, new)):
            getattr(package, old)
        with pytest.raises(ImportError, match=says(old, new)):
            __import__(package.__name__, fromlist=[old])


def test_the_package_screwbond_answers_too() -> None:
    import screwbond

    assert not hasattr(screwbond, "touch_planar") and not hasattr(screwbond, "no_such_name")
    with pytest.raises(AttributeError, match=says("touch_planar", "attach_planar_contact")):
        _ = screwbond.touch_planar
    with pytest.raises(ImportError, match=says("RunDoubtWarning", "UnreliableRunWarning")):
        from screwbond import RunDoubtWarning  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name"):
        from screwbond import no_such_name  # noqa: F401


def answers(cls: object) -> bool:
    return getattr(vars(cls).get("__getattr__"), "__module__", "") == "screws.names.renamed"


@pytest.mark.parametrize(("owner", "old", "new"), [(c, *pair) for c, names in MEMBERS.items() for pair in names.items()])
def test_an_old_member_names_the_new_one(owner: str, old: str, new: str, owners: dict[str, list[object]]) -> None:
    classes = [cls for cls in owners[owner] if inspect.isclass(cls) and answers(cls)]
    assert len(classes) == 1
    (cls,) = classes
    members = {*dir(cls), *getattr(cls, "__dataclass_fields__", ())}
    assert new in members and old not in members
    record = object.__new__(cls)
    assert not hasattr(record, old) and not hasattr(record, "no_such_name")
    with pytest.raises(AttributeError, match=says(old, new)):
        getattr(record, old)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = record.no_such_name


@pytest.mark.parametrize(("owner", "old", "new"), [(f, *pair) for f, names in KEYWORDS.items() for pair in names.items()])
def test_an_old_keyword_names_the_new_one(owner: str, old: str, new: str, owners: dict[str, list[object]]) -> None:
    named = [one for one in owners[owner] if new in inspect.signature(one).parameters]
    functions = [*{inspect.unwrap(one): one for one in named}.values()]  # type: ignore[arg-type]
    assert len(functions) == 1 and old not in inspect.signature(functions[0]).parameters
    with pytest.raises(TypeError, match=says(old, new)):
        functions[0](**{old: None})


@pytest.mark.parametrize(("old", "new"), SETTINGS.items())
def test_an_old_setting_names_the_new_one(old: str, new: str) -> None:
    assert new in SETTINGS_NOW and old not in SETTINGS_NOW
    with pytest.raises(RunError, match=says(old, new)):
        spring().simulate(1.0, **{old: "auto"})


@pytest.mark.parametrize(
    ("setting", "old", "new"), [(s, *pair) for s, values in SETTING_VALUES.items() for pair in values.items()]
)
def test_an_old_value_of_a_setting_names_the_new_one(setting: str, old: str, new: str) -> None:
    assert spring().simulate(0.1, progress=False, **{setting: new}).ok
    with pytest.raises(RunError, match=says(old, new)):
        spring().simulate(1.0, **{setting: old})


@pytest.mark.parametrize(("old", "new"), FILES.items())
def test_an_old_word_of_only_names_the_new_one(old: str, new: str) -> None:
    assert select_names([f"{new}.png"], [new]) == (f"{new}.png",)
    with pytest.raises(ModelError, match=new):
        select_names([f"{new}.png", "order.png"], [old])


def spring() -> Graph:
    return Graph("decay").connect(I("m", 1.0, initial=1.0), R("r", 2.0))


def revived(record: object) -> object:
    return pickle.loads(pickle.dumps(record))  # noqa: S301


def test_results_keep_python_behaviour() -> None:
    result = spring().simulate(0.5, progress=False)
    for other in (copy.copy(result), copy.deepcopy(result), revived(result)):
        assert other.warnings == () and np.array_equal(other["m.p"], result["m.p"])
    assert "warnings" in dir(result) and "doubts" not in dir(result)
    assert getattr(result, "doubts", None) is None
    assert not hasattr(bondgraph.Compiled, "no_such_name")


@pytest.mark.parametrize("name", ["bounce", "heap"])
def test_models_that_were_saved_before_are_read_and_saved_alike(name: str) -> None:
    """Stores of sweeps identify a model by a digest of its file."""
    text = (BEFORE / f"{name}.json").read_text(encoding="utf-8")
    before, now = json.loads(text), json.loads(dump_model(parse_model(text)))
    before.pop("left out", None)
    assert json.dumps(now) == json.dumps(before)


def test_collisions_that_were_saved_before_are_those_that_they_were() -> None:
    model = load_model(BEFORE / "heap.json")
    (collisions,) = model.collisions
    assert collisions.max_contacts == 64 and collisions.exclude == ((1, 2),)
    assert stepper(model) is not None


def test_a_plan_of_before_is_read_with_the_settings_of_today() -> None:
    assert read_plan(BEFORE / "plan.json").settings == {"samples": 0.05, "impacts": "sequential"}


def test_a_store_of_before_is_read_and_gone_on_with(tmp_path: Path) -> None:
    store, other = (Path(shutil.copy(BEFORE / "runs.db", tmp_path / f"{name}.db")) for name in ("all", "less"))
    stored = load_runs(store)
    assert len(stored) == 3 and stored.complete and not stored.failures and not stored.warnings
    connection = sqlite3.connect(other)
    with connection:
        connection.execute("DELETE FROM runs WHERE run = 1")
    connection.close()
    assert len(load_runs(other)) == 2
    assert main(["sweep", str(BEFORE / "bounce.json"), str(BEFORE / "plan.json"), "--store", str(other)]) == 0
    again = load_runs(other)
    for name in ("momentum", "count", "drag.damping"):
        np.testing.assert_array_equal(again[name], stored[name])
