"""Pictures of sweeps show kept values over varied values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bondgraph import J1, Automaton, C, Graph, I, ModelError, R
from bondgraph.sweeps import last, load_runs, normal, peak, sweep
from tests.inner.output import MAX_PANELS
from tests.inner.sweeps import Chunk, Store

pyplot = pytest.importorskip("matplotlib.pyplot", reason="Matplotlib is not installed: pictures of sweeps are not tested")

TOP = {"top": peak("spring.q")}


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def swept(compiled, varied, keep=TOP, **more):
    return sweep(compiled, {"spring.q": 0.0, **varied}, 1.0, keep=keep, **{"samples": 0.1, "progress": False, **more})


def texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_one_name_is_a_line_in_the_order_of_its_values(compiled):
    runs = swept(compiled, {"spring.stiffness": [80.0, 20.0, 50.0]})
    (axes,) = runs.plot()
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xydata(), [[20.0, runs["top"][1]], [50.0, runs["top"][2]], [80.0, runs["top"][0]]])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("spring.stiffness (N/m)", "top\n(m)")
    assert axes.figure.get_suptitle() == f"{compiled.model.name}: 3 runs"


def test_two_names_are_lines_for_the_shorter_one(compiled):
    runs = swept(compiled, {"damper.resistance": [5.0, 1.0], "spring.stiffness": [20.0, 50.0, 80.0]})
    (axes,) = runs.plot("top")
    assert axes.get_legend().get_title().get_text() == "damper.resistance (N s/m)" and texts(axes) == ["1", "5"]
    for line, damping in zip(axes.lines, (1.0, 5.0), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [20.0, 50.0, 80.0])
        np.testing.assert_array_equal(line.get_ydata(), runs["top"][runs["damper.resistance"] == damping])


def test_two_long_axes_give_a_map_that_shows_failed_runs(compiled):
    runs = swept(compiled, {"damper.resistance": np.linspace(-0.1, 5.0, 13), "spring.stiffness": np.linspace(20.0, 80.0, 14)})
    (axes,) = runs.plot()
    (drawn,) = axes.collections
    np.testing.assert_array_equal(np.ma.filled(drawn.get_array(), np.nan), runs["top"].reshape(13, 14))
    assert np.isnan(runs["top"]).sum() == len(runs.failures) == 14
    assert axes.figure.get_suptitle().endswith(": 182 runs, 14 failed")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("spring.stiffness (N/m)", "damper.resistance (N s/m)")


def test_draws_are_dots_against_the_only_name_and_else_counted(compiled):
    alone = swept(compiled, {"spring.stiffness": normal(50.0, 5.0)}, runs=30)
    (axes,) = alone.plot()
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.column_stack([alone["spring.stiffness"], alone["top"]]))
    both = swept(compiled, {"spring.stiffness": normal(50.0, 5.0), "mass.inertia": normal(2.0, 0.1)}, runs=30)
    (axes,) = both.plot()
    assert sum(bar.get_height() for bar in axes.patches) == 30 and len(axes.patches) > 2
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("top (m)", "runs")
    (axes,) = both.plot("top", against="mass.inertia")
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), both["mass.inertia"])
    (axes,) = both.plot("top", against="run")
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), np.arange(30.0))
    crossed = swept(compiled, {"spring.stiffness": normal(50.0, 5.0), "mass.inertia": [1.0, 2.0]}, runs=10)
    (axes,) = crossed.plot()
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), crossed["mass.inertia"])


def test_few_courses_are_lines_and_many_are_bands(compiled):
    few = swept(compiled, {"spring.stiffness": [80.0, 20.0], "damper.resistance": [1.0, 2.0]}, keep={"q": "spring.q"})
    (axes,) = few.plot()
    assert texts(axes) == ["20, 1", "20, 2", "80, 1", "80, 2"] and axes.get_xlabel() == "time (s)"
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.column_stack([few.times, few["q"][2]]))
    many = swept(compiled, {"spring.stiffness": normal(50.0, 5.0)}, keep={"q": "spring.q"}, runs=MAX_PANELS + 1)
    (axes,) = many.plot()
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), np.median(many["q"], axis=0))
    low, high = np.percentile(many["q"], [5.0, 95.0], axis=0)
    shaded = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert shaded.min() == low.min() and shaded.max() == high.max()
    assert texts(axes) == ["median", "5 to 95 %", "25 to 75 %"]


def test_arrays_are_a_curve_for_each_entry(compiled):
    keep = {"ends": lambda result: np.array([result["spring.q"].min(), result["spring.q"].max()])}
    runs = swept(compiled, {"spring.stiffness": [20.0, 50.0]}, keep=keep)
    (axes,) = runs.plot()
    assert texts(axes) == ["ends[0]", "ends[1]"]
    np.testing.assert_array_equal([line.get_ydata() for line in axes.lines], runs["ends"].T)
    points = {"spring.stiffness": [20.0, 30.0, 40.0], "damper.resistance": [1.0, 2.0]}
    (axes,) = sweep(compiled, points, 1.0, keep=keep, progress=False).plot("ends")
    assert len(axes.lines) == 4 and len({str(line.get_color()) for line in axes.lines}) == 4


@pytest.mark.parametrize("drawn", [True, False])
def test_a_varied_array_is_no_axis_of_a_plot(drawn):
    graph, velocity = Graph("plane"), J1("velocity", domain="translation", dimension=2)
    graph.connect(velocity, I("mass", np.eye(2), dimension=2)).connect(
        velocity, C("spring", stiffness=np.eye(2), initial=np.zeros(2), dimension=2)
    )
    points = {"spring.q": normal([1.0, 2.0], [0.1, 0.1])} if drawn else [{"spring.q": [1.0, k]} for k in (1.0, 2.0)]
    keep = {"x": lambda result: result["spring.q"][-1, 0]}
    (axes,) = sweep(graph, points, 1.0, keep=keep, runs=2 if drawn else None, progress=False).plot("x")
    assert axes.get_ylabel() == "runs" and axes.patches


def test_states_of_automata_are_words_at_the_axis():
    graph, v = Graph("switched"), J1("v", domain="translation")
    graph.connect(v, I("mass", 2.0)).connect(v, C("spring", stiffness=30.0, initial=0.1)).connect(v, R("drag", 0.5))
    graph.add_automaton(Automaton("lamp", ("off", "on"), "off", ()))
    (axes,) = swept(graph, {"lamp": ["on", "off"]}).plot()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["off", "on"]


def test_own_axes_and_unplottable_columns(compiled):
    keep = {**TOP, "wide": lambda result: np.zeros(MAX_PANELS + 1), "q": "spring.q"}
    runs = swept(compiled, {"spring.stiffness": [20.0, 50.0]}, keep=keep)
    own = pyplot.figure().subplots(1, 2)
    assert [*runs.plot("top", "q", axes=own)] == [*own]
    open_before = pyplot.get_fignums()
    for ask in (
        lambda: runs.plot("top", "q", "top", axes=own),
        lambda: runs.plot("wide"),
        lambda: runs.plot("top", against="q"),
        lambda: swept(compiled, {"spring.stiffness": [20.0]}, {f"q{k}": last("spring.q") for k in range(MAX_PANELS + 1)}).plot(),
    ):
        with pytest.raises(ModelError, match="E560"):
            ask()
    for ask in (lambda: runs.plot("topp"), lambda: runs.plot("top", against="stiffness")):
        with pytest.raises(KeyError, match="did you mean"):
            ask()
    assert pyplot.get_fignums() == open_before


def test_columns_that_are_read_together_are_of_the_same_runs(compiled, tmp_path, monkeypatch):
    plan = {"spring.stiffness": normal(50.0, 5.0)}
    keep = {**TOP, "q": "spring.q"}
    swept(compiled, plan, keep, runs=30, store=tmp_path / "all.db")
    known = load_runs(tmp_path / "all.db").arrays()
    read, writer, later = Store._data, Store(tmp_path / "runs.db"), iter(range(30))

    def store_next():
        for k in itertools.islice(later, 1):
            columns = {name: values[k : k + 1] for name, values in known.items()}
            writer.add(Chunk(columns.pop("run"), {name: columns[name] for name in keep}, (), ()), columns, {})

    def growing(self, name, *given):
        store_next()
        return read(self, name, *given)

    writer.begin(Store(tmp_path / "all.db", write=False).header(), dict)
    store_next()
    whole = load_runs(tmp_path / "runs.db")
    monkeypatch.setattr(Store, "_data", growing)
    assert len({len(values) for values in whole.arrays().values()}) == 1
    assert len({len(values) for values in whole.table().values()}) == 1
    (axes,) = whole.plot("top")
    assert len(axes.lines[0].get_xdata()) == len(axes.lines[0].get_ydata())
    pytest.importorskip("xarray")
    data = whole.to_xarray()
    assert 0 < int(data["top"].count()) == int(data["q"].isel(t=0).count()) < 30


def test_nothing_stored_yet_is_an_empty_picture(compiled, tmp_path):
    runs = swept(compiled, {"spring.stiffness": normal(50.0, 5.0)}, {**TOP, "q": "spring.q"}, runs=2, store=tmp_path / "runs.db")
    store = Store(tmp_path / "runs.db")
    store._connection.execute("DELETE FROM blocks")
    store._put("state", '{"blocks": 0, "runs": 0, "shapes": {}}')
    store.close()
    assert len(runs) == 0 and len(runs.plot()) == 2
