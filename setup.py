"""Settings beyond setup.cfg: the folder models/ is the package `screwbond.models`, with the scripts of examples/ in the wheel."""

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

MODELS = [f"screwbond.{name}" for name in find_packages(include=["models", "models.*"])]


class Installed(build_py):
    """Build step that copies examples/ to screwbond/models/examples and models/alias.py to models.py, for `import models`.

    An editable install reads the examples in place, and `import models` finds the folder models/.
    """

    def find_modules(self):
        return [("", "models", "models/alias.py")]

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "screwbond" / "models" / "examples"
            target.mkdir(parents=True, exist_ok=True)
            for path in sorted(Path("examples").glob("[!_.]*")):
                if path.is_file():
                    self.copy_file(str(path), str(target / path.name))


setup(
    packages=[*find_packages(include=["bondgraph", "bondgraph.*", "screws", "screws.*", "screwbond"]), *MODELS],
    package_dir={"screwbond.models": "models"},
    py_modules=["models"],
    cmdclass={"build_py": Installed},
)
