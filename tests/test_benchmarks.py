"""Each benchmark runs in its quick form; tables replace only their own section of benchmarks/README.md."""

import ast
import inspect
import os
import re
import sys
from pathlib import Path

import pytest

import benchmarks.__main__ as every
from benchmarks import hand_written
from benchmarks.command import LEFT_OUT, README, run_command, with_tables
from benchmarks.timing import table

FILES = {path.stem: path for path in README.parent.glob("*.py") if not path.stem.startswith("__")}


def parts_of(module: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "benchmarks":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks."):
            found.add((node.module or "").partition(".")[2])
    return found


def has_main(path: Path) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in ast.parse(path.read_text("utf-8")).body)


def test_every_file_is_in_the_table_of_benchmarks_or_part_of_one_that_is():
    listed = {run.__module__.partition(".")[2] for run in every.MAINS.values()}
    assert listed == {name for name, path in FILES.items() if has_main(path)}
    reached, new = set(listed), set(listed)
    while new := {part for name in new for part in parts_of(name)} - reached:
        reached |= new
    assert reached == set(FILES)
    page = README.read_text(encoding="utf-8")
    assert not [name for name in listed if not re.search(rf"^\| `{name}\.py`", page, flags=re.MULTILINE)]


@pytest.mark.thorough
@pytest.mark.parametrize("name", every.MAINS)
def test_the_quick_form_prints_its_table(name, capsys, monkeypatch):
    for label in hand_written.FLAGS:  # the speed of the C does not matter here, and gcc takes ten times as long to optimise it
        monkeypatch.setitem(hand_written.FLAGS, label, ("-O0",))
    found = every.MAINS[name](["--quick"])
    printed = capsys.readouterr().out
    if found is None and printed.endswith(f"; {LEFT_OUT}\n"):
        pytest.skip(printed.partition(";")[0])
    # An unindented title, then a head and rows indented by two spaces; `table` has no form without rows.
    assert found and re.search(r"^\S.*\n( {2}.*\n){2,}", printed, flags=re.MULTILINE), printed


@pytest.mark.parametrize("name", ["networks", "tree"])
def test_models_are_compiled_without_the_cache(name, monkeypatch):
    module, caches = sys.modules[f"benchmarks.{name}"], []
    compiled = module.compile_model
    monkeypatch.setattr(
        module, "compile_model", lambda *a, **k: caches.append(os.environ.get("SCREWBOND_CACHE")) or compiled(*a, **k)
    )
    module.main(["--quick"])
    assert caches[-1] == "off"


def test_running_all_benchmarks_passes_the_options_on(monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr(every, "MAINS", {name: lambda flags, name=name: given.update({name: flags}) for name in "ab"})
    assert every.main(["--quick", "--json", str(tmp_path / "figures.json")]) == {"a": {}, "b": {}}
    assert given == {"a": ["--quick"], "b": ["--quick"]} and (tmp_path / "figures.json").exists()


def text_of(run) -> str:
    return inspect.getsource(sys.modules[run.__module__])


@pytest.mark.parametrize(("package", "text"), [("mujoco", "MuJoCo is not installed"), ("BondGraphTools", "BondGraphTools is")])
def test_without_the_other_program_it_says_so(package, text, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    runs = [run for run in every.MAINS.values() if f"import {package}" in text_of(run)]
    for run in runs:
        assert run(["--quick"]) is None
        assert capsys.readouterr().out.startswith(text)
    assert runs


def test_without_a_compiler_it_says_so_and_other_faults_are_not_hidden(monkeypatch, capsys):
    monkeypatch.setattr(hand_written.shutil, "which", lambda _: None)
    assert run_command("of C", [], lambda quick: {"C": hand_written.compiler()}) is None
    assert capsys.readouterr().out == f"no C compiler was found: apt install gcc; {LEFT_OUT}\n"
    with pytest.raises(ModuleNotFoundError):
        run_command("of nothing", [], lambda quick: __import__("no_such_package"))
    with pytest.raises(ValueError, match="nothing was measured"):
        table("title", ["head"], [])


def test_tables_replace_their_own_and_no_others():
    page = "# Benchmarks\n\ntext\n\n## Results\n\nAs written.\n\n"
    page = with_tables(page, "tree", "1 2\n")
    page = with_tables(page, "chain", "a  b\n### not a heading of ours\n".replace("### ", "# "))
    again = with_tables(page, "tree", "3 4")
    assert again.index("### chain") < again.index("### tree") and "3 4" in again and "1 2" not in again
    assert again.startswith("# Benchmarks\n\ntext\n\n## Results\n\nAs written.\n\n### chain\n\n```text\na  b\n")
    assert with_tables(again, "tree", "3 4") == again and again.count("## Results") == 1


def test_the_readme_has_a_place_for_results():
    assert README.read_text(encoding="utf-8").count("\n## Results\n") == 1
