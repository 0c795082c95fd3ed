"""What setup.cfg cannot say: the scripts of examples/ go into the wheel as data of `models`, for `screwbond examples`."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithExamples(build_py):
    """Copies examples/ to models/examples; not for an editable install, which has them in their place."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "models" / "examples"
            target.mkdir(parents=True, exist_ok=True)
            for path in sorted(Path("examples").glob("[!_.]*")):
                if path.is_file():
                    self.copy_file(str(path), str(target / path.name))


setup(cmdclass={"build_py": WithExamples})
