"""The distribution installs what it needs, and works beside a user's `models.py` and under its old name."""

import configparser
import importlib
import json
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import numpy
import pytest

from bondgraph.errors import is_own_file
from docs.pages import FRONT, program_of
from tests.inner.sweeps import Kept

ROOT = Path(__file__).parents[1]
PACKAGES = ("bondgraph", "screwbond", "screws")
FOLDERS = {"models": "screwbond.models"}


@pytest.fixture(scope="module")
def config():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_ships_its_types(config):
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
        assert "py.typed" in config["options.package_data"][package].split()


@pytest.mark.parametrize("folder", [*PACKAGES, "models"])
def test_ships_the_files_that_modules_read(config, folder):
    for path in (each for each in (ROOT / folder).rglob("*") if each.is_file() and each.suffix not in (".py", ".pyc")):
        package = ".".join((FOLDERS.get(folder, folder), *path.parent.relative_to(ROOT / folder).parts))
        patterns = config["options.package_data"].get(package, "").replace(",", " ").split()
        assert any(path.match(pattern) for pattern in patterns), path


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


# --- installed ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    pytest.importorskip("setuptools", reason="THE INSTALLATION IS NOT TESTED: setuptools is not installed")
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = next(folder.glob("[bS]*/python*"))
    said = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, check=True
    )
    site = Path(said.stdout.decode().strip())
    (site / "needed.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    build = ["egg_info", "--egg-base", folder, "build", "-b", folder / "build"]
    install = ["install_lib", "--no-compile", "--install-dir", site, "install_egg_info", "--install-dir", site]
    subprocess.run([sys.executable, "setup.py", "-q", *map(str, build + install)], cwd=ROOT, capture_output=True, check=True)
    return python, site


def run(python, *arguments, folder):
    done = subprocess.run(
        [python, *arguments], cwd=folder, env={"MPLBACKEND": "Agg"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(folder, pattern="*.py"):
    return {path.relative_to(folder) for path in folder.rglob(pattern)}


def test_installs_the_packages_whole(environment):
    _, site = environment
    for package in ("bondgraph", "screws", "models"):
        there = site / ("screwbond/models" if package == "models" else package)
        examples = (
            {Path("examples", path.name) for path in (ROOT / "examples").glob("[!_.]*.py")} if package == "models" else set()
        )
        assert files(there) == files(ROOT / package) | examples
    assert {path.name for path in site.iterdir() if path.suffix in ("", ".py")} == {*PACKAGES, "models.py"}
    assert files(site / "screwbond" / "models", "*.js") == files(ROOT / "models", "*.js") != set()
    assert files(ROOT / "models", "__init__.py") >= {path.parent / "__init__.py" for path in files(ROOT / "models")}


SAME = """
import importlib, json, pickle, sys
import models, models.delta.kinematics as kinematics
from models import rigid_body
from models.hand import Hand
import screwbond, screwbond.models.impact
import models.impact
assert models is screwbond.models and rigid_body is screwbond.rigid_body
assert models.impact is screwbond.models.impact and Hand is screwbond.models.hand.Hand
assert pickle.loads(b"cmodels.bodies\\nBody\\n.") is screwbond.models.Body
assert kinematics.__name__ == kinematics.__spec__.name == "screwbond.models.delta.kinematics"
assert importlib.reload(models.planar) is screwbond.models.planar
assert importlib.util.find_spec("models.nothing") is None
for name in [*sys.modules]:
    assert not name.startswith("models.") or sys.modules[name] is sys.modules[f"screwbond.{name}"], name
from importlib.resources import files
print(json.dumps([models.__file__, str(files("screwbond.models.pictures.web"))]))
"""


@pytest.mark.parametrize("place", ["checkout", "installation"])
def test_the_old_name_gives_the_same_objects(environment, tmp_path, place):
    python, site = environment
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{SAME}" if place == "checkout" else SAME
    folder = ROOT / "models" if place == "checkout" else site / "screwbond" / "models"
    assert json.loads(run(python, "-c", code, folder=tmp_path)) == [str(folder / "__init__.py"), str(folder / "pictures" / "web")]


@pytest.mark.thorough
def test_a_module_runs_by_both_names(environment, tmp_path):
    for name in ("models.cli", "screwbond.models.cli", "screwbond"):
        assert run(environment[0], "-m", name, "--version", folder=tmp_path).startswith("screwbond ")


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["models.py", "models/__init__.py"])
def test_a_user_package_called_models_still_works(environment, tmp_path, file):
    pytest.importorskip("matplotlib")
    python, site = environment
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("mass = 1.0\n")
    (tmp_path / "before.py").write_text(f"import models\nassert models.mass == 1.0\n{program_of(FRONT)[0]}")
    (tmp_path / "after.py").write_text(
        "import screwbond\nfrom screwbond.models.delta import DeltaRobot\nimport models\nprint(models.mass, screwbond.__file__)"
    )
    assert run(python, "after.py", folder=tmp_path).split() == ["1.0", str(site / "screwbond" / "__init__.py")]
    if file != "models.py":
        return  # the scripts run beside one form of it
    run(python, "before.py", folder=tmp_path)
    assert (tmp_path / "egg.html").stat().st_size > 1000 and (tmp_path / "oscillator.png").exists()


def test_star_leaves_models_of_the_user(environment, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").touch()
    (tmp_path / "models" / "cli.py").write_text("word = 'mine'\n")
    (tmp_path / "script.py").write_text(
        "import models.cli\nfrom screwbond import *\nprint(models.cli.word, rigid_body.__name__)\n"
    )
    assert run(environment[0], "script.py", folder=tmp_path) == "mine rigid_body\n"


def test_lines_in_a_user_folder_models_belong_to_the_user(environment, tmp_path):
    _, site = environment
    code = f"from bondgraph.errors import is_own_file; print(is_own_file({str(site / 'models' / 'robot.py')!r}))"
    assert run(environment[0], "-c", code, folder=tmp_path) == "False\n"
    assert is_own_file(str(ROOT / "models" / "robot.py"))
    assert is_own_file("<frozen runpy>")  # of python -m screwbond


def test_sweeps_from_before_know_the_functions_of_models():
    take = importlib.import_module("screwbond.models").rigid_body
    assert Kept("pull", take).described == "models.bodies:rigid_body"


def overlaid(environment, folder, package, where):
    """Return the error of `import screwbond` after the distribution "foreign" has installed or removed a package of that name."""
    python, site = environment
    here = folder / "site"
    shutil.copytree(site / "screwbond", here / "screwbond")
    for name in ("bondgraph", "screws"):
        (here / name).mkdir()
        shutil.copy2(site / name / "__init__.py", here / name)
    if where == "gone":
        (here / package / "__init__.py").unlink()
    else:
        root = here if where == "over ours" else folder / "first"
        (root / package).mkdir(parents=True, exist_ok=True)
        (root / package / "__init__.py").write_text("raise RuntimeError\n")
        (root / "foreign-1.0.dist-info").mkdir()
        (root / "foreign-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n")
        (root / "foreign-1.0.dist-info" / "top_level.txt").write_text(f"{package}\n")
    code = f"import sys; sys.path[:0] = {[str(folder / 'first'), str(here)]!r}; import screwbond"
    done = subprocess.run([python, "-S", "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1].replace(str(folder), "")


@pytest.mark.parametrize("package", ["bondgraph", "screws"])
def test_says_when_another_distribution_has_taken_the_place_of_a_package(environment, tmp_path, package):
    said = {}
    for number, where in enumerate(("over ours", "before ours", "gone")):
        (tmp_path / str(number)).mkdir()
        said[where] = overlaid(environment, tmp_path / str(number), package, where).partition("E561 ")[2]
    again = "pip install --force-reinstall --no-deps screwbond"
    assert said == {
        "over ours": f'the distribution "foreign" has overwritten the package "{package}" of screwbond in "/site/{package}"; '
        f"try: pip uninstall foreign, then {again}",
        "before ours": f'the package "/first/{package}" of the distribution "foreign" hides the package "{package}" of '
        "screwbond; try: pip uninstall foreign, or a separate environment for each",
        "gone": f'the package "{package}" of screwbond has no file __init__.py; try: {again}',
    }
