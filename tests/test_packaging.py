"""The distribution: what it installs, and that its version is written once."""

import configparser
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("bondgraph", "models", "screwbond", "screws")


@pytest.fixture(scope="module")
def config():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_installs_exactly_these_packages(config):
    """setuptools takes every folder with an `__init__.py` whose dotted name fits a pattern."""
    assert config["options"]["packages"] == "find:"
    patterns = config["options.packages.find"]["include"].split()
    here = [path.parent.relative_to(ROOT) for path in ROOT.glob("[!.]*/**/__init__.py")]
    found = {name for name in map(".".join, (path.parts for path in here)) if any(fnmatchcase(name, p) for p in patterns)}
    assert {name.partition(".")[0] for name in found} == set(PACKAGES)
    with_modules = {path.parent.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert found == {".".join(path.parts) for path in with_modules}, "every folder with modules needs an __init__.py"


@pytest.mark.parametrize("package", PACKAGES)
def test_ships_its_types(config, package):
    assert (ROOT / package / "py.typed").is_file()
    assert "py.typed" in config["options.package_data"][package].split()


def test_version_is_written_in_setup_cfg_only(config):
    version = config["metadata"]["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assignment = re.compile(r"^\s*(__version__|VERSION)\s*(:[^=]*)?=\s*[\"']", re.MULTILINE)
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            assert not assignment.search(path.read_text(encoding="utf-8")), f"{path.name} repeats the version"
    assert "version" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_texts_for_people_speak_of_this_version(config):
    version = config["metadata"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_constraints_pin_every_requirement(config):
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.partition("#")[0].strip() for line in lines]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][^\s]*", pin) for pin in pins if pin)
    pinned = {re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower() for pin in pins}
    blocks = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    lines = [line for block in blocks for line in block.split("\n") if line and line[0] != "#"]
    wanted = {re.match(r"[A-Za-z0-9-]+", line).group().lower() for line in lines}
    assert wanted - {"screwbond"} <= pinned


def test_entry_point(config):
    assert config["options.entry_points"]["console_scripts"].split() == ["screwbond", "=", "screwbond.__main__:main"]
