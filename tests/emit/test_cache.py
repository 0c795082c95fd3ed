"""The cache of compiled code keeps, trusts and discards the right files."""

import ctypes
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J1, Graph, I, R, simulate, warming
from bondgraph.errors import CacheWarning
from tests.inner.emit import Procedure, cache, compile_routines, compile_written, llvm, machine
from tests.inner.tape import Routine, Tape

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs file ownership")


def squares(name="squares", factor=1.0):
    tape = Tape()
    x = tape.inputs("x", 2)
    return Routine(name, tape, (("x", 2),), (factor * x[0] ** 2, x[1] ** 2))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SCREWBOND_CACHE", str(tmp_path / "objects"))
    return tmp_path / "objects"


def test_object_code_is_cached(folder, monkeypatch):
    compile_routines([squares()])
    (stored,) = folder.iterdir()
    monkeypatch.setattr(machine, "optimised", lambda *_: pytest.fail("compiled again"))
    assert compile_routines([squares()]).kernel("squares")([2.0, 3.0]).tolist() == [4.0, 9.0]
    monkeypatch.undo()
    assert stored.suffix == ".o"


def test_changed_source_is_compiled_again(folder):
    compile_routines([squares()])
    assert compile_routines([squares(factor=2.0)]).kernel("squares")([2.0, 3.0]).tolist() == [8.0, 9.0]
    assert len(list(folder.iterdir())) == 2


def test_damaged_objects_are_compiled_again(folder):
    compile_routines([squares()])
    (stored,) = folder.iterdir()
    whole = stored.read_bytes()
    stored.write_bytes(whole[:-10])
    assert compile_routines([squares()]).kernel("squares")([2.0, 3.0]).tolist() == [4.0, 9.0]
    assert stored.read_bytes() == whole


def written():
    write = Procedure("twice", {"x": "double"}, "double")
    write.return_value(write.step("add double", write["x"], write["x"]))
    return [write]


def doubled(library):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address("twice"))(2.5)


def test_procedures_are_not_written_again_while_the_sources_stay(folder, monkeypatch):
    assert doubled(compile_written(written)) == 5.0
    text, code = sorted(folder.iterdir(), key=lambda path: path.stat().st_size)
    monkeypatch.setattr(llvm, "module_text", lambda *_: pytest.fail("written again"))
    assert doubled(compile_written(written)) == 5.0
    monkeypatch.undo()
    monkeypatch.setenv("SCREWBOND_CACHE", str(folder))
    code.unlink()
    assert doubled(compile_written(written)) == 5.0 and code.exists()
    text.write_bytes(b"twisted" + text.read_bytes())
    assert doubled(compile_written(written)) == 5.0


@pytest.mark.parametrize("key", ["of a later state", ""])
def test_procedures_of_other_sources_are_written_again(folder, monkeypatch, key):
    compile_written(written)
    monkeypatch.setattr(cache, "sources", lambda: key)
    text, asked = llvm.module_text, []
    monkeypatch.setattr(llvm, "module_text", lambda *given: asked.append(given) or text(*given))
    assert doubled(compile_written(written)) == 5.0 and asked


def test_the_source_key_depends_on_the_content(tmp_path, monkeypatch):
    for package in ("bondgraph", "screws"):
        (tmp_path / package / "room").mkdir(parents=True)
        (tmp_path / package / "room" / "module.py").write_text("x = 1\n")
    place = tmp_path / "bondgraph" / "emit" / "cache.py"
    place.parent.mkdir()
    monkeypatch.setattr(cache, "__file__", str(place))
    key = cache.sources.__wrapped__
    assert key() == ""  # newer than this process
    for path in tmp_path.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    before = key()
    assert before and key() == before
    changed = tmp_path / "screws" / "room" / "module.py"
    changed.write_text("x = 2\n")  # same length, same age
    os.utime(changed, (1e9, 1e9))
    assert key() not in ("", before)
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "archive" / "bondgraph" / "emit" / "cache.py"))
    assert key() == ""


