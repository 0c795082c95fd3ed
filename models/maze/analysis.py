"""Linear analysis of a ball maze on each ring: poles, zeros, stability margins, root loci and closed-loop poles.

Without control loops, at rest with the ball on top of a ring, the maze has the poles +-p, two poles at the origin, and the roots
of s^2 + alpha1 s + alpha0 for each of its two constraints. From the motor to the ball's position, all but +-p cancel; to the
maze's angle, the poles at the origin also remain, with the zeros +-z. The maze has no damping, so poles come in pairs: the poles
at -1.1 and 1.4 1/s in the paper are a misprint.

Source: Bortoff 2020, section 3, fig. 7.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from screwbond.models.maze.graph import COURSE, MazeParameters, maze_graph, ring

from bondgraph import Compiled, compile_model
from bondgraph.analysis import Linear, TransferFunction, differentiate, point_of
from bondgraph.analysis.derivatives import Derivatives
from bondgraph.errors import refusal

PUSH = "motor.push"
BALL, MAZE, HOLD, TURN = "aside.y", "q.maze", "lead 1.y", "lead 2.y"
"""Paths of the ball's position, the maze's angle, and the outputs of their compensators."""

GAINS = ("u1.k", "u2.k")

NEGLIGIBLE = 1e-9
"""Gain factors below this value count as zero, and factors above its reciprocal as infinite."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Stability margins of a loop.

    Parameters
    ----------
    lower, upper : gain factors between which the closed loop is stable; 0 and infinity if unbounded.
    phase : smallest phase shift (rad) that makes the closed loop unstable.
    crossings : angular frequencies at which the loop gain is 1, rad/s.
    """

    lower: float
    upper: float
    phase: float
    crossings: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class RingAnalysis:
    """Linear analysis about rest with the ball on top of ring i.

    Parameters
    ----------
    poles : poles of the maze without control loops, (8,), 1/s.
    ball, maze : transfer functions from motor torque to ball position and to maze angle, without common factors.
    turned : transfer function from motor torque to maze angle while the first loop holds the ball.
    hold, turn : margins of each loop with the other closed; None if the closed loop is unstable.
    both : margins at the motor, where both loops meet; None if the closed loop is unstable.
    closed : poles with both loops closed, (10,), 1/s.
    """

    i: int
    poles: np.ndarray
    ball: TransferFunction
    maze: TransferFunction
    turned: TransferFunction
    hold: Margins | None
    turn: Margins | None
    both: Margins | None
    closed: np.ndarray

    @property
    def stable(self) -> bool:
        """True if the loops hold the ball on this ring."""
        return bool(self.closed.real.max() < 0.0)


@functools.lru_cache(maxsize=8)
def compiled_maze(maze: MazeParameters) -> Compiled:
    return compile_model(maze_graph(maze))


@functools.lru_cache(maxsize=8)
def _derivatives(maze: MazeParameters) -> Derivatives:
    return differentiate(compiled_maze(maze), [PUSH], [BALL, MAZE, HOLD, TURN])


def linearise_maze(maze: MazeParameters, i: int, k1: float | None = None, k2: float | None = None) -> Linear:
    """Return the linear system of a maze at rest with the ball on top of ring i. Gains default to the maze's.

    The input is `motor.push`, N m; outputs are the ball's position, m, the maze's angle, rad, and those of their compensators.

    Raises `ModelError` E532 for a ring that the maze does not have.
    """
    if i not in maze.rings:
        cure = f"a number from 1, the outermost, to {maze.rings[-1]}"
        raise refusal("E532", f"the maze has no ring {i!r}", cure, about="ball maze", places=())
    derivatives, top = _derivatives(maze), (0.0, maze.distance(i))
    gains = (maze.k1 if k1 is None else k1, maze.k2 if k2 is None else k2)
    rest = {"q.ball": top, "landing.ball": top}
    point = point_of(derivatives.compiled, 0.0, rest, dict(zip(GAINS, gains, strict=True)), {COURSE: ring(i)})
    return derivatives(point)


def closed_loop_poles(maze: MazeParameters, i: int, k1: float | None = None, k2: float | None = None) -> np.ndarray:
    """Return the poles with both loops closed (10,), 1/s, in order of real part. Raises E532 as for `linearise_maze`."""
    return linearise_maze(maze, i, k1, k2).poles()


def rightmost(maze: MazeParameters, k1: np.ndarray, k2: np.ndarray) -> np.ndarray:
    """Return the largest real part of the closed-loop poles, 1/s, for gains (n,) and (m,) on each ring, (n, m, rings)."""
    gains1, gains2 = (np.asarray(gain, dtype=float) for gain in (k1, k2))
    real_parts = np.empty((len(gains1), len(gains2), len(maze.rings)))
    for i in maze.rings:
        open_, first, second = (linearise_maze(maze, i, *gains).A for gains in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
        # The torque is proportional to each gain, and so is its contribution to A.
        for k, gain in enumerate(gains1):
            A = open_ + gain * (first - open_) + gains2[:, None, None] * (second - open_)
            real_parts[k, :, i - 1] = np.linalg.eigvals(A).real.max(axis=1)
    return real_parts


def root_locus(maze: MazeParameters, i: int, factors: np.ndarray, loop: int) -> np.ndarray:
    """Return the poles (k, 10) on ring i while the gain of loop 1 is multiplied by `factors` (k,) and loop 2 is open, or while
    the gain of loop 2 is multiplied and loop 1 is closed; each column is a branch. Raises E532 as for `linearise_maze`.

    Source: Bortoff 2020, fig. 7.
    """
    without, with_it = ((0.0, 0.0), (None, 0.0)) if loop == 1 else ((None, 0.0), (None, None))
    start, end = (linearise_maze(maze, i, *gains).A for gains in (without, with_it))
    # The torque is proportional to each gain, and so is its contribution to A.
    poles = np.linalg.eigvals(start + np.reshape(factors, (-1, 1, 1)) * (end - start)).astype(complex)
    return _branches(np.sort_complex(poles))


def _branches(poles: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    branches = poles.copy()
    for row, before in zip(branches[1:], branches[:-1], strict=True):
        row[:] = row[linear_sum_assignment(np.abs(before[:, None] - row))[1]]
    return branches


def analyse(maze: MazeParameters, i: int) -> RingAnalysis:
    """Return the linear analysis of ring i. Raises E532 as for `linearise_maze`."""
    free, loop1 = linearise_maze(maze, i, 0.0, 0.0), linearise_maze(maze, i, None, 0.0)
    loop2 = linearise_maze(maze, i, 0.0)
    bodies = [k for k, name in enumerate(free.states) if not name.startswith("lead")]
    sums = np.array([[0.0, 0.0, maze.k1, maze.k2]])
    torque = replace(free, C=sums @ free.C, D=sums @ free.D, outputs=("u",), values=sums @ free.values)
    return RingAnalysis(
        i,
        np.sort_complex(np.linalg.eigvals(free.A[np.ix_(bodies, bodies)])),
        free.transfer_function(PUSH, BALL),
        free.transfer_function(PUSH, MAZE),
        loop1.transfer_function(PUSH, MAZE),
        margins(_scaled(maze.k1, loop2.transfer_function(PUSH, HOLD))),
        margins(_scaled(maze.k2, loop1.transfer_function(PUSH, TURN))),
        margins(torque.transfer_function()),
        closed_loop_poles(maze, i),
    )


def _scaled(factor: float, function: TransferFunction) -> TransferFunction:
    return replace(function, gain=factor * function.gain)


def margins(loop: TransferFunction) -> Margins | None:
    """Return the margins of a strictly proper loop L(s) with POSITIVE feedback, 1 - L = 0, or None if the closed loop is
    unstable.

    Where L(jw) is real, 1 / L is a gain margin; where |L(jw)| = 1, the angle of L is a phase margin.
    """
    num, den = np.poly1d(loop.num), np.poly1d(loop.den)
    if not np.all((den - num).roots.real < 0.0):
        return None
    numerator, denominator = _along_the_axis(num), _along_the_axis(den)
    rotated = denominator * np.poly1d(np.conj(numerator.coeffs))
    factors = [
        (denominator(w) / numerator(w)).real
        for w in (*_positive_roots(np.poly1d(rotated.coeffs.imag)), 0.0)
        if numerator(w) != 0.0
    ]
    size = [np.poly1d((part * np.poly1d(np.conj(part.coeffs))).coeffs.real) for part in (numerator, denominator)]
    crossings = _positive_roots(size[0] - size[1])
    phases = [abs(np.angle(numerator(w) / denominator(w))) for w in crossings]
    return Margins(
        max((float(f) for f in factors if NEGLIGIBLE < f < 1.0), default=0.0),
        min((float(f) for f in factors if 1.0 < f < 1.0 / NEGLIGIBLE), default=np.inf),
        float(min(phases, default=np.inf)),
        crossings,
    )


def _along_the_axis(polynomial: np.poly1d) -> np.poly1d:
    powers = np.arange(polynomial.order, -1, -1)
    return np.poly1d(polynomial.coeffs * 1j**powers)


def _positive_roots(polynomial: np.poly1d) -> tuple[float, ...]:
    roots = polynomial.roots
    real = roots.real[(np.abs(roots.imag) < 1e-7 * np.abs(roots)) & (roots.real > 0.0)]
    return tuple(float(root) for root in np.sort(real))
