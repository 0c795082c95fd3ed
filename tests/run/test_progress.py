"""A progress bar appears only on a terminal and leaves nothing behind."""

from __future__ import annotations

import io
import re
import time
from types import SimpleNamespace

import pytest

from bondgraph import J1, C, Graph, R, Se, compile_model
from tests.inner.output import Progress, duration_text, progress, track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found))
    monkeypatch.setattr(progress, "_DELAY", 0.001)
    monkeypatch.setattr(progress, "_EVERY", 0.001)
    return found


def drawn(terminal: Terminal, words: str, within: float = 240.0) -> bool:
    until = time.perf_counter() + within
    while words not in terminal.getvalue() and time.perf_counter() < until:
        time.sleep(0.001)
    return words in terminal.getvalue()


def test_a_bar_is_drawn_while_work_says_nothing_and_is_wiped(terminal: Terminal) -> None:
    with Progress("poster", 4.0) as bar:
        bar.show(1.0, "lights")
        assert drawn(terminal, "lights")
    text = terminal.getvalue()
    assert re.search(r"\rposter \[#+ +\] +\d+ %, .* left, lights", text)
    assert text.endswith("\r\x1b[K")
    time.sleep(0.02)
    assert terminal.getvalue() == text


def test_work_inside_of_work_has_the_line(terminal: Terminal) -> None:
    with Progress("pictures", 2.0):
        assert drawn(terminal, "pictures")
        with Progress("movie", 3.0):
            assert drawn(terminal, "movie")
            length = len(terminal.getvalue())
            assert drawn(terminal, "movie") and "pictures" not in terminal.getvalue()[length:]
        length = len(terminal.getvalue())
        deadline = time.perf_counter() + 240.0
        while "pictures" not in terminal.getvalue()[length:] and time.perf_counter() < deadline:
            time.sleep(0.001)
        assert "pictures" in terminal.getvalue()[length:]


def test_nothing_is_written_where_nobody_wants_it_or_reads_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with Progress("silent", 1.0, enabled=False):
        time.sleep(0.02)
    assert list(track(range(3), "silent", progress=False)) == [0, 1, 2]
    assert not terminal.getvalue()
    pipe = io.StringIO()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=pipe))
    with Progress("piped", 1.0):
        time.sleep(0.02)
    assert not pipe.getvalue()


def test_time_left_follows_from_time_spent() -> None:
    bar = Progress("run", 8.0)
    bar.show(2.0, "t = 2 s")
    bar._begin = bar._updated - 10.0
    assert bar.line(bar._updated).endswith(" 25 %, 30 s left, t = 2 s")
    assert " 38 %, 25 s left" in bar.line(bar._updated + 5.0)
    assert " 99 %, 0 s left" in bar.line(bar._updated + 500.0)


def test_without_progress_the_elapsed_time_is_shown() -> None:
    bar = Progress("run", 8.0)
    assert bar.line(bar._begin + 61.0).endswith("  0 %, since 1 min 1 s")
    assert duration_text(59.4) == "59 s"


def test_the_progress_line_continues_after_an_error(terminal: Terminal) -> None:
    with pytest.raises(ZeroDivisionError), Progress("outer", 1.0), Progress("inner", 1.0):
        raise ZeroDivisionError
    assert Progress._innermost is None


def test_compilation_and_run_tell_where_they_are(terminal: Terminal) -> None:
    seen: list[str] = []
    graph = Graph("rc")
    junction = J1("loop", domain="electrical")
    graph.connect(Se("source", 1.0), junction)
    graph.connect(junction, R("resistor", resistance=1.0))
    graph.connect(junction, C("capacitor", capacitance=1.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Progress, "show", lambda bar, done, note="": seen.append(f"{bar.name}: {note}") if bar._active else None)
        compiled = compile_model(graph, backend="numpy")
        compiled.simulate(1.0)
        assert any(line.startswith('compiling "rc": tracing') for line in seen)
        assert any(line.startswith("rc: t = 1 s") for line in seen)
        seen.clear()
        compile_model(graph, backend="numpy", progress=False).simulate(1.0, progress=False)
        assert not seen


def test_earlier_runs_do_not_affect_the_displayed_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    bar = Progress("sweep", 1000.0, initial=500.0)
    bar.show(625.0, "625 of 1000")
    assert bar.line(110.0).endswith(" 62 %, 30 s left, 625 of 1000")
    assert bar.line(130.0).endswith(" 88 %, 10 s left, 625 of 1000") and " 99 %, 0 s" in bar.line(1000.0)
