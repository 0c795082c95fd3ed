"""Progress bars of the models' long tasks appear only on a terminal, and can be switched off."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from screwbond.models.delta import DeltaParameters
from screwbond.models.hand import Hand
from screwbond.models.impact import default_striker
from screwbond.models.maze import MazeParameters, robustness

from bondgraph import compile_model
from tests.inner.models_delta import DeltaRobot, sweep_poles, workspace
from tests.inner.models_impact import study_poses
from tests.inner.models_studies import Picture, draw_pictures
from tests.inner.output import progress

FIT = DeltaParameters.fit()
GRID = np.linspace(-0.3, 0.3, 3)
Work = Callable[[bool], object]


def pictures(wanted: bool) -> object:
    drawn = {"page.html": Picture(lambda path: None), "movie.mp4": Picture(lambda path, progress: None, bar=True)}
    return draw_pictures(drawn, Path(), progress=wanted)


WORK: dict[str, Work] = {
    'compiling "hand"': lambda wanted: compile_model(Hand().graph(), backend="numpy", progress=wanted),
    "workspace": lambda wanted: workspace(FIT, GRID, GRID, 0.4, progress=wanted),
    "poles at motor angles": lambda wanted: sweep_poles(DeltaRobot(FIT), [0.5, 0.6], progress=wanted),
    "runs over both gains": lambda wanted: robustness(MazeParameters(), [0.32], [0.04, 0.05], t_end=0.1, progress=wanted),
    "effective masses": lambda wanted: study_poses(default_striker().striking_point.chain, count=2, progress=wanted),
    "pictures": pictures,
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Callable[[io.StringIO], None]:
    def use(stream: io.StringIO) -> None:
        monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
        monkeypatch.setattr(progress, "_DELAY", 0.0)
        monkeypatch.setattr(progress, "_EVERY", 0.002)

    return use


@pytest.mark.parametrize("name", WORK)
def test_a_terminal_has_a_bar_that_leaves_nothing(
    name: str, at_once: Callable[[io.StringIO], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    terminal = Terminal()
    at_once(terminal)
    tell = progress.Progress.show

    def told(bar: progress.Progress, done: float, note: str = "") -> None:
        tell(bar, done, note)
        if bar._active:
            shown.append(bar.line(bar._updated))

    monkeypatch.setattr(progress.Progress, "show", told)
    WORK[name](True)
    own = [line for line in shown if line.startswith(f"{name} [")]
    assert own and all(" %, " in line and ("left" in line or "since" in line) for line in own)
    text = terminal.getvalue()
    assert not text or text.endswith("\r\x1b[K")
    assert progress.Progress._innermost is None


@pytest.mark.parametrize("name", WORK)
def test_unrelated_users_get_no_message(name: str, at_once: Callable[[io.StringIO], None]) -> None:
    terminal, file = Terminal(), io.StringIO()
    at_once(terminal)
    WORK[name](False)
    at_once(file)
    WORK[name](True)
    assert terminal.getvalue() == file.getvalue() == ""
