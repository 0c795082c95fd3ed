"""A ball rolls through an upright maze that is turned under feedback (Bortoff 2020, section 3, figures 5 to 11).

   Se motor --> 1 maze --> I     Se weight --> 1 ball --> I     1 spin --> I      flows: the rates of q1; q2, q3; q4
                   |                          |       |            |
                   +--------- rolling (9b) ---+-------|------------+              constraints active while the
                                                 normal (9a)                      ball is on a ring

On top of a ring the ball is unstable. One compensator measures and controls its sideways position; another turns the maze until a
gate is under the ball, which then falls to the next ring: left, right, left, right, into the centre. At every landing the
constraints become active smoothly: h'' + 10 h' + 25 h = 0 from h = 0 with the speed v of the fall gives h = v t exp(-5 t).
"""

from __future__ import annotations

from functools import cache

from screwbond.models.maze import MazeParameters, MazeRun, analyse, run_maze

MAZE = MazeParameters()


@cache
def simulate(t_end: float = 45.0) -> MazeRun:
    """Run the maze from above the outermost ring to the centre."""
    return run_maze(MAZE, t_end=t_end)


def last_gate() -> float:
    """Return the time (s) at which the ball falls into the centre."""
    return simulate().events[-1].time


def report() -> str:
    """Return poles, zeros and margins on each ring, and the events with their times, as text."""
    lines = []
    for i in MAZE.rings:
        ring = analyse(MAZE, i)
        hold, turn = ring.hold, ring.turn
        assert hold is not None and turn is not None  # both loops are stable
        lines.append(
            f"ring {i}: poles +-{ring.poles.real.max():.4f}, zeros +-{ring.maze.zeros.real.max():.4f} 1/s;"
            f" k1 may fall to {hold.lower:.2f}, k2 rise to {turn.upper:.2f} times its value;"
            f" with both loops {ring.closed.real.max():.6f} 1/s"
        )
    lines += [f"{event.time:10.6f} s  {event.kind}" for event in simulate().events]
    return "\n".join(lines)


if __name__ == "__main__":
    from screwbond.models.maze import save_maze
    from screwbond.models.studies.tasks import script_parser

    parser = script_parser(__doc__, "demo/ball_maze")
    parser.add_argument("--no-render", action="store_true", help="no pictures and no movie")
    options = parser.parse_args()
    print(report())
    print(save_maze(simulate(), options.out, render=not options.no_render).splitlines()[-1])
