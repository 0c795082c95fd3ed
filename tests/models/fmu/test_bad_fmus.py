"""Invalid or malicious FMUs are refused with a code, and leave no files."""

from __future__ import annotations

import gc
import random
import re
import stat
import tempfile
import zipfile

import pytest

from bondgraph import ModelError, RunError, compile_model
from tests.models.fmu.units import CAN_BUILD, archive, block, built, description, plant

pytestmark = pytest.mark.skipif(not CAN_BUILD, reason="no C compiler for the FMUs")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built(tmp_path_factory.mktemp("libraries"))[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Yield a folder for FMUs; another folder holds temporary files and must be empty at the end."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (tmp_path / "in").mkdir()
    yield tmp_path / "in"
    gc.collect()
    assert not list(temporary.iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"temporary", "in"}


SIZE = 1_234_567
DEEP = f'<CoSimulation modelIdentifier="unit">{"<a>" * 10_000}{"</a>" * 10_000}</CoSimulation>'
DESCRIPTIONS = {
    "other platform": ({"platform": "riscv-plan9"}, "no library for x86_64-linux[\\s\\S]*riscv-plan9"),
    "model exchange alone": ({"ways": '<ModelExchange modelIdentifier="unit"/>'}, "not support co-simulation"),
    "version": ({"stated": "1.0"}, "FMI version is 1.0"),
    "entities": ({"before": '<!DOCTYPE a [<!ENTITY b "c">]>'}, "document type"),
    "entities in another coding": ({"before": "<!DOCTYPE a>", "coding": "utf-16"}, "document type"),
    "not well formed": ({"before": "<"}, "cannot be read"),
    "another coding than it says": ({"before": '<?xml version="1.0" encoding="ebcdic"?>'}, "cannot be read"),
    "identifier leads out": ({"ways": '<CoSimulation modelIdentifier="../unit"/>'}, "not an identifier"),
    "entry leads out": ({"entries": ["../out"]}, "outside the archive"),
    "entry leads out within": ({"entries": ["resources/../../out"]}, "outside the archive"),
    "absolute entry": ({"entries": ["/etc/out"]}, "outside the archive"),
    "entry of another system": ({"entries": ["..\\out"]}, "outside the archive"),
    "entry of a drive": ({"entries": ["C:\\out"]}, "outside the archive"),
}


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_forbidden_archive_entries_are_refused(case, library, folder):
    changes, text = DESCRIPTIONS[case]
    with pytest.raises(ModelError, match=f"E690[\\s\\S]*{text}"):
        block(archive(folder, library, **changes))


NAMES = {
    "no file": ({"path": "nowhere.fmu"}, "E690[\\s\\S]*cannot be read"),
    "unknown input": ({"inputs": {"eror": "error.y"}}, 'E691[\\s\\S]*does not have "eror"[\\s\\S]*error'),
    "output as input": ({"inputs": {"effort.y": "error.y"}}, 'E691[\\s\\S]*has "effort.y" with causality output'),
    "input as parameter": ({"parameters": {"error": 1.0}}, "E691[\\s\\S]*with causality input"),
    "outputs as text": ({"outputs": "effort.y"}, "E691[\\s\\S]*not a list of names"),
}


@pytest.mark.parametrize("case", NAMES)
def test_wrong_names_are_refused(case, library, folder):
    arguments, text = NAMES[case]
    with pytest.raises(ModelError, match=text):
        block(**{"path": archive(folder, library), **arguments})


def test_truncated_and_corrupt_files_are_refused_or_give_the_same_block(library, folder):
    whole, part, rng = archive(folder, library), folder / "part.fmu", random.Random(0)
    content = whole.read_bytes()
    for length in [0, 1, 21, *(rng.randrange(len(content)) for _ in range(20)), len(content) - 1]:
        part.write_bytes(content[:length])
        with pytest.raises(ModelError, match="E690"):
            block(part)
    names = block(whole).law.states()
    for _ in range(60):
        spoilt = bytearray(content)
        spoilt[rng.choice([rng.randrange(len(content)), -rng.randrange(1, 200)])] ^= 1 << rng.randrange(8)
        part.write_bytes(spoilt)
        try:
            assert block(part).law.states() == names
        except ModelError as error:
            assert error.problems[0].code in ("E690", "E691")


def test_links_and_large_contents_are_refused(library, folder):
    path = archive(folder, library)
    with zipfile.ZipFile(path, "a") as file:
        link = zipfile.ZipInfo("resources/link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc")
    with pytest.raises(ModelError, match=r"E690[\s\S]*outside the archive"):
        block(path)
    for entries, text in (
        ([f"resources/{k}" for k in range(10_001)], "more than 10000 files"),
        (["modelDescription.xml"], "larger than 64 MiB"),
    ):
        with zipfile.ZipFile(folder / "large.fmu", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            for entry in entries:
                file.writestr(entry, "" if len(entries) > 1 else b" " * ((1 << 26) + 1))
        with pytest.raises(ModelError, match=f"E690[\\s\\S]*{text}"):
            block(folder / "large.fmu")


def test_an_archive_bomb_is_refused_before_unpacking(library, folder):
    path = archive(folder, library)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("resources/zeros", b"\0" * SIZE)
    content = path.read_bytes()
    size = SIZE.to_bytes(4, "little")
    assert content.count(size) == 2
    for other in (1 << 31, 1 << 4):
        (folder / "bomb.fmu").write_bytes(content.replace(size, other.to_bytes(4, "little")))
        with pytest.raises(ModelError, match="E690"):
            block(folder / "bomb.fmu")


def test_a_description_of_great_depth_is_read(library, folder):
    assert "effort.y" in block(archive(folder, library, ways=DEEP)).law.states()


LIBRARIES = {
    "another token": ({"token": "other"}, bytes, "cannot be instantiated"),
    "no library": ({}, lambda whole: b"\x7fELF no more", "has a library that cannot be loaded"),
    "without steps": ({}, lambda whole: whole.replace(b"fmi3DoStep", b"fmi3NoStep"), "has no function fmi3DoStep"),
}


@pytest.mark.parametrize("case", LIBRARIES)
def test_a_library_that_cannot_be_used_ends_the_run(case, library, folder):
    changes, content, text = LIBRARIES[case]
    model = compile_model(plant(block(archive(folder, content(library), **changes))))
    with pytest.raises(RunError, match=f'E692 the FMU of "pid" {text}'):
        model.simulate(0.1)


def test_a_parameter_that_a_type_does_not_have_is_refused(library, folder):
    path = folder / "typed.fmu"
    text = description(3).replace('<Float64 name="limit"', '<Int8 name="limit"')
    with zipfile.ZipFile(archive(folder, library)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name.endswith(".xml") else old.read(name))
    model = compile_model(plant(block(path, parameters={"limit": 3.0})))
    assert model.simulate(0.01).ok
    for value in (128.0, float("1e300")):
        with pytest.raises(RunError, match=re.escape(f'cannot take {value:.9g} for "limit", of type Int8')):
            model.simulate(0.01, parameters={"pid.limit": value})
