"""`import screwbond` gives the version and the names of the three packages."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

import bondgraph
import screwbond
import screws
from screwbond import models

ROOT = Path(__file__).parents[2]


def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.path.append({str(ROOT)!r}); import runpy; sys.argv = {['screwbond', *arguments]!r}; "
    script += "runpy.run_module('screwbond', run_name='__main__', alter_sys=True)"
    return subprocess.run([sys.executable, "-c", script], cwd=folder, env={}, capture_output=True, text=True)


def test_all_public_names() -> None:
    assert screwbond.__version__
    names = {name for package in (bondgraph, screws, models) for name in package.__all__}
    assert names | {"__version__", "bondgraph", "models", "screws"} == set(dir(screwbond))
    assert len(set(screwbond.__all__)) == len(screwbond.__all__)
    for package in (bondgraph, screws, models):
        own = {name for name in package.__all__ if getattr(screwbond, name) is not getattr(package, name)}
        assert own == ({"contact"} if package is screws else set())


def test_a_star_brings_no_modules() -> None:
    brought: dict[str, object] = {}
    exec("from screwbond import *", brought)  # noqa: S102
    modules = {name for name, value in vars(screwbond).items() if isinstance(value, types.ModuleType)}
    assert {"signals", "poses", "surfaces"} < modules and not modules & set(brought)
    assert {*brought} - {"__builtins__"} == set(dir(screwbond)) - modules - {"__version__"}


def test_the_command(tmp_path: Path) -> None:
    done = python("--version", folder=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("screwbond "), done.stderr


@pytest.mark.parametrize(("package", "file", "word"), [("bondgraph", "{}.py", "file"), ("screws", "{}/__init__.py", "folder")])
def test_a_file_that_hides_a_package(tmp_path: Path, package: str, file: str, word: str) -> None:
    path = tmp_path / file.format(package)
    path.parent.mkdir(exist_ok=True)
    path.write_text("mass = 1.0\n")
    done = python("info", folder=tmp_path)
    last = done.stderr.splitlines()[-1]
    found = path if word == "file" else path.parent
    assert done.returncode != 0
    assert last.endswith(f'E561 "{found}" hides the package "{package}" of screwbond; try: another name for that {word}')


def test_subpackages_exist_after_an_import() -> None:
    script = "import bondgraph, sys; before = set(sys.modules); bondgraph.analysis.linearise, bondgraph.export.c_source, "
    script += "bondgraph.render.diagram.diagram; print('bondgraph.analysis' in before, 'bondgraph.export' in before)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
