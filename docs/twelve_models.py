"""Page of the models of `examples/twelve`: `python -m docs.twelve_models` writes it, and `docs.gallery` draws its pictures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from bondgraph import Result
from campaigns.twelve_models import CHECKED

PAGE = Path(__file__).parent / "twelve_models.md"
HEAD = """# Twelve models

Each model is one function in `examples/twelve` that builds a graph and runs it, in at most 25 lines of 100 characters. Its
parameters are keyword arguments: `from examples.twelve import kettle`, `kettle.simulate(ohm=30.0)`.

`python -m campaigns.twelve_models` compares each with a reference that does not use this project, for the parameters below and
for random parameters. The deviation is the largest difference divided by the largest value. SciPy integrates the equations of the
references.

| model | lines | reference | deviation |
|---|---|---|---|
"""
PLOTTED: dict[str, tuple[str | tuple[str, ...], ...]] = {
    "half car": ("heave.flow", "pitch.flow"),
    "PMSM drive": ("motor.rotor.flow", "motor.flux.p"),
    "Furuta pendulum": ("pendulum.q", "motor.effort[0]"),
    "rattleback": ("stone.twist[2]", "stone.twist[0]"),
    "cam follower": ("follower.q", "touch.normal force"),
    "kettle": ("water.effort", "heater.power"),
    "enzyme": (("flask.amounts.S", "flask.amounts.P"), "flask.amounts.ES"),
    "Wilberforce pendulum": ("spring.storage.q[0]", "spring.storage.q[1]"),
    "measured road": ("road.y", "body.flow"),
}
SHOWN = {"SCARA": 2.0, "excavator boom": 30.0, "quadrotor": 0.2}


@cache
def run(name: str) -> Result:
    return CHECKED[name].run()


def plot(name: str, path: Path) -> None:
    run(name).plot(*PLOTTED[name])[0].figure.savefig(path, dpi=100)


def scene(name: str, path: Path) -> None:
    from screwbond.models.pictures import still

    still(run(name), path, SHOWN[name], size=(900, 600))


def picture(name: str) -> str:
    return f"twelve_{stem(CHECKED[name].module)}.png"


def stem(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


PLOTS: dict[str, Callable[[Path], None]] = {picture(name): partial(plot, name) for name in PLOTTED}
SCENES: dict[str, Callable[[Path], None]] = {picture(name): partial(scene, name) for name in SHOWN}


def code(module: ModuleType) -> str:
    """Return the source of a model below its docstring."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    return text.partition('"""')[2].partition('"""')[2].strip()


def lines(module: ModuleType) -> int:
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in code(module).splitlines())


def page() -> str:
    table, sections = HEAD, ""
    for name, checked in CHECKED.items():
        module, title = checked.module, name[0].upper() + name[1:]
        anchor = title.lower().replace(" ", "-")
        table += f"| [{title}](#{anchor}) | {lines(module)} | {checked.reference} | below {checked.tolerance:.0e} |\n"
        sections += f"\n## {title}\n\n{(module.__doc__ or '').strip()}\n\n```py\n{code(module)}\n```\n"
        sections += f"\n![{title}](pictures/{picture(name)})\n"
    return table + sections


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