@pytest.fixture
def supplied(tmp_path, monkeypatch):
    monkeypatch.setenv("SCREWBOND_CACHE", "off")
    monkeypatch.setattr(
        warming, "PARTS", {"twice": lambda: compile_written(written), warming.PAGES: lambda: pytest.fail("pages")}
    )
    monkeypatch.setattr(cache, "SUPPLIED", tmp_path / "supplied")
    monkeypatch.setenv("SCREWBOND_PROCESSOR", "")
    assert warming.supply(tmp_path / "supplied") == 1
    monkeypatch.setenv("SCREWBOND_PROCESSOR", "host")
    return next((tmp_path / "supplied").iterdir())


def asked_for(monkeypatch):
    text, asked = llvm.module_text, []
    monkeypatch.setattr(llvm, "module_text", lambda *given: asked.append(given) or text(*given))
    return asked


def test_code_that_came_with_the_package_is_not_written(supplied, monkeypatch):
    monkeypatch.setattr(llvm, "module_text", lambda *_: pytest.fail("written again"))
    assert doubled(compile_written(written)) == 5.0


@pytest.mark.parametrize("change", ["sources", "damage", "processor", "instructions", "system"])
def test_code_that_came_with_the_package_serves_its_sources_and_processors_alone(supplied, change, monkeypatch):
    whole = supplied.read_bytes()
    if change == "sources":
        monkeypatch.setattr(cache, "sources", lambda: "of a later state")
    elif change == "damage":
        supplied.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif change == "processor":
        monkeypatch.setenv("SCREWBOND_PROCESSOR", "baseline")
    elif change == "instructions":
        monkeypatch.setattr(machine, "_AVX2", ("an instruction of tomorrow",))
        monkeypatch.setattr(machine, "supplied_processor", lambda: "haswell")
    else:
        monkeypatch.setattr(machine, "supplied_name", lambda name: f"{name} of another system")
    asked = asked_for(monkeypatch)
    assert doubled(compile_written(written)) == 5.0 and asked


def test_unidentifiable_sources_are_not_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "sources", lambda: "")
    with pytest.raises(llvm.CompileError, match="E399"):
        warming.supply(tmp_path)


def test_cache_off(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SCREWBOND_CACHE", "off")
    compile_routines([squares()])
    assert not list(tmp_path.iterdir()) and cache.directory() is None
    monkeypatch.delenv("SCREWBOND_CACHE")
    assert cache.directory() == tmp_path / "screwbond"


def test_unwritable_cache_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("SCREWBOND_CACHE", str(tmp_path / "file"))
    assert compile_routines([squares()]).kernel("squares")([2.0, 3.0]).tolist() == [4.0, 9.0]


def test_another_models_code_under_a_models_name_is_not_run(folder):
    def velocity(law):
        graph, v = Graph("brake"), J1("v")
        graph.connect(v, I("m", 1.0, initial=1.0)).connect(v, R("r", effort=law))
        return simulate(graph, 1.0).x[-1, 0]

    linear = velocity(lambda f: f)
    own = set(folder.iterdir())
    velocity(lambda f: f * f * f)
    other = next(path for path in folder.iterdir() if path not in own).read_bytes()
    for path in own:
        path.write_bytes(other)
    assert velocity(lambda f: f) == linear == pytest.approx(np.exp(-1.0), rel=1e-6)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path, whole: path.write_bytes(b""),
        lambda path, whole: path.write_bytes(whole[:20]),
        lambda path, whole: path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1])),
        lambda path, whole: path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:]),
        lambda path, whole: (path.unlink(), path.mkdir()),
        lambda path, whole: (path.rename(path.with_suffix(".there")), path.symlink_to(path.with_suffix(".there"))),
    ],
)
def test_broken_cache_entries_are_compiled_again(folder, damage):
    assert cache.store("ab" * 32, b"code")
    (stored,) = folder.iterdir()
    damage(stored, stored.read_bytes())
    assert cache.load("ab" * 32) is None
    if not stored.is_dir():
        assert cache.store("ab" * 32, b"code") and cache.load("ab" * 32) == b"code"


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_not_used(folder, mode):
    cache.store("ab" * 32, b"code")
    folder.chmod(mode)
    with pytest.warns(
        CacheWarning, match=r"E397 the folder of compiled code .*/objects is not used\n  other users can write to it"
    ):
        assert cache.load("ab" * 32) is None
    with pytest.warns(CacheWarning):
        assert not cache.store("cd" * 32, b"code")
    assert len(list(folder.iterdir())) == 1
    folder.chmod(0o755)
    assert cache.load("ab" * 32) == b"code"


