"""Joint drives: effort sources with an effort limit and a speed-torque line that ends at a speed limit."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.chains.trees import as_floats
from screwbond.models.motion.polynomials import refuse

from bondgraph import Element, Op, Parameter, Se
from bondgraph.model.arguments import need_text
from screws.numeric_arguments import floats
from screws.scalars import maximum, minimum

NO_LIMIT = 1e300


def _limited(effort: Any, speed: Any, fade: Any, command: Any, velocity: Any) -> Any:
    """Return the command within limits: a driving effort fades to zero at the largest speed, and a braking effort does not."""
    ahead = effort * maximum(minimum((1.0 - velocity / speed) / fade, 1.0), 0.0)
    back = effort * maximum(minimum((1.0 + velocity / speed) / fade, 1.0), 0.0)
    return maximum(minimum(command, ahead), -back)


LIMITED = Op(
    "limited drive", _limited, r"\max(\min(#4, \tau_+), -\tau_-),\quad \tau_\pm = #1 \max(\min(\tfrac{1 \mp #5 / #2}{#3}, 1), 0)"
)


def limited_drive(name: str, command: str, velocity: str, *, effort: Any, speed: Any = np.inf, fade: float = 0.1) -> Element:
    """Return a source of the commanded efforts within limits, for the port `joints` of a chain.

    As with a DC motor at its largest voltage, the largest effort that drives a joint falls from `effort` at the speed
    (1 - fade) * `speed` to zero at `speed`; a braking effort may always reach `effort`.

    Parameters
    ----------
    command, velocity : paths of the commanded efforts and of the velocities of the joints, (n,).
    effort, speed : limits of each joint, (n,), or a number for one joint; N m and rad/s, or N and m/s; infinite: no limit. A
        robot from a file has `robot.effort_limits`, `robot.speed_limits`.

    Parameters of the source: `effort limit`, `speed limit`, `fade`.

    Raises `ModelError` E343 for limits of different sizes, a negative effort, a speed that is not positive, or a fade outside
    0 < fade <= 1.
    """
    need_text("control.y", command=command)
    need_text("arm.v", velocity=velocity)
    max_effort, max_speed = (x[0] if x.shape == (1,) else x for x in (as_floats(effort), as_floats(speed)))
    shapes_fit = max_effort.ndim < 2 and max_speed.shape in ((), max_effort.shape)
    range_fits = floats(fade, ()) is not None and 0.0 < fade <= 1.0
    if not (shapes_fit and max_effort.size and np.all(max_effort >= 0.0) and np.all(max_speed > 0.0) and range_fits):
        title = f'the limits of "{name}" are effort={effort!r}, speed={speed!r}, fade={fade!r}'
        cure = "a number for each joint: non-negative efforts, positive speeds, np.inf for no limit; 0 < fade <= 1"
        refuse("E343", title, "", cure, name)
    largest = np.minimum(max_effort, NO_LIMIT)[()]
    fastest = np.minimum(np.broadcast_to(max_speed, max_effort.shape), NO_LIMIT)[()]
    parameters = {"effort limit": largest, "speed limit": fastest, "fade": Parameter(float(fade), "1")}
    symbols = {"effort limit": r"\hat\tau", "speed limit": r"\hat v", "fade": r"\varphi"}
    return Se(name, LIMITED, parameters=parameters, signals=[command, velocity], dimension=max_effort.size, symbols=symbols)
