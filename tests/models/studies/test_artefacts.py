"""A command writes all of its artefacts, or only the named ones."""

from __future__ import annotations

import dataclasses
import sys
from argparse import Namespace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from screwbond.models.cli import COMMANDS, main

from bondgraph.errors import ModelError
from tests.inner.models_pictures import probe
from tests.inner.models_studies import SUMMARY, Outcome, Picture, Task, draw_pictures, parser_of, select_names

SCENARIO = str(Path(__file__).parents[1] / "data" / "S1a.json")
NAMES = ("graph.svg", "page.html", "plots.png", "movie.mp4", "movie.gif")


def test_names_have_endings_or_none() -> None:
    assert select_names(NAMES, ()) == NAMES
    assert select_names(NAMES, ("plots", "graph.svg")) == ("graph.svg", "plots.png")
    assert select_names(NAMES, ("movie",)) == ("movie.mp4", "movie.gif")
    assert select_names(NAMES, ("movie.gif",)) == ("movie.gif",)


def test_an_unknown_name_is_refused_with_all_there_are() -> None:
    with pytest.raises(ModelError, match=r'E590 no output is called "plot"') as caught:
        select_names(NAMES, ("page", "plot"), "run")
    said = str(caught.value)
    assert 'did you mean "plots"?' in said and "graph, page, plots, movie" in said


def test_every_command_that_writes_a_folder_has_the_choice() -> None:
    parser = parser_of(COMMANDS)
    for arguments in (["contact", "s.json"], ["delta", "--params", "fit"], ["hand"], ["impact"], ["maze", "gains"]):
        options = parser.parse_args([*arguments, "--out", "o", "--only", "page, plots,"])
        assert options.only == ("page", "plots")
        assert parser.parse_args([*arguments, "--out", "o"]).only == ()


def task(draw: Picture, made: list[str]) -> tuple[Task, Outcome]:
    def text() -> str:
        made.append("text.tex")
        return "x"

    pictures = {"plots.png": Picture(lambda path: path.write_text("plots")), "scene.png": draw}
    names = ("text.tex", "events.json"), tuple(pictures)
    outcome = Outcome({}, {"text.tex": text, "events.json": []}, [], pictures)
    return Task("", lambda options: None, lambda given, options: outcome, *names), outcome


def test_unwanted_artefacts_are_neither_made_nor_left(tmp_path: Path) -> None:
    made: list[str] = []
    scene = Picture(lambda path: path.write_text("scene"))
    own, outcome = task(scene, made)
    own.save(outcome, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"text.tex", "events.json", "plots.png", "scene.png", SUMMARY}
    (tmp_path / "notes.txt").write_text("mine")
    own.save(outcome, tmp_path, only=["plots"])
    assert {path.name for path in tmp_path.iterdir()} == {"plots.png", SUMMARY, "notes.txt"}
    assert made == ["text.tex"]


def test_an_unknown_name_ends_before_anything_is_run(tmp_path: Path) -> None:
    ran: list[object] = []
    own, _ = task(Picture(lambda path: None), [])
    quick = Task("", ran.append, own.run, own.files, own.pictures)
    with pytest.raises(ModelError, match="E590"):
        quick(Namespace(out=tmp_path / "new", no_render=False, only=("poster",)))
    assert not ran and not (tmp_path / "new").exists()


def test_one_line_lists_the_omitted_artefacts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, outcome = task(Picture(lambda path: path.write_text("scene"), lambda: "no GL here: apt install it"), [])
    own.save(outcome, tmp_path)
    assert capsys.readouterr().err == "without scene.png: no GL here: apt install it\n"
    assert (tmp_path / "plots.png").exists() and not (tmp_path / "scene.png").exists()