@posix
def test_a_file_that_others_may_write_is_not_used(folder):
    cache.store("ab" * 32, b"code")
    (stored,) = folder.iterdir()
    stored.chmod(0o666)
    assert cache.load("ab" * 32) is None
    assert cache.store("ab" * 32, b"code") and cache.load("ab" * 32) == b"code"


@posix
def test_files_of_other_users_are_not_used(folder, monkeypatch):
    cache.store("ab" * 32, b"code")
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    with pytest.warns(CacheWarning, match=f"it belongs to user {own}") as caught:
        assert cache.load("ab" * 32) is None
    assert "chmod" not in str(caught[0].message)  # only the owner can change the permissions


def test_a_run_works_without_a_trusted_cache_folder(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="try: chmod go-w"):
        assert compile_routines([squares()]).kernel("squares")([2.0, 3.0]).tolist() == [4.0, 9.0]
    assert not list(folder.iterdir())


def test_the_least_recently_used_goes_first(folder, monkeypatch):
    monkeypatch.setenv("SCREWBOND_CACHE_SIZE", "0.01")
    names = [f"{k:064x}" for k in range(12)]
    for age, name in enumerate(names[:9]):
        cache.store(name, bytes(1000))
        os.utime(folder / f"{name}.o", (1e9 + age, 1e9 + age))
    (folder / "notes.txt").write_text("somebody else's")
    assert cache.load(names[0]) is not None  # used a moment ago
    for name in names[9:]:
        cache.store(name, bytes(1000))
    kept = {path.stem for path in folder.glob("*.o")}
    assert names[0] in kept and names[1] not in kept and names[11] in kept
    assert sum(path.stat().st_size for path in folder.glob("*.o")) <= 1e4
    assert (folder / "notes.txt").exists()


def test_leftovers_of_killed_processes_are_deleted_later(folder):
    folder.mkdir(mode=0o700)
    old, new = folder / "old.part", folder / "new.part"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    cache.store("ab" * 32, b"code")
    assert not old.exists() and new.exists()


def test_an_invalid_cache_size_warns_and_the_default_applies(monkeypatch):
    for given in ("much", "-1", "nan"):
        monkeypatch.setenv("SCREWBOND_CACHE_SIZE", given)
        with pytest.warns(CacheWarning, match=f'E398 SCREWBOND_CACHE_SIZE is "{given}"'):
            assert cache.limit() == 256e6
    monkeypatch.setenv("SCREWBOND_CACHE_SIZE", "1.5")
    assert cache.limit() == 1.5e6


def test_readers_and_writers_at_once_see_whole_objects_or_none(folder, monkeypatch):
    monkeypatch.setenv("SCREWBOND_CACHE_SIZE", "0.05")
    bodies = {f"{k:064x}": bytes([k]) * (1000 + k) for k in range(40)}
    wrong = []

    def work(shift):
        for name in [*bodies][shift:] + [*bodies][:shift]:
            cache.store(name, bodies[name])
            wrong.extend(other for other in bodies if cache.load(other) not in (None, bodies[other]))

    threads = [threading.Thread(target=work, args=(10 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not list(folder.glob("*.part"))


@pytest.mark.parametrize(
    ("system", "variable", "expected"),
    [
        ("linux", None, "home/.cache/screwbond"),
        ("darwin", None, "home/Library/Caches/screwbond"),
        ("win32", "LOCALAPPDATA", "given/screwbond"),
        ("win32", None, "home/AppData/Local/screwbond"),
        ("darwin", "XDG_CACHE_HOME", "given/screwbond"),
    ],
)
def test_each_system_has_a_place_for_caches(tmp_path, monkeypatch, system, variable, expected):
    for name in ("SCREWBOND_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "given"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setattr(cache.sys, "platform", system)
    assert cache.directory() == tmp_path / expected
