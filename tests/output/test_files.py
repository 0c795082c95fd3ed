"""Files and folders are written completely or not at all."""

import builtins
import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J1, C, Graph, R, compile_model, measures, save_model, sweep
from bondgraph.errors import FileError
from bondgraph.export import c_source, modelica_source, numpy_source
from tests.inner.output import UNFINISHED, atomic_file, check_directory, temporary_folder, write_all, write_text
from tests.inner.render import diagram

posix = pytest.mark.skipif(os.name != "posix", reason="needs names, links and locks of POSIX")


@pytest.fixture(scope="module")
def rc():
    graph, loop = Graph("rc"), J1("loop")
    return compile_model(graph.connect(loop, C("c", capacitance=1.0, initial=1.0)).connect(loop, R("r", 1.0)))


def filled(**files):
    def write(folder):
        for name, text in files.items():
            (folder / name.replace("_", ".")).write_text(text)

    return write


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


# --- files ---


@pytest.mark.parametrize("name", ["x.gif", "x.svgz", "x", ".svg", "x.", "x.tar.gz"])
def test_an_ending_without_a_format_is_refused(rc, tmp_path, name):
    with pytest.raises(FileError, match=r"E415 .*ending.*; try: \.svg") as caught:
        diagram(rc).write(tmp_path / name)
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


BAD = {
    "long": lambda d: d / ("x" * 300 + ".svg"),
    "below a file": lambda d: (d.joinpath("file").write_text(""), d / "file" / "x.svg")[1],
    "folder": lambda d: (d.joinpath("x.svg").mkdir(), d / "x.svg")[1],
    "dangling": lambda d: (d.joinpath("x.svg").symlink_to("/nonexistent/place.svg"), d / "x.svg")[1],
    "zero byte": lambda d: d / "a\0b.svg",
    "no text": lambda d: d / "\ud800.svg",
    "device": lambda d: (os.mkfifo(d / "pipe.svg"), d / "pipe.svg")[1],
}