def test_the_line_is_one_for_several_reasons(tmp_path: Path) -> None:
    pictures = {
        name: Picture(lambda path: None, lambda why=why: why) for name, why in {"a.png": "x", "b.png": "y", "c.png": "x"}.items()
    }
    assert draw_pictures(pictures, tmp_path) == "without a.png, c.png: x; without b.png: y"


def test_the_command_writes_the_named_files_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["contact", SCENARIO, "--out", str(tmp_path / "out"), "--only", "page,trajectory"]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"page.html", "trajectory.npz", SUMMARY}
    assert main(["contact", SCENARIO, "--out", str(tmp_path / "none"), "--only", "poter"]) == 2
    assert 'did you mean "poster"?' in capsys.readouterr().err and not (tmp_path / "none").exists()


RUNS = {
    "contact": ["contact", SCENARIO],
    "simulate": ["delta", "simulate", "--params", "fit", "--t-end", "0.01"],
    "linearise": ["delta", "linearise", "--params", "fit"],
    "soft-touch": ["delta", "soft-touch", "--params", "fit", "--until", "0.01"],
    "workspace": ["delta", "workspace", "--params", "fit", "--points", "5"],
    "hand": ["hand", "--scenario", "SHORT"],
    "impact": ["impact", "--poses", "2"],
    "maze": ["maze", "--t-end", "0.2"],
    "gains": ["maze", "gains", "--points", "2", "--until", "0.2"],
}


@cache
def ran(name: str) -> tuple[Task, Outcome]:
    saved: list[tuple[Task, Outcome]] = []
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        short = Path(folder) / "short.json"
        short.write_text('{"t_end": 0.05, "motion": []}')
        patched.setattr(Task, "save", lambda own, outcome, out, **more: saved.append((own, outcome)) or "")
        arguments = [str(short) if word == "SHORT" else word for word in RUNS[name]]
        assert main([*arguments, "--out", str(Path(folder) / "out")]) in (0, 1)
    ((own, outcome),) = saved
    return own, outcome


@pytest.mark.thorough
@pytest.mark.parametrize("name", RUNS)
def test_each_artefact_is_written_alone(name: str, tmp_path: Path) -> None:
    """The artefacts of an outcome are all the names in the help, except for optional pictures."""
    own, outcome = ran(name)
    may_miss = {"lost.png", "movie.gif"}
    made = {*outcome.files, *outcome.pictures, SUMMARY}
    assert made <= set(own.names) and set(own.names) - made <= may_miss
    marked = {name: Picture(lambda path, **_: path.write_text(path.name)) for name in outcome.pictures}
    alone = dataclasses.replace(outcome, pictures=marked)
    for wanted in (*outcome.files, *outcome.pictures):
        own.save(alone, tmp_path / "one", only=[wanted])
        assert {path.name for path in (tmp_path / "one").iterdir()} == {wanted, SUMMARY}
    with pytest.raises(ModelError, match=f"E590.*\n  try: .*{Path(own.files[-1]).stem}"):
        own.save(alone, tmp_path / "one", only=["nothing"])


SCENES = {
    "contact": {"poster.png", "movie.mp4"},
    "hand": {"figure6.png", "movie.mp4"},
    "impact": {"arm.png"},
    "maze": {"maze.png", "movie.mp4"},
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SCENES)
def test_without_vtk_the_rest_is_drawn(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    own, outcome = ran(name)
    for package in ("pyvista", "vtkmodules"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(probe, "rendering", lambda: (False, "pyvista is not installed"))
    drawn = {"contact": "page,plots", "hand": "page,figure7", "impact": "impacts", "maze": "path"}[name]
    own.save(outcome, tmp_path / "out", only=[*drawn.split(","), *sorted(SCENES[name])])
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("without ")]
    (line,) = said
    left_out, why = line.removeprefix("without ").split(": ")
    assert set(left_out.split(", ")) == SCENES[name] and why == "pyvista is not installed"
    assert {path.stem for path in (tmp_path / "out").iterdir()} == {*drawn.split(","), "summary"}