@posix
@pytest.mark.parametrize("place", BAD)
def test_a_file_that_cannot_be_written_ends_with_one_line(rc, tmp_path, place):
    path = BAD[place](tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileError, match=r"E414 cannot write ") as caught:
        diagram(rc).write(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    assert isinstance(caught.value, OSError) and sorted(tmp_path.iterdir()) == before


def exported(export):
    return lambda compiled, path: export(compiled).write(path.parent)


WRITERS = {
    "diagram.svg": lambda compiled, path: diagram(compiled).write(path),
    "diagram.tex": lambda compiled, path: diagram(compiled).write(path),
    "model.json": lambda compiled, path: save_model(compiled, path),
    "rc.c": exported(c_source),
    "rc.mo": exported(modelica_source),
    "rc.py": exported(numpy_source),
    "runs.db": lambda compiled, path: sweep(
        compiled, {"r.resistance": [1.0, 2.0]}, 0.1, keep={"q": measures.last("c.q")}, store=path, progress=False
    ),
    **{f"run{ending}": lambda compiled, path: compiled.simulate(0.1, keep="c.q", sink=path) for ending in (".csv", ".npz")},
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_creates_missing_folders(rc, tmp_path, name):
    WRITERS[name](rc, path := tmp_path / "missing" / "folder" / name)
    assert path.exists()


def test_folders_of_a_failed_write_are_deleted(tmp_path):
    with pytest.raises(FileError, match="E414"), atomic_file(tmp_path / "a" / "b" / "x.txt"):
        raise OSError(errno.ENOSPC, "full")
    assert not list(tmp_path.iterdir())


class FullDisk(io.FileIO):
    def write(self, data, /):
        if self.tell() + len(data) > 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


@pytest.fixture
def full_disk(monkeypatch):
    def opened(file, mode="r", buffering=-1, encoding=None, *rest, **more):
        if not set(mode) & set("wxa"):
            return true_open(file, mode, buffering, encoding, *rest, **more)
        raw = io.BufferedWriter(FullDisk(file, mode.replace("b", "").replace("t", "").replace("+", "")))
        return raw if "b" in mode else io.TextIOWrapper(raw, encoding=encoding)

    true_open = io.open
    monkeypatch.setattr(io, "open", opened)
    monkeypatch.setattr(builtins, "open", opened)


def test_a_full_disk_leaves_the_old_file(rc, tmp_path, full_disk):
    old = tmp_path / "x.svg"
    os.close(os.open(old, os.O_CREAT | os.O_WRONLY))
    for write in (diagram(rc).write, lambda path: write_text(path, "a" * 100)):
        with pytest.raises(FileError, match=r"E414 .*No space left on device"):
            write(old)
        assert [path.name for path in tmp_path.iterdir()] == ["x.svg"] and old.stat().st_size == 0


def test_a_full_disk_leaves_no_folder(tmp_path, full_disk):
    with pytest.raises(FileError, match=r"E413 .*No space left on device"):
        write_all(tmp_path / "a" / "b", lambda folder: np.savez_compressed(folder / "x.npz", x=np.arange(1e4)))
    assert not list(tmp_path.iterdir())


@posix
def test_a_link_to_a_file_is_followed_and_permissions_stay(tmp_path):
    (tmp_path / "there").mkdir()
    true, link = tmp_path / "there" / "x.txt", tmp_path / "x.txt"
    true.write_text("old")
    true.chmod(0o640)
    link.symlink_to(true)
    assert write_text(link, "new") == link
    assert link.is_symlink() and true.read_text() == "new" and true.stat().st_mode & 0o777 == 0o640


def test_c_source_is_written_as_a_pair(rc, tmp_path):
    header, source = c_source(rc).write(tmp_path / "new" / "c")
    assert header.exists() and source.exists() and len(list((tmp_path / "new" / "c").iterdir())) == 2
    (tmp_path / "other" / "rc.h").mkdir(parents=True)
    with pytest.raises(FileError, match=r"E417 cannot write the file rc\.h .*a folder has this name"):
        c_source(rc).write(tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["rc.h"]


# --- folders ---


@posix
def test_a_folder_that_cannot_be_written_ends_with_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("/nonexistent/place")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    places = [
        "x" * 300,
        "new/" + "x" * 300,
        "a/" * 2500,
        "dangling",
        "dangling/deeper",
        "loop",
        "file",
        "file/below",
        "a\0b",
        "\ud800",
    ]
    before = sorted(tmp_path.iterdir())
    for place in places:
        for attempt in (check_directory, lambda out: write_all(out, filled(a_txt="a"))):
            with pytest.raises(FileError, match=r"E413 cannot write to the folder ") as caught:
                attempt(tmp_path / place)
            assert "\n" not in str(caught.value) and len(str(caught.value)) < 500, place
            assert sorted(tmp_path.iterdir()) == before, place


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match=r"E413 .*Permission denied"):
        check_directory(tmp_path / "out")


def test_trying_leaves_nothing(tmp_path):
    check_directory(tmp_path / "a" / "b", ["x.png"])
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_folder_unchanged(tmp_path):
    write_all(tmp_path / "out", filled(a_txt="1", b_txt="1"))

    def fails(folder):
        filled(a_txt="2")(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_all(tmp_path / "out", fails)
    assert contents(tmp_path / "out") == {"a.txt": "1", "b.txt": "1"}


def test_files_of_the_run_before_do_not_survive(tmp_path):
    files = ("a.txt", "poster.txt")
    (tmp_path / "notes.txt").write_text("mine")
    write_all(tmp_path, filled(a_txt="1", poster_txt="1"), files)
    write_all(tmp_path, filled(a_txt="2"), files)
    assert contents(tmp_path) == {"a.txt": "2", "notes.txt": "mine"}


@posix
@pytest.mark.parametrize("link", [False, True])
def test_a_folder_with_a_files_name_is_refused_before_anything_is_moved(tmp_path, link):
    out = tmp_path / "out"
    write_all(out, filled(a_txt="1", z_txt="1"))
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "kept").write_text("kept")
    if link:
        (out / "m.txt").symlink_to(tmp_path / "there")
    else:
        (tmp_path / "there").rename(out / "m.txt")
    for attempt in (lambda: check_directory(out, ["m.txt"]), lambda: write_all(out, filled(a_txt="2", m_txt="2", z_txt="2"))):
        with pytest.raises(FileError, match=r"E417 cannot write the file m.txt .*folder.* has this name"):
            attempt()
    assert (out / "m.txt" / "kept").read_text() == "kept"
    assert (out / "a.txt").read_text() == (out / "z.txt").read_text() == "1" and len(list(out.iterdir())) == 3


def test_a_file_that_cannot_be_moved_undoes_the_others(tmp_path, monkeypatch):
    write_all(tmp_path, filled(a_txt="1", m_txt="1", z_txt="1"))
    replace = os.replace

    def refusing(start, end):
        if Path(end) == tmp_path / "m.txt" and Path(start).parent.name == "new":
            raise PermissionError(errno.EPERM, "Operation not permitted")
        replace(start, end)

    monkeypatch.setattr(os, "replace", refusing)
    with pytest.raises(FileError, match=r"E413 .*Operation not permitted"):
        write_all(tmp_path, filled(a_txt="2", m_txt="2", z_txt="2"))
    assert contents(tmp_path) == {"a.txt": "1", "m.txt": "1", "z.txt": "1"}


@posix
def test_leftovers_are_deleted_and_files_in_use_are_kept(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from bondgraph.output.files import temporary_folder\n"
        "with temporary_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').write_text('')\n"
        "    os._exit(9)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=root, check=False).returncode == 9
    (tmp_path / f"{UNFINISHED}notes.txt").write_text("mine")
    assert len(list(tmp_path.glob(f"{UNFINISHED}*"))) == 2
    with temporary_folder(tmp_path) as used:
        write_all(tmp_path, filled(a_txt="1"))
        with atomic_file(tmp_path / "b.txt") as part:
            part.write_text("1")
        assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "b.txt", f"{UNFINISHED}notes.txt", used.name}
    assert not used.exists()
